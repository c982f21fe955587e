"""One subscription: how far each part is, what it holds for another attempt, and what a replay would give it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from headrace._app.event_view import EventView
from headrace._app.view import ErrorText
from headrace._base.clock import Instant, to_datetime
from headrace._events.model import REPLAY_MARK
from headrace._events.store import all_cursors, cursors_of, event_at, last_position, position_at, scan
from headrace._events.topic import matches_any
from headrace._ports.database import Reader
from headrace._store.blobs import unseal
from headrace._store.statements import load
from headrace.errors import NotFound

_LISTING = load("headrace._events", "listing.sql")
_PAGE = 1_000
_HELD = 50
_SHOWN = 20

COUNTED = 200_000
"""How many events of the log a dry run looks through."""


@dataclass(frozen=True, kw_only=True)
class HeldEvent:
    """An event that waits for its next attempt, and behind it all later ones of its subject, unless it is tried ``alone``."""

    topic: str
    subject: str
    job: str
    position: int
    attempt: int
    next_at: datetime
    begun_at: datetime
    alone: bool
    error: ErrorText | None


@dataclass(frozen=True, kw_only=True)
class SubscriptionDetail:
    """``behind_since`` is when the first event was recorded that a part has not passed; ``held`` are those that are due first."""

    positions: tuple[int, ...]
    end: int
    held: tuple[HeldEvent, ...]
    replays: tuple[str, ...]
    behind_since: datetime | None


@dataclass(frozen=True, kw_only=True)
class Range:
    """What a replay would give: behind ``after``, up to ``until``. ``unfinished``: there are more events than were counted."""

    after: int
    until: int
    events: int
    unfinished: bool
    first: tuple[EventView, ...]


def subscription_detail(reader: Reader, name: str, *, reached: int | None = None) -> SubscriptionDetail:
    cursors, end = cursors_of(reader, name), last_position(reader)
    if not cursors:
        raise NotFound(f"there is no subscription {name!r}; `headrace events subscriptions` lists them")
    position = max(min(cursor.position for cursor in cursors), reached or 0)
    return SubscriptionDetail(
        positions=tuple(cursor.position for cursor in cursors),
        end=end,
        held=held_events(reader, name),
        replays=tuple(other for other in all_cursors(reader) if other.startswith(name + REPLAY_MARK)),
        behind_since=recorded_behind(reader, position),
    )


def held_events(reader: Reader, name: str, *, count: int = _HELD) -> tuple[HeldEvent, ...]:
    """What a subscription holds, in the order in which it is tried again."""
    rows = reader.all(_LISTING.held_next, {"subscription": name, "count": count})
    return tuple(
        HeldEvent(
            topic=topic,
            subject=subject,
            job=kind,
            position=position,
            attempt=attempt,
            next_at=to_datetime(next_at),
            begun_at=to_datetime(begun_at),
            alone=bool(alone),
            error=None if error is None else ErrorText.of(unseal(reader, error) or b"{}"),
        )
        for kind, subject, position, attempt, next_at, error, alone, begun_at, topic in rows
    )


def first_held(reader: Reader) -> dict[str, datetime]:
    """When each subscription that holds something tries again."""
    return {name: to_datetime(at) for name, at in reader.all(_LISTING.first_held)}


def recorded_behind(reader: Reader, position: int) -> datetime | None:
    row = reader.one(_LISTING.recorded_behind, {"after": position})
    return None if row is None else to_datetime(row[0])


def range_of(
    reader: Reader,
    patterns: tuple[str, ...],
    *,
    after: int | None = None,
    since: Instant | None = None,
    until: int | None = None,
) -> Range:
    """Behind position ``after``, or recorded ``since``, of the topics that a subscription reads."""
    begin = after if after is not None else 0 if since is None else position_at(reader, since)
    end = min(last_position(reader), 2**62 if until is None else until)
    fitting: list[int] = []
    place, looked = begin, 0
    while place < end and looked < COUNTED:
        rows = scan(reader, place, _PAGE)
        fitting += [position for position, topic, _, _ in rows if position <= end and matches_any(patterns, topic)]
        looked, place = looked + len(rows), rows[-1][0] if rows else end
    shown = (event_at(reader, position) for position in fitting[:_SHOWN])
    return Range(
        after=begin,
        until=end,
        events=len(fitting),
        unfinished=place < end,
        first=tuple(EventView.of(record) for record in shown if record is not None),
    )


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What is held and dead among events; counting stops at ``MANY``."""

    held: int
    dead: int


MANY = 1_000


def trouble(reader: Reader) -> Trouble:
    held, dead = (
        reader.one(statement, {"limit": MANY}) for statement in (_LISTING.count_held_some, _LISTING.count_dead_some)
    )
    return Trouble(held=0 if held is None else held[0], dead=0 if dead is None else dead[0])
