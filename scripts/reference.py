"""Writes docs/reference from the code, so that the two cannot drift; with --check it only says what is out of date."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
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
The commands of `runs` give the objects of the [HTTP API](http.md):

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
| `up` | a line when it is up: `event`, `address`, `pid`, `store`, `flows` by pipeline, `runs` by state, `preflight` as below or null |
| `preflight` | `checked`, `skipped`, `rows`; `problems`: list of `run`, `number`, `flow`, `reason` |
| `doctor` | list of `verdict` (`ok`, `warn`, `fail`), `about`, `detail`, `hint` |
| `config` | by variable: `value`, `source` (`default`, `environment`) |
| `check` | `file`, `sound`, `schema`, `rows` by table; `findings`: list of `check`, `detail` |
| `backup` | `file`, `schema`, `rows` by table, `bytes`, `sha256`, `created_at`; the same is beside the copy |
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
    label = {"timedelta": "duration", "int | None": "int", "Path | PostgresUrl": "Path` or `URL"}
    name = (
        kind.__name__
        if inspect.isclass(kind)
        else re.sub(r"\b[a-z_]+\.", "", str(kind).replace("headrace._store.location.", ""))
    )
    return f"`{label.get(name, name)}`".replace("|", "\\|")


def _default(field: Any) -> str:
    from pydantic import TypeAdapter

    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else f"`{TypeAdapter(field.annotation).dump_json(value).decode().strip(chr(34))}`"


def http_page() -> str:
    from headrace import Headrace

    api = importlib.import_module("headrace._web.app").create_app(Headrace([], store="any"), token=None).openapi()
    page = ["# HTTP API of the owner", MADE.format(source="`headrace._web`")]
    page += [
        "`headrace up` answers at the address that it prints; the lock file beside the store names it too.",
        "Every request but those for health needs `Authorization: Bearer TOKEN`; the token is in the file that the lock file names.",
        "Run ids in paths are percent-encoded, slashes included.",
        "Instants are ISO 8601 in UTC.\n",
    ]
    for path, methods in api["paths"].items():
        for method, about in methods.items():
            page += [f"## {method.upper()} {path}\n", about["description"] + "\n", *_call(about)]
    page += ["# Objects\n"]
    for name, schema in sorted(api["components"]["schemas"].items()):
        page += [f"## {name}\n", *_schema(schema)]
    return "\n".join(page)


def _call(about: dict[str, Any]) -> Iterator[str]:
    rows = [(one["name"], one["schema"], one.get("description", "")) for one in about.get("parameters", ())]
    if rows:
        yield from ("| parameter | type | meaning |", "|---|---|---|")
        yield from (f"| `{name}` | {_type(schema)} | {meaning} |" for name, schema, meaning in rows)
        yield ""
    if "requestBody" in about:
        yield f"Body: {_type(about['requestBody']['content']['application/json']['schema'])}."
    for status, answer in about["responses"].items():
        if status != "default":
            yield f"Answer {status}: {_type(answer['content']['application/json']['schema'])}."
    yield ""


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
