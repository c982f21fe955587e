"""Rows in, events out."""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from headrace._base.clock import Instant
from headrace._events.model import (
    REPLAY_MARK,
    SLOTS,
    Cursor,
    DeadLetter,
    EventRecord,
    Held,
    NewEvent,
    PartLost,
    Published,
    Subject,
    Verdict,
    Wait,
    base_name,
)
from headrace._events.topic import matches, matches_any
from headrace._ports.database import Reader, Row, SqlValue, Transaction
from headrace._store.blobs import seal, unseal
from headrace._store.places import Place
from headrace._store.statements import load

SQL = load("headrace._events")
_PAGE = 1_000
PLACES = (
    Place("events", key=("pos",), values=("data",)),
    Place("held", key=("subscription", "pos"), values=("error",)),
    Place("dead_letters", key=("pk",), values=("error",)),
)
"""Where values of events and of those who could not handle them stand."""


def slot_of(subject: Subject) -> int:
    return crc32(f"{subject.kind}/{subject.id}".encode()) % SLOTS


# The log


def append(tx: Transaction, new: NewEvent, verdict: Verdict) -> Published | None:
    """Append an event; None when its id is in the log already, of which ``first_answer`` knows the rest."""
    row = tx.one(
        SQL.insert_event,
        {
            "id": new.id,
            "topic": new.topic,
            "kind": new.subject.kind,
            "subject": new.subject.id,
            "slot": slot_of(new.subject),
            "source": new.source,
            "time": new.time,
            "at": new.at,
            "version": new.version,
            "cause": new.cause,
            "generation": verdict.generation,
            "applied": None if verdict.applied is None else int(verdict.applied),
            "reason": verdict.reason,
            "data": seal(tx, new.data),
        },
    )
    if row is None:
        return None
    return Published(
        id=new.id, topic=new.topic, subject=new.subject.id, position=row[0], sequence=row[1], job=new.subject.kind,
        generation=verdict.generation, applied=verdict.applied, reason=verdict.reason,
    )  # fmt: skip


def first_answer(reader: Reader, event_id: str) -> Published | None:
    """What was answered when this id was published, if it was."""
    found = event_by_id(reader, event_id)
    if found is None:
        return None
    return Published(
        id=found.id, topic=found.topic, subject=found.subject.id, position=found.position, sequence=found.sequence, job=found.subject.kind,
        generation=found.generation, applied=found.applied, reason=found.reason, duplicate=True,
    )  # fmt: skip


def record_of(reader: Reader, row: Row) -> EventRecord:
    (
        position,
        id,
        topic,
        kind,
        subject,
        sequence,
        source,
        time,
        at,
        version,
        cause,
        generation,
        applied,
        reason,
        data,
    ) = row
    return EventRecord(
        position=position, id=id, topic=topic, subject=Subject(kind, subject), sequence=sequence, source=source, time=time, at=at,
        version=version, cause=cause, generation=generation, applied=None if applied is None else bool(applied), reason=reason,
        data=unseal(reader, data) or b"null",
    )  # fmt: skip


def event_by_id(reader: Reader, event_id: str) -> EventRecord | None:
    row = reader.one(SQL.event_by_id, {"id": event_id})
    return None if row is None else record_of(reader, row)


def event_at(reader: Reader, position: int) -> EventRecord | None:
    row = reader.one(SQL.event_at, {"pos": position})
    return None if row is None else record_of(reader, row)


def last_position(reader: Reader) -> int:
    row = reader.one(SQL.last_position)
    return 0 if row is None else int(row[0])


def position_at(reader: Reader, at: Instant) -> int:
    """The last position before a moment; what is replayed from there on begins with it."""
    row = reader.one(SQL.position_at, {"at": at})
    return 0 if row is None else int(row[0])


def scan(reader: Reader, after: int, count: int) -> list[tuple[int, str, Subject, int]]:
    """Position, topic, subject and slot of what comes next in the log."""
    rows = reader.all(SQL.scan, {"after": after, "count": count})
    return [(pos, topic, Subject(kind, subject), slot) for pos, topic, kind, subject, slot in rows]


def events_after(reader: Reader, after: int, *, until: int = 2**62, count: int = 100) -> list[EventRecord]:
    return [
        record_of(reader, row) for row in reader.all(SQL.events_after, {"after": after, "until": until, "count": count})
    ]


def newest_events(
    reader: Reader, *, pattern: str | None = None, before: int | None = None, count: int = 100
) -> list[EventRecord]:
    """Events of a topic or a pattern, the newest first."""
    place: dict[str, SqlValue] = {"before": before if before is not None else 2**62, "count": count}
    if pattern is None or pattern == "#":
        return [record_of(reader, row) for row in reader.all(SQL.events_before, place)]
    if "*" not in pattern and "#" not in pattern:
        return [record_of(reader, row) for row in reader.all(SQL.events_of_topic, place | {"topic": pattern})]
    return _search_back(reader, pattern, place, count)


