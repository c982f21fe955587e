"""What can be set, from where it was taken, and what is wrong with it.

Each field is an environment variable: ``HEADRACE_``, its group, two underscores, its name.
A variable that starts so and is not one of them is an error: a misspelt one would otherwise be ignored in silence.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from headrace._store.location import SCHEMA, Location, PostgresUrl, locate, without_secrets
from headrace.errors import ConfigurationError

__all__ = [
    "LimitsSettings",
    "LoadedSettings",
    "LogSettings",
    "RabbitMQSettings",
    "ServerSettings",
    "Setting",
    "Settings",
    "StoreSettings",
    "WebhooksSettings",
    "read_settings",
]

M = TypeVar("M", bound=BaseModel)

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


def _read_durations(given: object) -> object:
    return tuple(part.strip() for part in given.split(",") if part.strip()) if isinstance(given, str) else given


Durations = Annotated[tuple[Seconds, ...], BeforeValidator(_read_durations)]

HostNames = Annotated[tuple[Annotated[str, AfterValidator(_check_host)], ...], BeforeValidator(_read_names)]


def _read_place(given: object) -> object:
    return locate(given) if isinstance(given, str) else given


Place = Annotated[Path | PostgresUrl, BeforeValidator(_read_place)]
"""A path, or a URL whose text shows no password."""


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


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
    key: SecretStr | None = Field(
        default=None,
        description="Encrypts what is stored from now on: 32 bytes in base64, as `headrace keys new` prints them. Without one nothing is encrypted.",
    )
    key_file: Path | None = Field(
        default=None,
        description="A file that has the key instead; further lines are old keys.",
    )
    old_keys: SecretStr | None = Field(
        default=None,
        description="Keys that only read, separated by commas: those before the last `headrace keys rotate`.",
    )

    @property
    def location(self) -> Location:
        """What ``path`` and ``postgres_schema`` say together: an absolute path, or a URL with its schema."""
        if isinstance(self.path, PostgresUrl):
            return PostgresUrl(self.path.secret, self.postgres_schema)
        return self.path.absolute()


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


class WebhooksSettings(_Group):
    """How events are sent to the endpoints of `headrace webhooks`."""

    timeout: Seconds = Field(
        default=timedelta(seconds=15),
        gt=timedelta(0),
        description="How long an endpoint may take to answer: seconds, or ISO 8601.",
    )
    waits: Durations = Field(
        default=tuple(timedelta(seconds=seconds) for seconds in (5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)),
        description="Between the attempts to deliver one event, with commas between them; after the last attempt it is a dead letter.",
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
    lease: Seconds = Field(
        default=timedelta(seconds=15),
        gt=timedelta(0),
        description="On a database: without a sign of life for so long, what a process has of subscriptions is given to others.",
    )
    drain: Seconds = Field(
        default=timedelta(seconds=10),
        description="How long steps may take to end when the process is asked to stop: seconds, or ISO 8601.",
    )


class RabbitMQSettings(_Group):
    """The broker that bridges of pipelines lead to."""

    url: SecretStr | None = Field(
        default=None,
        description="Where the broker is: `amqp://HOST:5672/VHOST` with `USER:PASSWORD@` before the host, or `amqps://` for TLS. Without one all bridges are off.",
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
    rabbitmq: RabbitMQSettings = RabbitMQSettings()
    webhooks: WebhooksSettings = Field(default_factory=WebhooksSettings)
    log: LogSettings = LogSettings()
    preflight: Literal["warn", "refuse", "off"] = Field(
        default="warn",
        description="What to do at start when open runs do not fit the code: `warn` and block those, `refuse` to start, or do not look.",
    )
    subscriptions: Literal["here", "workers"] = Field(
        default="here",
        description="On a database: whether the owner takes its share of the subscriptions (`here`) or leaves them all to `headrace worker` (`workers`).",
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
    """Settings, with the variables and options that changed them; those of pipelines by the pipeline's name."""

    settings: Settings
    sources: Mapping[str, str]
    pipelines: Mapping[str, BaseModel] = field(default_factory=dict)

    def each(self) -> Iterator[Setting]:
        """Every setting in the order of the reference; secrets are hidden."""
        groups: list[tuple[BaseModel, dict[str, tuple[str, ...]]]] = [(self.settings, _variables(Settings))]
        groups += [(group, _variables(type(group), prefix=_prefix(name))) for name, group in self.pipelines.items()]
        for group, variables in groups:
            for variable, path in variables.items():
                value, description = _find(group, path)
                yield Setting(
                    variable=variable,
                    value=_shown(value),
                    source=self.sources.get(variable, "default"),
                    description=description,
                )


