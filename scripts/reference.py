"""Writes docs/reference from the code, so that the two cannot drift; with --check it only says what is out of date."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
    page = ["# Command line", MADE.format(source="`headrace._cli`")]
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
        label = kind.__name__ if inspect.isclass(kind) else str(kind).replace("typing.", "")
        cells = [
            f"`{prefix}{name.upper()}`",
            f"`{label}`".replace("|", "\\|"),
            _default(field),
            field.description or "",
        ]
        yield f"| {' | '.join(cells)} |"


def _default(field: Any) -> str:
    from pydantic import TypeAdapter

    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else f"`{TypeAdapter(field.annotation).dump_json(value).decode().strip(chr(34))}`"


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


PAGES = {"errors.md": errors_page, "cli.md": cli_page, "settings.md": settings_page, "events.md": events_page}


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