def _search_back(reader: Reader, pattern: str, place: dict[str, SqlValue], count: int) -> list[EventRecord]:
    found: list[EventRecord] = []
    while len(found) < count:
        rows = reader.all(SQL.events_before, place | {"count": _PAGE})
        found += [record_of(reader, row) for row in rows if matches(pattern, row[2])]
        if len(rows) < _PAGE:
            break
        place["before"] = rows[-1][0]
    return found[:count]


def count_matching(reader: Reader, patterns: tuple[str, ...], *, after: int, until: int) -> int:
    """How many events of these patterns a range of the log has."""
    number = 0
    while rows := scan(reader, after, _PAGE):
        number += sum(position <= until and matches_any(patterns, topic) for position, topic, _, _ in rows)
        after = rows[-1][0]
        if after >= until:
            break
    return number


def history_of(
    reader: Reader, subject: Subject, *, after: int | None = None, before: int | None = None, count: int = 100
) -> list[EventRecord]:
    """The events of a subject: the oldest first behind ``after``, otherwise the newest first."""
    place: dict[str, SqlValue] = {"kind": subject.kind, "subject": subject.id, "count": count}
    if after is not None:
        rows = reader.all(SQL.history_after, place | {"after": after})
    else:
        rows = reader.all(SQL.history_before, place | {"before": before if before is not None else 2**62})
    return [record_of(reader, row) for row in rows]


def count_history(reader: Reader, subject: Subject) -> int:
    row = reader.one(SQL.count_history, {"kind": subject.kind, "subject": subject.id})
    return 0 if row is None else int(row[0])


# Runs that wait


def first_match(reader: Reader, wait: Wait) -> EventRecord | None:
    """The first event in the log that a run waits for."""
    position = _first_position(reader, wait)
    return None if position is None else event_at(reader, position)


def _first_position(reader: Reader, wait: Wait) -> int | None:
    if wait.subject is not None:
        return _first_of_subject(reader, wait, wait.subject)
    if "*" not in wait.topic and "#" not in wait.topic:
        row = reader.one(SQL.topic_after, {"topic": wait.topic, "after": wait.after})
        return None if row is None else int(row[0])
    after = wait.after
    while rows := scan(reader, after, _PAGE):
        for position, topic, _, _ in rows:
            if matches(wait.topic, topic):
                return position
        after = rows[-1][0]
    return None


def _first_of_subject(reader: Reader, wait: Wait, subject: Subject) -> int | None:
    after = wait.after
    place: dict[str, SqlValue] = {"kind": subject.kind, "subject": subject.id, "until": 2**62, "count": _PAGE}
    while rows := reader.all(SQL.subject_after, place | {"after": after}):
        for position, topic in rows:
            if matches(wait.topic, topic):
                return int(position)
        after = rows[-1][0]
    return None


# Subscriptions


def open_cursors(tx: Transaction, subscription: str, *, parts: int, beginning: bool, at: Instant) -> list[Cursor]:
    """The cursors of a subscription, made where they are not there; a new one begins at the end of the log, or at its beginning."""
    found = cursors_of(tx, subscription)
    if len(found) != parts:
        start = min((cursor.position for cursor in found), default=0 if beginning else last_position(tx))
        for part in range(parts):
            tx.run(SQL.make_cursor, {"subscription": subscription, "part": part, "pos": start, "at": at})
        if found:
            tx.run(SQL.drop_parts, {"subscription": subscription, "parts": parts})
            tx.run(SQL.set_cursor, {"subscription": subscription, "pos": start, "at": at})
            pause_subscription(tx, subscription, paused=found[0].paused)
        found = cursors_of(tx, subscription)
    return found


def make_replay(tx: Transaction, name: str, *, parts: int, after: int, until: int, at: Instant) -> list[Cursor]:
    """The cursors of a replay; one of a paused subscription waits with it."""
    paused = any(cursor.paused for cursor in cursors_of(tx, base_name(name)))
    for part in range(parts):
        tx.run(
            SQL.make_replay,
            {"subscription": name, "part": part, "pos": after, "stop_at": until, "at": at, "paused": int(paused)},
        )
    return cursors_of(tx, name)


def pause_subscription(tx: Transaction, subscription: str, *, paused: bool) -> None:
    tx.run(
        SQL.pause_subscription,
        {"subscription": subscription, "replays": subscription + REPLAY_MARK, "paused": int(paused)},
    )


def drop_subscription(tx: Transaction, subscription: str, at: Instant) -> None:
    """It reads no more; its dead letters stay, dismissed."""
    place: dict[str, SqlValue] = {"subscription": subscription, "replays": subscription + REPLAY_MARK}
    tx.run(SQL.drop_cursors, place)
    tx.run(SQL.drop_held, place)
    tx.run(SQL.dismiss_letters, {"subscription": subscription, "at": at})


def cursors_of(reader: Reader, subscription: str) -> list[Cursor]:
    return [_cursor(row) for row in reader.all(SQL.cursors_of, {"subscription": subscription})]