def read_settings(
    environment: Mapping[str, str] | None = None,
    options: Mapping[str, str | None] | None = None,
    pipelines: Mapping[str, type[BaseModel]] | None = None,
    *,
    strict: bool = True,
) -> LoadedSettings:
    """Read the environment; ``options`` (``{"store.path": "x.db"}``) go before it, and None there means not given.

    ``pipelines``: the models of the loaded pipelines' settings. Without them, or where not all are known (``strict=False``), a variable
    that may belong to another pipeline is left alone.
    """
    variables = _variables(Settings)
    of_pipelines = {name: _variables(model, prefix=_prefix(name)) for name, model in (pipelines or {}).items()}
    known = (*variables, *(variable for group in of_pipelines.values() for variable in group))
    taken: dict[str, tuple[str, str]] = {}
    for name, text in (os.environ if environment is None else environment).items():
        if name in known:
            taken[name] = (text, "environment")
        elif name.startswith(PREFIX) and ((strict and pipelines is not None) or not _may_be_of_a_pipeline(name)):
            raise ConfigurationError(_unknown(name, known))
    for dotted, option in (options or {}).items():
        if option is not None:
            taken[_variable(tuple(dotted.split(".")))] = (option, "option")
    return LoadedSettings(
        settings=_validated(Settings, variables, taken, PREFIX),
        sources={name: source for name, (_, source) in taken.items()},
        pipelines={
            name: _validated(model, of_pipelines[name], taken, _prefix(name))
            for name, model in (pipelines or {}).items()
        },
    )


def _validated(
    model: type[M], variables: Mapping[str, tuple[str, ...]], taken: Mapping[str, tuple[str, str]], prefix: str
) -> M:
    tree: dict[str, Any] = {}
    for name, (text, _) in taken.items():
        if name not in variables:
            continue
        *groups, last = variables[name]
        branch = tree
        for group in groups:
            branch = branch.setdefault(group, {})
        branch[last] = text
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(_invalid(error, taken, model, prefix)) from error


def _may_be_of_a_pipeline(name: str) -> bool:
    """Whether nothing of the runtime's own is called like it: then it may belong to a pipeline that this command does not load."""
    word = name.removeprefix(PREFIX).partition("__")[0].split("_")[0].lower()
    return "__" not in name and not difflib.get_close_matches(word, Settings.model_fields, n=1, cutoff=0.7)


def _prefix(pipeline: str) -> str:
    return f"{PREFIX}{pipeline.upper()}_"


def _variables(
    model: type[BaseModel], path: tuple[str, ...] = (), *, prefix: str = PREFIX
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, item in model.model_fields.items():
        if isinstance(item.annotation, type) and issubclass(item.annotation, BaseModel):
            found |= _variables(item.annotation, (*path, name), prefix=prefix)
        else:
            found[_variable((*path, name), prefix)] = (*path, name)
    return found


def _secrets(model: type[BaseModel], prefix: str) -> frozenset[str]:
    variables = _variables(model, prefix=prefix)
    return frozenset(name for name, path in variables.items() if "SecretStr" in str(_field(model, path).annotation))


def _field(model: type[BaseModel], path: tuple[str, ...]) -> FieldInfo:
    *groups, name = path
    for group in groups:
        model = model.model_fields[group].annotation  # type: ignore[assignment]  # groups are models
    return model.model_fields[name]


def _variable(path: tuple[str, ...], prefix: str = PREFIX) -> str:
    return prefix + "__".join(path).upper()


def _find(settings: BaseModel, path: tuple[str, ...]) -> tuple[object, str]:
    *groups, name = path
    branch = settings
    for group in groups:
        branch = getattr(branch, group)
    return getattr(branch, name), type(branch).model_fields[name].description or ""


def _shown(value: object) -> str:
    if value is None:
        return "(not set)"
    if isinstance(value, SecretStr):
        return _HIDDEN
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    if isinstance(value, tuple):
        return ",".join(map(_shown, value)) or "none"
    return str(value)


def _unknown(name: str, known: tuple[str, ...]) -> str:
    words = [variable.removeprefix(PREFIX) for variable in known]
    near = difflib.get_close_matches(name.removeprefix(PREFIX).upper(), words, n=1)
    hint = f"did you mean {PREFIX}{near[0]}?" if near else "`headrace config` lists what there is"
    return f"{name} is set in the environment, but there is no such setting; {hint}"


def _invalid(error: ValidationError, taken: Mapping[str, tuple[str, str]], model: type[BaseModel], prefix: str) -> str:
    complaints = []
    for found in error.errors(include_url=False):
        path = tuple(part for part in found["loc"] if isinstance(part, str))  # without the places inside a list
        name = _variable(path, prefix)
        text, source = taken.get(name, ("", ""))
        # A URL shows its password nowhere, whatever is wrong with it.
        shown = _HIDDEN if name in _secrets(model, prefix) else repr(without_secrets(text))
        place = name if source != "option" else "--" + path[-1]
        complaints.append(f"{place}={shown}: {found['msg'].removeprefix('Value error, ')}")
    return "; ".join(complaints)
