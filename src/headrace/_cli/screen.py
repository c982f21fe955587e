"""What a command writes: text for people, or JSON for programs."""

from __future__ import annotations

import functools
import json
import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from headrace._base.wording import duration

F = TypeVar("F", bound=Callable[..., Any])

DEBUG = "headrace.debug"
_JSON = "headrace.json"
_COLOURS = {
    "running": "cyan",
    "completed": "green",
    "failed": "red",
    "timed_out": "red",
    "blocked": "magenta",
    "quarantined": "magenta",
    "cancelling": "yellow",
    "cancelled": "yellow",
    "dead": "red",
    "handled": "green",
    "paused": "yellow",
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
    "error": "red",
}


class Screen:
    """Writes to standard output; notes and errors of commands that speak to people go to standard error."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    @staticmethod
    def of(ctx: click.Context) -> Screen:
        return Screen(as_json=bool(ctx.meta.get(_JSON)))

    def give(self, value: object, *, on_one_line: bool = False) -> None:
        """The answer for programs."""
        click.echo(json.dumps(value, indent=None if on_one_line else 1, ensure_ascii=False))

    def say(self, text: str = "") -> None:
        click.echo(text)

    def note(self, text: str) -> None:
        click.echo(printable(text), err=True)

    def fail(self, code: str, message: str, hint: str) -> None:
        if self.as_json:
            self.give({"error": {"code": code, "message": message, "hint": hint}}, on_one_line=True)
            return
        text = printable(message) + (f"\n{printable(hint)}" if hint else "")
        click.echo(f"{click.style('Error:', fg='red')} {text}", err=True)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], *, state: int | None = None) -> None:
        """Columns as wide as their content; ``state`` is the column to colour."""
        Table(head, state=state).add(rows)

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names and values, one a line; empty values are left out."""
        known = [(name, printable(value)) for name, value in pairs if value]
        width = max((len(name) for name, _ in known), default=0)
        for name, value in known:
            first, *more = value.splitlines() or [""]
            click.echo(f"{click.style(name.ljust(width), bold=True)}  {coloured(value, first)}")
            for line in more:
                click.echo(f"{' ' * width}  {line}")


class Table:
    """Rows below their heads, in columns as wide as their content; rows that come later may make them wider.

    On a terminal the widest columns give way.
    """

    def __init__(self, head: Sequence[str], *, state: int | None = None) -> None:
        self._head = head
        self._state = state
        self._widths = [_width(title) for title in head]
        self._is_begun = False

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        cells = [[one_line(cell) for cell in row] for row in rows]
        for row in cells:
            self._widths = [max(width, _width(cell)) for width, cell in zip(self._widths, row, strict=True)]
        terminal = sys.stdout.isatty()
        widths = _narrowed(self._widths, shutil.get_terminal_size().columns) if terminal else self._widths
        if not self._is_begun:
            self._is_begun = True
            click.echo(click.style(_line(self._head, widths), bold=True))
        for row in cells:
            texts = list(map(_fit, row, widths))
            if self._state is not None:
                texts[self._state] = coloured(row[self._state], texts[self._state])
            click.echo("  ".join(texts).rstrip())


def common(function: F) -> F:
    """``--json`` and ``--debug``, and the screen as the first argument."""

    @click.option("--json", "as_json", is_flag=True, help="Write JSON for programs.")
    @click.option("--debug", is_flag=True, help="Show the stack trace of an error.")
    @click.pass_context
    @functools.wraps(function)
    def command(ctx: click.Context, /, *args: Any, as_json: bool, debug: bool, **options: Any) -> Any:
        ctx.meta[DEBUG] = debug
        ctx.meta[_JSON] = as_json
        return function(Screen.of(ctx), *args, **options)

    return command  # type: ignore[return-value]  # click replaces the signature anyway


def coloured(word: str, text: str) -> str:
    colour = _COLOURS.get(word)
    return click.style(text, fg=colour) if colour else text


def printable(text: str) -> str:
    """Without the control characters that could steer a terminal; they may come from anywhere."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text.expandtabs(4))


def one_line(text: str) -> str:
    first, *more = printable(text).strip().splitlines() or [""]
    return f"{first} …" if more else first


def short_json(value: object, limit: int = 60) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def long_json(value: object, limit: int = 4_000) -> str:
    """A value in full, over several lines, unless it would fill the screen many times."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters; --json has them all)"


def ago(moment: datetime, now: datetime) -> str:
    return duration(max(now - moment, timedelta(0)))


def due(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return ""
    return f"in {duration(moment - now)}" if moment > now else "now"


def clock_time(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def _fit(text: str, width: int) -> str:
    if _width(text) > width:
        while text and _width(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - _width(text))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(map(_fit, cells, widths)).rstrip()


def _narrowed(widths: list[int], room: int) -> list[int]:
    """Take what is too much from the widest columns."""
    narrowed = list(widths)
    while sum(narrowed) + 2 * (len(narrowed) - 1) > room and max(narrowed) > 12:
        widest = max(range(len(narrowed)), key=narrowed.__getitem__)
        narrowed[widest] -= 1
    return narrowed