def all_cursors(reader: Reader) -> dict[str, list[Cursor]]:
    """The cursors of all subscriptions and replays, by name."""
    found: dict[str, list[Cursor]] = {}
    for row in reader.all(SQL.all_cursors):
        found.setdefault(row[0], []).append(_cursor(row))
    return found


def count_held(reader: Reader) -> dict[str, int]:
    """How many events each subscription holds for another attempt."""
    return {row[0]: row[1] for row in reader.all(SQL.count_held)}


def count_dead(reader: Reader) -> dict[str, int]:
    """How many dead letters each subscription has."""
    return {row[0]: row[1] for row in reader.all(SQL.count_dead)}


def _cursor(row: Row) -> Cursor:
    subscription, part, position, paused, fence, stop_at = row
    return Cursor(
        subscription=subscription, part=part, position=position, paused=bool(paused), fence=fence, stop_at=stop_at
    )


def check_fence(tx: Transaction, cursor: Cursor) -> None:
    """Nothing may be written by whoever has lost the part to another process."""
    row = tx.one(SQL.lock_cursor, {"subscription": cursor.subscription, "part": cursor.part})
    if row is None or row[0] != cursor.fence:
        raise PartLost(f"part {cursor.part} of subscription {cursor.subscription!r} has gone to another process")


def move_cursor(tx: Transaction, cursor: Cursor, position: int, at: Instant) -> None:
    tx.run(
        SQL.move_cursor,
        {"subscription": cursor.subscription, "part": cursor.part, "fence": cursor.fence, "pos": position, "at": at},
    )


def hold(tx: Transaction, subscription: str, held: Held) -> None:
    tx.run(
        SQL.hold,
        {
            "subscription": subscription,
            "kind": held.subject.kind,
            "subject": held.subject.id,
            "pos": held.position,
            "attempt": held.attempt,
            "next_at": held.next_at,
            "error": seal(tx, held.error),
            "alone": int(held.alone),
            "begun_at": held.begun_at,
        },
    )


def release(tx: Transaction, subscription: str, position: int) -> bool:
    """An event is held no more; False when it was not."""
    return tx.run(SQL.release, {"subscription": subscription, "pos": position}) > 0


def is_held(reader: Reader, subscription: str, subject: Subject) -> bool:
    """Whether events of a subject wait behind one that is tried again."""
    found = reader.one(SQL.is_held, {"subscription": subscription, "kind": subject.kind, "subject": subject.id})
    return found is not None


def held_of(reader: Reader, subscription: str) -> list[Held]:
    return [
        Held(Subject(kind, subject), position, attempt, next_at, unseal(reader, error), bool(alone), begun_at)
        for kind, subject, position, attempt, next_at, error, alone, begun_at in reader.all(
            SQL.held_of, {"subscription": subscription}
        )
    ]


def next_of_subject(
    reader: Reader, subject: Subject, patterns: tuple[str, ...], *, after: int, until: int
) -> int | None:
    """The next event of a subject that a subscription has to handle."""
    place: dict[str, SqlValue] = {"kind": subject.kind, "subject": subject.id, "until": until, "count": _PAGE}
    while rows := reader.all(SQL.subject_after, place | {"after": after}):
        for position, topic in rows:
            if any(matches(pattern, topic) for pattern in patterns):
                return int(position)
        after = rows[-1][0]
    return None


def bury(tx: Transaction, subscription: str, position: int, *, attempts: int, error: bytes, at: Instant) -> int:
    row = tx.one(
        SQL.bury,
        {"subscription": subscription, "pos": position, "attempts": attempts, "error": seal(tx, error), "at": at},
    )
    assert row is not None
    return int(row[0])


# Dead letters


def dead_letters(
    reader: Reader,
    *,
    subscription: str | None = None,
    state: str | None = "dead",
    before: int | None = None,
    count: int = 100,
) -> list[DeadLetter]:
    rows = reader.all(
        SQL.dead_letters,
        {
            "subscription": subscription,
            "state": state,
            "before": before if before is not None else 2**62,
            "count": count,
        },
    )
    return [_letter(reader, row) for row in rows]


def all_dead(reader: Reader, subscription: str | None = None) -> Iterator[DeadLetter]:
    before: int | None = None
    while page := dead_letters(reader, subscription=subscription, before=before, count=_PAGE):
        yield from page
        before = page[-1].pk


def dead_letter(reader: Reader, pk: int) -> DeadLetter | None:
    row = reader.one(SQL.dead_letter, {"pk": pk})
    return None if row is None else _letter(reader, row)


def _letter(reader: Reader, row: Row) -> DeadLetter:
    pk, subscription, attempts, error, first_at, at, state, redriven_at = row[:8]
    return DeadLetter(
        pk=pk, subscription=subscription, event=record_of(reader, row[8:]), attempts=attempts, error=unseal(reader, error) or b"{}", first_at=first_at, at=at,
        state=state, redriven_at=redriven_at,
    )  # fmt: skip
