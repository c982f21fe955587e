"""Where log events go; only programs decide that, and this is the only one here."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

import click

from headrace._cli.screen import printable

_COLOURS = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red", logging.DEBUG: "bright_black"}
# Libraries whose INFO is of no use to an operator.
_QUIET = ("asyncio", "uvicorn", "httpx2", "httpcore2")
# What they have to say of a lost connection, with a page of traceback, the bridge says in a line.
_SILENT = ("aio_pika", "aiormq")


def configure(*, level: str, form: Literal["auto", "console", "json"], stream: TextIO | None = None) -> None:
    """Write events to standard error: a line for people on a terminal, a JSON object a line elsewhere."""
    out = stream or sys.stderr
    for_people = form == "console" or (form == "auto" and out.isatty())
    handler = logging.StreamHandler(out)
    handler.setFormatter(ForPeople(colour=out.isatty()) if for_people else ForPrograms())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)


class ForPrograms(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        name, values = _event(record)
        line: dict[str, object] = {"at": _moment(record).isoformat(), "level": record.levelname.lower(), "event": name}
        line |= {key: value for key, value in values.items() if value is not None}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class ForPeople(logging.Formatter):
    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        name, values = _event(record)
        shown = " ".join(f"{key}={_value(value)}" for key, value in values.items() if value is not None)
        level = record.levelname.lower().ljust(7)
        line = f"{_moment(record).astimezone():%H:%M:%S} {level} {printable(name)}" + (f"  {shown}" if shown else "")
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        colour = _COLOURS.get(record.levelno)
        return click.style(line, fg=colour) if self._colour and colour else line


def _event(record: logging.LogRecord) -> tuple[str, dict[str, object]]:
    """An event of ours with its values, or somebody else's sentence with the logger's name."""
    name = getattr(record, "event", None)
    if isinstance(name, str):
        values: dict[str, object] = getattr(record, "values", {})
        return name, values
    return record.getMessage(), {"logger": record.name}


def _moment(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, tz=UTC)


def _value(value: object) -> str:
    text = str(value)
    return printable(text) if text and " " not in text and "\n" not in text else printable(repr(text))
