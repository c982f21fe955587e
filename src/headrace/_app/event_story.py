"""One event and what became of it, and the story of a subject: how its job moved, and how long each thing took."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from headrace._app.event_questions import event_named, history_page
from headrace._app.event_view import EventView, HistoryPage
from headrace._base.clock import to_datetime
from headrace._events.model import Subject
from headrace._events.store import SQL, all_cursors
from headrace._events.topic import matches_any
from headrace._jobs.lifecycle import Lifecycle
from headrace._jobs.travel import Leg, travelled
from headrace._ports.database import Reader, SqlValue
from headrace._store.statements import load

if TYPE_CHECKING:
    from headrace._authoring.trigger import Trigger

_LISTING = load("headrace._events", "listing.sql")

FOLLOWED = 5_000
"""How many events of a job are followed to tell the states in between."""

Fate = Literal["passed", "held", "dead", "redriven", "handled", "dismissed", "to come"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a subscription made of an event. ``letter`` is the id of its dead letter, if there was one."""

    subscription: str
    target: str
    fate: Fate
    letter: int | None = None
    attempt: int = 0
    next_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Causation:
    """The run, and the place in it, that published an event."""

    run_id: str
    number: int
    command: int | None


@dataclass(frozen=True, kw_only=True)
class EventStory:
    event: EventView
    cause: Causation | None
    leg: Leg | None
    readings: tuple[Reading, ...]
    earlier: EventView | None
    later: EventView | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An event in the history of its subject; ``gap`` is the time since the one before."""

    event: EventView
    leg: Leg | None
    gap: timedelta | None


@dataclass(frozen=True, kw_only=True)
class SubjectStory:
    """The events of a subject, the newest first. ``kinds`` are the lifecycles that have a job of this id; empty: no job."""

    page: HistoryPage
    entries: tuple[Entry, ...]
    kinds: tuple[str, ...]


def event_story(
    reader: Reader,
    event_id: str,
    *,
    triggers: Mapping[str, Trigger],
    lifecycles: Mapping[str, Lifecycle[Any]],
    reached: Callable[[str], int | None] = lambda _: None,
) -> EventStory:
    event = event_named(reader, event_id)
    subject = Subject(event.job, event.subject)
    earlier = history_page(reader, subject, before=event.sequence, count=1).events
    later = history_page(reader, subject, after=event.sequence, count=1).events
    return EventStory(
        event=event,
        cause=causation(event.cause),
        leg=legs_of(reader, subject, lifecycles).get(event.sequence),
        readings=_readings(reader, event, triggers, reached),
        earlier=earlier[0] if earlier else None,
        later=later[0] if later else None,
    )


def causation(cause: str) -> Causation | None:
    """Where an event comes from, as the key of a step or command tells: ``run/number/command``, with more behind it for a step."""
    run_id, number, command = ["", "", *cause.rsplit("/", 2)][-3:]
    if not run_id or not number.isdigit():
        return None
    return Causation(run_id=run_id, number=int(number), command=int(command) if command.isdigit() else None)


def subject_story(
    reader: Reader,
    id: str,
    kind: str,
    *,
    lifecycles: Mapping[str, Lifecycle[Any]],
    before: int | None = None,
    count: int = 50,
) -> SubjectStory:
    """A subject by its id; ``kind`` chooses among the jobs of this id, and is passed over where there is none."""
    kinds = tuple(found for (found,) in reader.all(SQL.kinds_of_subject, {"subject": id}))
    subject = Subject(kind if kind in kinds or not kinds else kinds[-1], id)
    page = history_page(reader, subject, before=before, count=count + 1)
    legs = legs_of(reader, subject, lifecycles)
    entries = [
        Entry(event=event, leg=legs.get(event.sequence), gap=None if older is None else event.time - older.time)
        for event, older in zip(page.events, (*page.events[1:], None), strict=False)
    ]
    more = len(entries) > count
    return SubjectStory(
        page=HistoryPage(
            subject=id,
            job=subject.kind,
            event_count=page.event_count,
            events=page.events[:count],
            next=page.events[count - 1].sequence if more else None,
        ),
        entries=tuple(entries[:count]),
        kinds=kinds,
    )


def legs_of(reader: Reader, subject: Subject, lifecycles: Mapping[str, Lifecycle[Any]]) -> Mapping[int, Leg]:
    """From which state each event of a job led to which, as the lifecycle that is loaded tells; nothing for what is no job."""
    lifecycle = lifecycles.get(subject.kind)
    if lifecycle is None:
        return {}
    place: dict[str, SqlValue] = {"kind": subject.kind, "subject": subject.id, "count": FOLLOWED}
    return travelled(lifecycle, reader.all(_LISTING.moves_of_subject, place))


def _readings(
    reader: Reader, event: EventView, triggers: Mapping[str, Trigger], reached: Callable[[str], int | None]
) -> tuple[Reading, ...]:
    cursors = all_cursors(reader)
    found = []
    for name, trigger in triggers.items():
        if matches_any(trigger.patterns, event.topic) and name in cursors:
            position = max(min(cursor.position for cursor in cursors[name]), reached(name) or 0)
            found.append(_reading(reader, event, name, trigger, is_passed=position >= event.position))
    return tuple(found)


def _reading(reader: Reader, event: EventView, name: str, trigger: Trigger, *, is_passed: bool) -> Reading:
    flow, handler = trigger.flow, trigger.handler
    target = f"flow {flow.name}" if flow is not None else f"handler {handler.name}" if handler is not None else ""
    place: dict[str, SqlValue] = {"subscription": name, "pos": event.position}
    held = reader.one(_LISTING.held_event, place)
    letter = reader.one(_LISTING.letter_of_event, place)
    if held is not None:
        return Reading(
            subscription=name,
            target=target,
            fate="held",
            letter=None if letter is None else letter[0],
            attempt=held[0],
            next_at=to_datetime(held[1]),
        )
    if letter is not None:
        return Reading(subscription=name, target=target, fate=letter[1], letter=letter[0])
    return Reading(subscription=name, target=target, fate="passed" if is_passed else "to come")
