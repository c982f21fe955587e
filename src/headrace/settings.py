"""What can be set, from where it was taken, and what is wrong with it.

Each field is an environment variable: ``HEADRACE_``, its group, two underscores, its name.
A variable that starts so and is not one of them is an error: a misspelt one would otherwise be ignored in silence.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from headrace._store.location import SCHEMA, Location, PostgresUrl, locate, without_secrets
from headrace.errors import ConfigurationError

__all__ = [
    "LimitsSettings",
    "LoadedSettings",
    "LogSettings",
    "ServerSettings",
    "Setting",
    "Settings",
    "StoreSettings",
    "read_settings",
]

PREFIX = "HEADRACE_"
_HIDDEN = "(hidden)"


def _read_duration(given: object) -> object:
    if not isinstance(given, str):
        return given
    try:
        return timedelta(seconds=float(given))
    except ValueError:
        if given.upper().startswith("P"):
            return given
        raise ValueError("give seconds, for example 10, or ISO 8601, for example PT10S") from None


Seconds = Annotated[timedelta, BeforeValidator(_read_duration)]


def _read_place(given: object) -> object:
    return locate(given) if isinstance(given, str) else given


Place = Annotated[Path | PostgresUrl, BeforeValidator(_read_place)]
"""A path, or a URL whose text shows no password."""


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSettings(_Group):
    """Where everything is kept."""

    path: Place = Field(
        default=Path("headrace.db"),
        description="The file that holds all runs, in a folder that exists; or the URL of a Postgres database, `postgresql://user@host:5432/database`.",
    )
    postgres_schema: str = Field(default=SCHEMA, description="The schema of that database which holds all runs.")
    durability: Literal["safe", "fast"] = Field(
        default="safe",
        description="`safe`: what is acknowledged survives a power cut. `fast`: a power cut may take the last moments, a killed process takes nothing.",
    )

    @property
    def location(self) -> Location:
        """What ``path`` and ``postgres_schema`` say together: an absolute path, or a URL with its schema."""
        if isinstance(self.path, PostgresUrl):
            return PostgresUrl(self.path.secret, self.postgres_schema)
        return self.path.absolute()


class ServerSettings(_Group):
    """Where the owner of a store answers."""

    host: str = Field(default="127.0.0.1", description="The address to listen at; only this machine's own are allowed.")
    port: int = Field(default=8420, ge=0, le=65535, description="The port to listen at; 0 takes any free one.")


class LimitsSettings(_Group):
    """How much at once; none of these changes what happens, only when."""

    active_runs: int = Field(default=5_000, ge=1, description="Runs that go on at the same time; more are queued.")
    idle_runs: int = Field(
        default=2_000, ge=0, description="Waiting runs that stay in memory; others are read back when due."
    )
    loop_steps: int = Field(default=1_000, ge=1, description="Async steps that run at the same time.")
    thread_steps: int = Field(default=32, ge=1, description="Plain steps, each in a thread, that run at the same time.")
    process_steps: int | None = Field(
        default=None,
        ge=1,
        description="`cpu=True` steps, each in a process, that run at the same time; by default one per processor.",
    )
    history_warning: int = Field(default=10_000, ge=1, description="A journal of so many rows is reported.")
    history: int = Field(default=50_000, ge=1, description="A journal of so many rows blocks its run.")
    drain: Seconds = Field(
        default=timedelta(seconds=10),
        description="How long steps may take to end when the process is asked to stop: seconds, or ISO 8601.",
    )


class LogSettings(_Group):
    """What is written while it runs."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least level that is written."
    )
    format: Literal["auto", "console", "json"] = Field(
        default="auto",
        description="`console` for people, `json` for programs; `auto` looks whether there is a terminal.",
    )


class Settings(_Group):
    """All settings."""

    store: StoreSettings = StoreSettings()
    server: ServerSettings = ServerSettings()
    limits: LimitsSettings = Field(default_factory=LimitsSettings)
    log: LogSettings = LogSettings()
    preflight: Literal["warn", "refuse", "off"] = Field(
        default="warn",
        description="What to do at start when open runs do not fit the code: `warn` and block those, `refuse` to start, or do not look.",
    )


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One effective value and where it came from: ``default``, ``environment`` or ``option``."""

    variable: str
    value: str
    source: str
    description: str


@dataclass(frozen=True, kw_only=True)
class LoadedSettings:
    """Settings, with the variables and options that changed them."""

    settings: Settings
    sources: Mapping[str, str]

    def each(self) -> Iterator[Setting]:
        """Every setting in the order of the reference; secrets are hidden."""
        for variable, path in _variables(Settings).items():
            value, description = _find(self.settings, path)
            yield Setting(
                variable=variable,
                value=_shown(value),
                source=self.sources.get(variable, "default"),
                description=description,
            )


def read_settings(
    environment: Mapping[str, str] | None = None, options: Mapping[str, str | None] | None = None
) -> LoadedSettings:
    """Read the environment; ``options`` (``{"store.path": "x.db"}``) go before it, and None there means not given."""
    variables = _variables(Settings)
    taken: dict[str, tuple[str, str]] = {}
    for name, text in (os.environ if environment is None else environment).items():
        if not name.startswith(PREFIX):
            continue
        if name not in variables:
            raise ConfigurationError(_unknown(name, tuple(variables)))
        taken[name] = (text, "environment")
    for dotted, option in (options or {}).items():
        if option is not None:
            taken[_variable(tuple(dotted.split(".")))] = (option, "option")
    tree: dict[str, Any] = {}
    for name, (text, _) in taken.items():
        *groups, field = variables[name]
        branch = tree
        for group in groups:
            branch = branch.setdefault(group, {})
        branch[field] = text
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(_invalid(error, taken)) from error
    return LoadedSettings(settings=settings, sources={name: source for name, (_, source) in taken.items()})


def _variables(model: type[BaseModel], path: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found |= _variables(field.annotation, (*path, name))
        else:
            found[_variable((*path, name))] = (*path, name)
    return found


def _variable(path: tuple[str, ...]) -> str:
    return PREFIX + "__".join(path).upper()


def _find(settings: BaseModel, path: tuple[str, ...]) -> tuple[object, str]:
    *groups, name = path
    branch = settings
    for group in groups:
        branch = getattr(branch, group)
    return getattr(branch, name), type(branch).model_fields[name].description or ""


def _shown(value: object) -> str:
    if value is None:
        return "automatic"
    if isinstance(value, SecretStr):
        return _HIDDEN
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    return str(value)


def _unknown(name: str, known: tuple[str, ...]) -> str:
    words = [variable.removeprefix(PREFIX) for variable in known]
    near = difflib.get_close_matches(name.removeprefix(PREFIX).upper(), words, n=1)
    hint = f"did you mean {PREFIX}{near[0]}?" if near else "`headrace config` lists what there is"
    return f"{name} is set in the environment, but there is no such setting; {hint}"


def _invalid(error: ValidationError, taken: Mapping[str, tuple[str, str]]) -> str:
    complaints = []
    for found in error.errors(include_url=False):
        name = _variable(tuple(str(part) for part in found["loc"]))
        text, source = taken.get(name, ("", ""))
        place = name if source != "option" else "--" + str(found["loc"][-1])
        complaints.append(f"{place}={without_secrets(text)!r}: {found['msg'].removeprefix('Value error, ')}")
    return "; ".join(complaints)
