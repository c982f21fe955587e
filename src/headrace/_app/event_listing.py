"""The log of events for people: filtered, in pages, and quick however long it is.

Topics and whole subjects are found by an index. For the rest the newest events are looked through, so many at a time, and the list says that
there is more to look at.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from headrace._app.event_view import EventView
from headrace._events.filter import compile_filter
from headrace._events.model import EventRecord
from headrace._events.schema import raw_event
from headrace._events.store import SQL, event_at
from headrace._events.topic import check_pattern, matches
from headrace._ports.database import Reader, SqlValue, Statement
from headrace._store.statements import load

_LISTING = load("headrace._events", "listing.sql")
_BEYOND_ALL = 2**62
_CHUNK = 200
_MOST_TOPICS = 100

REACH = 100_000
"""How many events one search passes over."""
READ = 4_000
"""How many events one search reads to ask an expression about them."""

_Parameters = dict[str, SqlValue]
_Road = tuple[Statement, _Parameters]


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """Which events to list. ``subject`` is a whole one if there is such a subject, and a part of one otherwise.

    ``job`` is the name of a lifecycle, ``applied`` whether an event moved its job, ``where`` an expression as for ``on(where=)``.
    """

    topic: str = ""
    subject: str = ""
    job: str = ""
    applied: bool | None = None
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class EventList:
    """Events, the newest first.

    ``next`` is the cursor of what follows, if anything does. ``unfinished``: the page is short because the search has looked through
    enough for once. ``whole``: the filter named a whole subject.
    """

    events: tuple[EventView, ...]
    next: int | None
    unfinished: bool
    whole: bool


def list_of_events(reader: Reader, wanted: EventFilter, *, before: int | None = None, count: int = 50) -> EventList:
    """Raises ValueRefused where the topic is no pattern or the expression cannot be read."""
    pattern = check_pattern(wanted.topic) if wanted.topic else "#"
    predicate = compile_filter(wanted.where) if wanted.where else None
    start = _BEYOND_ALL if before is None else before
    roads, floor, whole = _roads(reader, wanted, pattern, start)
    found: list[EventRecord] = []
    read, last, ended = 0, start, True
    for position, topic in _walk(reader, roads, start):
        if not matches(pattern, topic):
            continue
        if len(found) > count or read >= READ:
            ended = False
            break
        record = event_at(reader, position)
        assert record is not None
        read, last = read + 1, position
        if predicate is None or predicate(raw_event(record)):
            found.append(record)
    page = found[:count]
    following = page[-1].position if len(found) > count else last if not ended else floor
    return EventList(
        events=tuple(map(EventView.of, page)),
        next=following,
        unfinished=following is not None and len(found) <= count,
        whole=whole,
    )


def topics_in(reader: Reader) -> tuple[str, ...]:
    """Every topic in the log."""
    return tuple(topic for (topic,) in reader.all(_LISTING.topic_names))


def _roads(reader: Reader, wanted: EventFilter, pattern: str, before: int) -> tuple[list[_Road], int | None, bool]:
    """The statements that together meet every event that fits, where the search ends, and whether the subject is a whole one."""
    common: _Parameters = {"applied": None if wanted.applied is None else int(wanted.applied), "floor": 0}
    if wanted.subject:
        kinds = [kind for (kind,) in reader.all(SQL.kinds_of_subject, {"subject": wanted.subject})]
        if kinds:
            about = common | {"subject": wanted.subject}
            chosen = [kind for kind in kinds if wanted.job in ("", kind)]
            return [(_LISTING.newest_of_subject, about | {"kind": kind}) for kind in chosen], None, True
    common |= {"kind": wanted.job or None, "part": wanted.subject.lower() or None}
    passes_over = wanted.applied is not None or wanted.job or wanted.subject
    names = [name for name in topics_in(reader) if matches(pattern, name)] if pattern != "#" else []
    by_topic = pattern != "#" and len(names) <= _MOST_TOPICS
    floor = _floor(reader, before) if passes_over or (pattern != "#" and not by_topic) else None
    common["floor"] = floor or 0
    if by_topic:
        return [(_LISTING.newest_of_topic, common | {"topic": name}) for name in names], floor, False
    return [(_LISTING.newest, common)], floor, False


def _floor(reader: Reader, before: int) -> int | None:
    row = reader.one(_LISTING.floor, {"before": before, "reach": REACH})
    return None if row is None else int(row[0])


def _walk(reader: Reader, roads: list[_Road], before: int) -> Iterator[tuple[int, str]]:
    """Positions and topics along all roads, the newest first."""
    return heapq.merge(*(_along(reader, road, before) for road in roads), key=lambda row: -row[0])


def _along(reader: Reader, road: _Road, before: int) -> Iterator[tuple[int, str]]:
    statement, parameters = road
    while True:
        rows = reader.all(statement, parameters | {"before": before, "count": _CHUNK})
        yield from rows
        if len(rows) < _CHUNK:
            return
        before = rows[-1][0]
