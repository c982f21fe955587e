"""Writes docs/reference from the code, so that the two cannot drift; with --check it only says what is out of date."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
MADE = "<!-- Made by `make docs` from {source}. Change it there. -->\n"
WIDTH = 100
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}


class Hole:
    """Stands for a value in the text of an error."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __format__(self, form: str) -> str:
        return f"<{self.name}>"

    def __str__(self) -> str:
        return f"<{self.name}>"

    __repr__ = __str__


JSON_OF_THE_CLI = """\
`--json` writes one JSON document to standard output, also when something is refused: then it is a [Problem](http.md#problem).
Only a command line that cannot be read is told on standard error, with exit code 2.
The commands of `runs`, `events`, `jobs`, `deadletters` and `webhooks` give the objects of the [HTTP API](http.md):

| command | object |
|---|---|
| `runs ls` | [RunPage](http.md#runpage) |
| `runs show` | [RunDetail](http.md#rundetail) |
| `runs history` | [History](http.md#history), all pages in one |
| `runs result`, `runs start --wait` | [RunResult](http.md#runresult) |
| `runs start` | [Started](http.md#started) |
| `runs send`, `cancel`, `retry` | [Accepted](http.md#accepted) |
| `runs stack` | [Stack](http.md#stack) |
| `runs watch` | an object a line; `event` is `entry`, `attempt`, `state` or, at last, `end` with the fields of RunResult |
| `events tail` | an [EventView](http.md#eventview) a line, the newest last |
| `events show` | [EventView](http.md#eventview) |
| `events history` | [HistoryPage](http.md#historypage) |
| `events topics` | list of [TopicView](http.md#topicview) |
| `events publish` | [Published](http.md#published) |
| `events subscriptions` | list of [SubscriptionView](http.md#subscriptionview); without an owner `target`, `topics` and `working` are empty, and none is `declared` |
| `events pause`, `resume` | [Switched](http.md#switched) |
| `events replay` | [ReplayView](http.md#replayview) |
| `jobs ls` | [JobPage](http.md#jobpage) |
| `jobs show`, `cancel` | [JobDetail](http.md#jobdetail) |
| `jobs retry` | [Published](http.md#published) |
| `jobs diagram` | [LifecycleView](http.md#lifecycleview) |
| `deadletters ls` | [DeadLetterPage](http.md#deadletterpage) |
| `deadletters show`, `redrive ID`, `dismiss` | [PlainDeadLetter](http.md#plaindeadletter) |
| `deadletters redrive --all` | [Redriven](http.md#redriven) |
| `up` | a line when it is up: `event`, `address`, `pid`, `store`, `flows`, `subscriptions` and `webhooks` by pipeline, `bridges` with their state, `runs` by state, `preflight` as below or null, `stand_ins`, `needs_token` |
| `new` | `name`, `folder`, `files` |
| `preflight` | `checked`, `skipped`, `rows`; `problems`: list of `run`, `number`, `flow`, `reason` |
| `doctor` | list of `verdict` (`ok`, `warn`, `fail`), `about`, `detail`, `hint` |
| `config` | by variable: `value`, `source` (`default`, `environment`) |
| `check` | `file`, `sound`, `schema`, `rows` by table; `findings`: list of `check`, `detail`; `unopened`: values whose key was not given |
| `keys new` | `key`, `id` |
| `keys rotate` | `file`, `key` and `forgotten` by their ids, `rewritten`, `written_anew` |
| `backup` | `file`, `schema`, `rows` by table, `bytes`, `sha256`, `created_at`; the same is beside the copy |
| `tokens new` | [MadeToken](http.md#madetoken) |
| `tokens ls` | [TokenList](http.md#tokenlist) |
| `tokens revoke` | [TokenView](http.md#tokenview) |
| `webhooks add`, `rotate` | [NewSecret](http.md#newsecret) |
| `webhooks ls` | [EndpointList](http.md#endpointlist) |
| `webhooks show`, `enable`, `disable`, `rm` | [EndpointView](http.md#endpointview) |
| `webhooks test` | [AttemptView](http.md#attemptview) |
| `bench` | `machine` and `measured`, times in the unit of their name |
"""


def errors_page() -> str:
    module = importlib.import_module("headrace.errors")
    page = ["# Errors", MADE.format(source="`headrace.errors`")]
    page += ["All are importable from `headrace.errors`; an indented one is a kind of the one above it.\n", "```text"]
    classes = [getattr(module, name) for name in module.__all__]
    root = module.HeadraceError
    page += [*_family(root, classes, 0), "```\n"]
    for cls in sorted(classes, key=lambda one: one.__name__):
        page += [f"## {cls.__name__}\n", *_about_error(cls)]
    return "\n".join(page)


def _family(cls: type, classes: list[type], depth: int) -> Iterator[str]:
    yield "    " * depth + cls.__name__
    for child in sorted((one for one in classes if cls in one.__bases__), key=lambda one: one.__name__):
        yield from _family(child, classes, depth + 1)


