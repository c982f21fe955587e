"""The log of events as it grows, from any position on: what is there already first, then what comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from headrace._app.event_view import EventView
from headrace._engine.event_log import EventLog
from headrace._events.filter import Predicate, compile_filter
from headrace._events.model import Subject
from headrace._events.schema import raw_event
from headrace._events.store import event_at, last_position, scan
from headrace._events.topic import check_pattern, matches
from headrace._ports.database import Database, Reader

_MOST_EVENTS = 100
_MOST_BYTES = 2**20
_PAGE = 500
_MOST_PAGES = 20
_WORTH_TELLING = 1_000
"""So many positions without a wanted event are told, so that a reader that comes back need not pass them again."""


@dataclass(frozen=True, kw_only=True)
class EventBatch:
    """Events in the order of the log; all up to ``position`` is told. ``missed``: the reader knows a position that this log never had."""

    events: tuple[EventView, ...]
    position: int
    missed: bool = False


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """Which events a reader wants. ``where`` speaks of the data as they stand in the log."""

    topic: str = "#"
    subject: str | None = None
    job: str | None = None
    where: Predicate | None = None

    @staticmethod
    def of(*, topic: str = "#", subject: str | None = None, job: str | None = None, where: str = "") -> EventFilter:
        """Raises ``ValueRefused`` where the pattern or the filter text cannot be read."""
        predicate = compile_filter(where) if where else None
        return EventFilter(topic=check_pattern(topic), subject=subject, job=job, where=predicate)

    def may_want(self, topic: str, about: Subject) -> bool:
        """Judged without the event itself."""
        return (
            (self.subject is None or self.subject == about.id)
            and (self.job is None or self.job == about.kind)
            and matches(self.topic, topic)
        )


class EventFeed:
    """Asynchronous iterator over batches; it reads no further than it is asked, so a slow reader costs nothing but time."""

    def __init__(self, log: EventLog, database: Database, wanted: EventFilter, *, after: int | None) -> None:
        self._log = log
        self._database = database
        self._wanted = wanted
        self._news = asyncio.Event()
        end = database.read(last_position)
        self._missed = after is not None and after > end
        self._position = self._told = end if after is None else min(after, end)
        self._stop_listening: Callable[[], None] | None = None
        self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> EventBatch:
        if self._stop_listening is None:  # not earlier: a feed that nobody reads is never closed either
            self._stop_listening = self._log.listen(self._news.set)
        while not self._is_closed and not self._log.is_closed:
            self._news.clear()  # before looking, so that what comes meanwhile is looked for
            # The log may be long, and nothing in it wanted: that is no affair of the event loop.
            found, reached = await asyncio.to_thread(self._database.read, self._look)
            at_end = reached == self._position
            self._position = reached
            if found or self._missed or reached - self._told >= _WORTH_TELLING:
                self._told, missed, self._missed = reached, self._missed, False
                return EventBatch(events=tuple(found), position=reached, missed=missed)
            if at_end:
                await self._news.wait()
        raise StopAsyncIteration

    def close(self) -> None:
        """Read no more."""
        if not self._is_closed and self._stop_listening is not None:
            self._stop_listening()
        self._is_closed = True
        self._news.set()

    def _look(self, reader: Reader) -> tuple[list[EventView], int]:
        """Some of the wanted events that come next, and up to where the log was looked at."""
        found: list[EventView] = []
        reached, size = self._position, 0
        for _ in range(_MOST_PAGES):
            rows = scan(reader, reached, _PAGE)
            for position, topic, about, _ in rows:
                reached = position
                if not self._wanted.may_want(topic, about) or (event := self._read(reader, position)) is None:
                    continue
                view, length = event
                found.append(view)
                size += length
                if len(found) >= _MOST_EVENTS or size >= _MOST_BYTES:
                    return found, reached
            if len(rows) < _PAGE:
                break
        return found, reached

    def _read(self, reader: Reader, position: int) -> tuple[EventView, int] | None:
        record = event_at(reader, position)
        if record is None or (self._wanted.where is not None and not self._wanted.where(raw_event(record))):
            return None
        return EventView.of(record), len(record.data)
