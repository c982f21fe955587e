"""What waits for a run: ``watch`` and ``result``. The file is read again and again, so no API is needed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from headrace._app.inspection import history_of, result_of
from headrace._app.view import FailedAttempt, HistoryEntry, RunResult, RunView, to_plain
from headrace._base.clock import SystemClock
from headrace._cli.commands.runs.reading import error_text, lines_of, name_of
from headrace._cli.owner import owner_of
from headrace._cli.problem import NOTHING, Problem
from headrace._cli.screen import Screen, coloured, common, one_line
from headrace._cli.store_file import open_reader, open_to_look, store_option
from headrace._runs.model import SET_ASIDE, RunState
from headrace._store.location import Location

if TYPE_CHECKING:
    from headrace._store.opening import StoreReader

_SHORTEST = 0.02
_LONGEST = 0.3
_PAGE = 500


@click.command()
@click.argument("run")
@click.option("--wait", is_flag=True, help="Wait for the end of the run.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait so long at most.")
@store_option
@common
def result(screen: Screen, run: str, wait: bool, timeout: float | None, store: Location) -> None:
    """Show how a RUN ended: what its flow returned, or the error.

    Exit code 0: it completed. 4: it has not ended, or ended otherwise.
    """
    with open_reader(store) as reader:
        found = reader.read(lambda rows: result_of(rows, run))
        if not found.ended and (wait or timeout is not None):
            found = wait_for_end(reader, store, found, timeout=timeout)
    tell_result(screen, found)


def wait_for_end(reader: StoreReader, store: Location, found: RunResult, *, timeout: float | None = None) -> RunResult:
    """Read the file until the run has ended; without an owner that would be for ever."""
    _need_owner(store, found.run)
    clock = SystemClock()
    until = None if timeout is None else clock.monotonic() + timeout
    for _ in _ticks():
        found = reader.read(lambda rows: result_of(rows, found.run.id, found.run.number))  # noqa: B023
        if found.ended:
            return found
        if until is not None and clock.monotonic() >= until:
            break
    return found


def tell_result(screen: Screen, found: RunResult) -> None:
    """Write how a run ended and end the command with the exit code for it."""
    run = found.run
    if screen.as_json:
        screen.give(to_plain(found))
    elif run.state == RunState.COMPLETED:
        screen.say(json.dumps(found.result, ensure_ascii=False, indent=1))
    else:
        _tell_failure(screen, found)
    if run.state != RunState.COMPLETED:
        click.get_current_context().exit(NOTHING)


def _tell_failure(screen: Screen, found: RunResult) -> None:
    run = found.run
    if found.error is not None:
        screen.note(f"Run {name_of(run)} {run.state}: {error_text(found.error)}")
    elif found.ended:
        screen.note(f"Run {name_of(run)} {run.state}" + (f": {run.reason}" if run.reason else ""))
    else:
        why = f": {one_line(run.reason)}" if run.reason else ""
        screen.note(f"Run {name_of(run)} has not ended, it is {run.state}{why}. --wait waits for it.")


@click.command()
@click.argument("run")
@store_option
@common
def watch(screen: Screen, run: str, store: Location) -> None:
    """Follow a RUN until it ends: every step, message and state as it comes.

    Exit code 0: it completed. 4: it ended otherwise. With --json, one object a line.
    """
    with open_to_look(screen, store) as reader:
        found = reader.read(lambda rows: result_of(rows, run))
        if not found.ended:
            _need_owner(store, found.run)
        follower = Follower(screen, reader, store, run)
        tell_result(_on_one_line(screen), follower.follow())


class Follower:
    """Writes what is new in a run since it looked last."""

    def __init__(self, screen: Screen, reader: StoreReader, store: Location, run: str) -> None:
        self._screen = screen
        self._reader = reader
        self._store = store
        self._run = run
        self._number: int | None = None
        self._seq = 0
        self._seen: set[tuple[int, int]] = set()
        self._shown: tuple[str, str] | None = None
        self._owned = True

    def follow(self) -> RunResult:
        for tick in _ticks():
            view = self._look()
            if view.finished_at is not None:
                found = self._reader.read(lambda rows: result_of(rows, view.id, view.number))  # noqa: B023
                if found.run.number == view.number:
                    return found
                self._go_on_with(found.run)
            elif tick % 10 == 9:
                self._look_for_owner(view)
        raise AssertionError("ticks do not end")

    def _look(self) -> RunView:
        """Everything that is new, page by page."""
        while True:
            page = self._reader.read(
                lambda rows: history_of(rows, self._run, self._number, after=self._seq, count=_PAGE)
            )
            self._run, self._number = page.run.id, page.run.number
            for entry in page.entries:
                self._seq = entry.seq
                self._tell_entry(entry, page.run)
            for attempt in page.retrying:
                self._tell_attempt(attempt, page.run)
            if page.next is None:
                self._tell_state(page.run)
                return page.run

    def _go_on_with(self, run: RunView) -> None:
        self._number, self._seq, self._shown = run.number, 0, None
        self._seen.clear()

    def _tell_entry(self, entry: HistoryEntry, run: RunView) -> None:
        if self._screen.as_json:
            self._screen.give({"event": "entry", "entry": to_plain(entry)}, on_one_line=True)
            return
        fresh = tuple(one for one in entry.failures if (one.command, one.attempt) not in self._seen)
        for line in lines_of(entry, run.created_at)[-1 - len(fresh) :]:
            self._line(line)

    def _tell_attempt(self, attempt: FailedAttempt, run: RunView) -> None:
        key = (attempt.command, attempt.attempt)
        if key in self._seen:
            return
        self._seen.add(key)
        if self._screen.as_json:
            self._screen.give({"event": "attempt", "attempt": to_plain(attempt)}, on_one_line=True)
            return
        at = f"+{(attempt.at - run.created_at) / timedelta(seconds=1):.1f} s"
        self._line((at, f"step {attempt.step}", str(attempt.attempt), "failed", "", attempt.error.short))

    def _tell_state(self, run: RunView) -> None:
        shown = (run.state, run.reason)
        if shown == self._shown or run.finished_at is not None:
            return
        self._shown = shown
        if self._screen.as_json:
            self._screen.give({"event": "state", "run": to_plain(run)}, on_one_line=True)
        else:
            hint = f"  (headrace runs retry {run.id})" if run.state in SET_ASIDE else ""
            self._screen.say(f"{coloured(run.state, run.state)}  {one_line(run.reason)}{hint}".rstrip())

    def _line(self, cells: tuple[str, ...]) -> None:
        at, what, tries, outcome, took, value = map(one_line, cells)
        tried = f" (attempt {tries})" if tries not in ("", "1") else ""
        self._screen.say(f"{at:>8}  {what}{tried}  {coloured(outcome, outcome)}  {took}  {value}".rstrip())

    def _look_for_owner(self, run: RunView) -> None:
        owned = owner_of(self._store) is not None
        if not owned and self._owned and not self._screen.as_json:
            self._screen.note(
                f"Nobody runs the store any more; {name_of(run)} goes on when somebody does. Still watching."
            )
        self._owned = owned


def _on_one_line(screen: Screen) -> Screen:
    return _OneLine(as_json=True) if screen.as_json else screen


class _OneLine(Screen):
    def give(self, value: object, *, on_one_line: bool = True) -> None:
        super().give({"event": "end", **value} if isinstance(value, dict) else value, on_one_line=True)


def _need_owner(store: Location, run: RunView) -> None:
    if owner_of(store) is None:
        raise Problem(
            f"run {name_of(run)} is {run.state}, and nobody runs {store}, so it would never end",
            code="no_owner",
            hint=f"run it: headrace up TARGET --store {store}",
        )


def _ticks() -> Iterator[int]:
    """Now, and then again and again, slower and slower."""
    pause = threading.Event()
    wait = _SHORTEST
    tick = 0
    while True:
        yield tick
        pause.wait(wait)
        wait = min(wait * 1.3, _LONGEST)
        tick += 1