def _about_error(cls: type[BaseException]) -> Iterator[str]:
    if own := cls.__dict__.get("__doc__"):
        yield inspect.cleandoc(own) + "\n"
    if "__init__" not in cls.__dict__:
        return
    parameters = [one for one in inspect.signature(cls).parameters.values() if one.name != "self"]
    yield "Fields: " + ", ".join(f"`{one.name}`" for one in parameters) + ".\n"
    if "__str__" in cls.__dict__:
        needed = [Hole(one.name) for one in parameters if one.default is inspect.Parameter.empty]
        yield f"> {cls(*needed)}\n"


def cli_page() -> str:
    import click

    main = importlib.import_module("headrace._cli.main").main
    page = ["# Command line", MADE.format(source="`headrace._cli`"), JSON_OF_THE_CLI]
    for path, command in _commands(("headrace",), main, click.Context(main, info_name="headrace")):
        context = click.Context(command, info_name=" ".join(path), max_content_width=WIDTH, terminal_width=WIDTH)
        page += [f"## {' '.join(path)}\n", "```text", command.get_help(context).rstrip(), "```\n"]
    return "\n".join(page)


def _commands(path: tuple[str, ...], command: Any, context: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    import click

    yield path, command
    if isinstance(command, click.Group):
        for name in sorted(command.list_commands(context)):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from _commands((*path, name), child, click.Context(child, info_name=name, parent=context))


def settings_page() -> str:
    settings = importlib.import_module("headrace.settings").Settings
    page = ["# Settings", MADE.format(source="`headrace.settings`")]
    page += [
        "Each is an environment variable.",
        "A name that starts with `HEADRACE_` and is not in this list stops the start.\n",
    ]
    page += ["| variable | type | default | meaning |", "|---|---|---|---|", *_fields(settings, "HEADRACE_")]
    return "\n".join(page) + "\n"


def _fields(model: Any, prefix: str) -> Iterator[str]:
    from pydantic import BaseModel

    for name, field in model.model_fields.items():
        kind = field.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            yield from _fields(kind, f"{prefix}{name.upper()}__")
            continue
        cells = [
            f"`{prefix}{name.upper()}`",
            _kind(kind),
            _default(field),
            field.description or "",
        ]
        yield f"| {' | '.join(cells)} |"


def _kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(kind))
    label = {"timedelta": "duration", "Path | PostgresUrl": "Path` or `URL"}
    if get_origin(kind) is tuple:
        return "durations" if "timedelta" in str(kind) else "names"
    words = [item for item in get_args(kind) if item is not type(None)] or [kind]
    name = " | ".join(item.__name__ if inspect.isclass(item) else str(item) for item in words)
    return f"`{label.get(name, name).replace('SecretStr', 'secret')}`".replace("|", "\\|")


def _default(field: Any) -> str:
    from pydantic import TypeAdapter

    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, tuple) and value:
        texts = [TypeAdapter(type(one)).dump_json(one).decode().strip(chr(34)) for one in value]
        return f"`{','.join(texts)}`"
    return (
        "none" if value in (None, ()) else f"`{TypeAdapter(field.annotation).dump_json(value).decode().strip(chr(34))}`"
    )


HTTP_API = """\
`headrace up` answers at the address that it prints; the lock file beside the store names it too.
The description for programs is at `/api/openapi.json`.

**Tokens.** On this machine none is needed; others need one, and `HEADRACE_SERVER__TOKENS=always` asks everybody.
It is sent as `Authorization: Bearer TOKEN`, or a browser logs in with it at `/login`.
Its scope says how far it reaches: `read`, `operate` or `admin`, each with what those before it may.
[Open the server to others](../how-to/open-the-server-to-others.md) shows how.

All paths that do not begin with `/api/` are for people: the [dashboard](../how-to/use-the-dashboard.md), and pages of pipelines.

**Bodies** are JSON and say so with `Content-Type: application/json`.
Run ids in paths are percent-encoded, slashes included.
Instants are ISO 8601 in UTC.

**Pages.** A list has `next`; pass it as `cursor` to get the page that follows.

**Doing it once.** A POST that comes with an `Idempotency-Key`, a new UUID for each request, is carried out once, however often it is sent.
Whoever sends it again gets the first answer, with the header `Idempotency-Replayed: true`, for 24 hours.
The same key with another request is refused with 422, and with 409 while the first request is still being carried out.
Requests that were refused are not remembered.
"""


def http_page() -> str:
    from headrace import Headrace

    admission = importlib.import_module("headrace._web.admission").Admission()
    api = importlib.import_module("headrace._web.app").create_app(Headrace([], store="any"), admission).openapi()
    page = ["# HTTP API of the owner", MADE.format(source="`headrace._web`"), HTTP_API]
    page += ["# Refusals\n", *_refusals(api["components"]["responses"])]
    page += ["# Requests\n"]
    for path, methods in api["paths"].items():
        for method, about in methods.items():
            page += [f"## {method.upper()} {path}\n", about["description"] + "\n", *_call(about)]
    page += ["# Objects\n"]
    for name, schema in sorted(api["components"]["schemas"].items()):
        page += [f"## {name}\n", *_schema(schema)]
    return "\n".join(page)


