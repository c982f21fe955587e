"""Which runs have changed, told while it happens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self

from headrace._app.view import RunView
from headrace._engine.changes import Changes
from headrace._ports.database import Database, Reader
from headrace._runs.store import record_of
from headrace._store.statements import load

_SQL = load("headrace._runs", "inspection.sql")
_MOST_AT_ONCE = 100
_PACE = 0.1


@dataclass(frozen=True, kw_only=True)
class RunChanges:
    """Runs that have changed, as they are now; ``missed``: others have, too, so look at the whole list."""

    runs: tuple[RunView, ...]
    missed: bool
    position: str | None
    """For ``changes(since=...)`` after a break; None while more of the same moment is to come."""


class RunFeed:
    """``async for changed in app.changes()``: at most ten times a second, a run once each time, until the engine stops."""

    def __init__(self, changes: Changes, database: Database, *, since: str | None = None) -> None:
        self._changes = changes
        self._database = database
        self._listener = changes.listen()
        self._missed = since is not None and since != self._position()
        self._pace = asyncio.Event()
        self._pace.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RunChanges:
        await self._pace.wait()
        if self._missed:
            self._missed = False
            return RunChanges(runs=(), missed=True, position=self._position())
        changed = await self._listener.take(_MOST_AT_ONCE)
        if changed is None:
            raise StopAsyncIteration
        self._wait_a_moment()
        runs = self._database.read(lambda reader: _views(reader, changed.runs))
        return RunChanges(runs=runs, missed=changed.missed, position=self._position())

    def close(self) -> None:
        """Hear no more."""
        self._listener.close()
        self._pace.set()

    def _wait_a_moment(self) -> None:
        # So that a thousand changes of a moment are a few batches, not a thousand.
        self._pace.clear()
        asyncio.get_running_loop().call_later(_PACE, self._pace.set)

    def _position(self) -> str | None:
        return None if self._listener.is_behind else f"{self._changes.began_at}-{self._listener.count}"


def _views(reader: Reader, pks: tuple[int, ...]) -> tuple[RunView, ...]:
    rows = [reader.one(_SQL.run_in_short, {"pk": pk}) for pk in pks]
    return tuple(RunView.of(record_of(reader, row)) for row in rows if row is not None)
