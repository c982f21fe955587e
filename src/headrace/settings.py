"""What can be set, from where it was taken, and what is wrong with it.

Each field is an environment variable: ``HEADRACE_``, its group, two underscores, its name.
A variable that starts so and is not one of them is an error: a misspelt one would otherwise be ignored in silence.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

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
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")


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


def _read_names(given: object) -> object:
    if not isinstance(given, str):
        return given
    return tuple(name.strip().lower() for name in given.split(",") if name.strip())


def _check_host(name: str) -> str:
    if not _HOST.fullmatch(name):
        raise ValueError(f"{name!r} is no host name; give names without scheme and port, for example runs.example.org")
    return name


HostNames = Annotated[tuple[Annotated[str, AfterValidator(_check_host)], ...], BeforeValidator(_read_names)]


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StoreSettings(_Group):
    """Where everything is kept."""

    path: Path = Field(default=Path("headrace.db"), description="The file that holds all runs; its folder must exist.")
    durability: Literal["safe", "fast"] = Field(
        default="safe",
        description="`safe`: what is acknowledged survives a power cut. `fast`: a power cut may take the last moments, a killed process takes nothing.",
    )


class ServerSettings(_Group):
    """Where the owner of a store answers."""

    host: str = Field(
        default="127.0.0.1",
        description="The address to listen at; other machines are let in only when there is a token (`headrace tokens new`).",
    )
    port: int = Field(default=8420, ge=0, le=65535, description="The port to listen at; 0 takes any free one.")
    hosts: HostNames = Field(
        default=(),
        description="Names by which others call this server, with commas between them; a request for another name is refused.",
    )
    tokens: Literal["auto", "always"] = Field(
        default="auto",
        description="`auto`: a token is needed as soon as others may come, that is with another host than this machine's own, with `hosts`, or through a proxy. `always`: everybody needs one.",
    )


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
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value)


def _unknown(name: str, known: tuple[str, ...]) -> str:
    words = [variable.removeprefix(PREFIX) for variable in known]
    near = difflib.get_close_matches(name.removeprefix(PREFIX).upper(), words, n=1)
    hint = f"did you mean {PREFIX}{near[0]}?" if near else "`headrace config` lists what there is"
    return f"{name} is set in the environment, but there is no such setting; {hint}"


def _invalid(error: ValidationError, taken: Mapping[str, tuple[str, str]]) -> str:
    complaints = []
    for found in error.errors(include_url=False):
        path = tuple(part for part in found["loc"] if isinstance(part, str))  # without the places inside a list
        text, source = taken.get(_variable(path), ("", ""))
        place = _variable(path) if source != "option" else "--" + path[-1]
        shown = _HIDDEN if _is_secret(path) else repr(text)
        complaints.append(f"{place}={shown}: {found['msg'].removeprefix('Value error, ')}")
    return "; ".join(complaints)


def _is_secret(path: tuple[str, ...]) -> bool:
    model: Any = Settings
    for name in path:
        field = model.model_fields.get(name) if isinstance(model, type) and issubclass(model, BaseModel) else None
        if field is None:
            return False
        model = field.annotation
    return SecretStr in (model, *get_args(model))