def _refusals(answers: dict[str, Any]) -> Iterator[str]:
    statuses = importlib.import_module("headrace._web.examples").PROBLEMS
    yield "Each is a [Problem](#problem) with a `code` for programs, a `message` for people and a `hint` what to do.\n"
    yield from ("| status | meaning | for example |", "|---|---|---|")
    for status, about in statuses.items():
        code = answers[about.name]["content"]["application/json"]["example"]["error"]["code"]
        yield f"| {status} | {about.description} | `{code}` |"
    yield ""


def _call(about: dict[str, Any]) -> Iterator[str]:
    yield f"Scope: `{about['x-scope']}`.\n" if "x-scope" in about else "Needs no token.\n"
    # The key of idempotency is the same everywhere, and told once.
    parameters = [one for one in about.get("parameters", ()) if one["name"] != "Idempotency-Key"]
    rows = [(one["name"], one["schema"], one.get("description", "")) for one in parameters]
    if rows:
        yield from ("| parameter | type | meaning |", "|---|---|---|")
        yield from (f"| `{name}` | {_type(schema)} | {meaning} |" for name, schema, meaning in rows)
        yield ""
    if "requestBody" in about:
        yield f"Body: {_type(about['requestBody']['content']['application/json']['schema'])}."
    for status, answer in about["responses"].items():
        if status.startswith("2"):
            yield f"Answer {status}: {_answer(answer.get('content', {}))}."
    refused = [status for status, answer in about["responses"].items() if "$ref" in answer]
    yield f"Refused with: {', '.join(refused)}.\n"


def _answer(content: dict[str, Any]) -> str:
    if not content:
        return "nothing"
    media, body = next(iter(content.items()))
    return _type(body["schema"]) if media == "application/json" and body.get("schema") else f"`{media}`"


def _schema(schema: dict[str, Any]) -> Iterator[str]:
    if "description" in schema:
        yield inspect.cleandoc(schema["description"]).replace("``", "`") + "\n"
    if "enum" in schema:
        yield "One of " + ", ".join(f"`{word}`" for word in schema["enum"]) + ".\n"
        return
    yield from ("| field | type | meaning |", "|---|---|---|")
    for name, field in schema.get("properties", {}).items():
        yield f"| `{name}` | {_type(field)} | {field.get('description', '')} |"
    yield ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    return "instant" if schema.get("format") == "date-time" else str(schema.get("type", "any JSON"))


def metrics_page() -> str:
    page = ["# Metrics", MADE.format(source="`headrace._web.metrics`")]
    page += [
        "`GET /metrics` answers in the text format of Prometheus; it needs a token of scope `read` where tokens are needed.",
        "Counters start at zero with the process.\n",
        "| metric | kind | labels | meaning |",
        "|---|---|---|---|",
    ]
    for one in importlib.import_module("headrace._web.metrics").METRICS:
        page.append(f"| `{one.name}` | {one.kind} | {', '.join(f'`{label}`' for label in one.labels)} | {one.help} |")
    return "\n".join(page) + "\n"


def events_page() -> str:
    found = sorted({event for path in (ROOT / "src" / "headrace").rglob("*.py") for event in _events(path)})
    page = ["# Log events", MADE.format(source="the calls in `src/headrace`")]
    page += ["Every line of the log is one of these, with its values.\n", "| event | level | values |", "|---|---|---|"]
    page += [f"| `{name}` | {level} | {', '.join(f'`{value}`' for value in values)} |" for name, level, values in found]
    return "\n".join(page) + "\n"


def _events(path: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in LEVELS
            and node.args
        ):
            continue
        name = node.args[0]
        if (
            isinstance(name, ast.Constant)
            and isinstance(name.value, str)
            and "." in name.value
            and " " not in name.value
        ):
            yield name.value, node.func.attr, tuple(word.arg for word in node.keywords if word.arg)


PAGES = {
    "errors.md": errors_page,
    "cli.md": cli_page,
    "settings.md": settings_page,
    "http.md": http_page,
    "metrics.md": metrics_page,
    "events.md": events_page,
}


def main() -> int:
    only_check = "--check" in sys.argv[1:]
    complaints = []
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        try:
            page = make()
        except ModuleNotFoundError as error:
            complaints.append(f"docs/reference/{name}: there is no module {error.name}")
            continue
        path = REFERENCE / name
        if path.exists() and path.read_text("utf-8") == page:
            continue
        if only_check:
            complaints.append(f"docs/reference/{name} is out of date: run make docs")
        else:
            path.write_text(page, "utf-8")
            print(f"wrote docs/reference/{name}")
    print(*complaints, sep="\n", end="\n" if complaints else "", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
