"""What people and programs see of events, jobs and subscriptions: the same values in Python, over HTTP and in ``--json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headrace._app.view import ErrorText, Json, RunName, read_json
from headrace._base.clock import to_datetime
from headrace._events.model import Cursor, DeadLetter, Event, EventRecord
from headrace._events.schema import Topics, raw_event
from headrace._jobs.model import JobRecord
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace._authoring.trigger import Trigger


@dataclass(frozen=True, kw_only=True)
class EventView:
    """An event as it stands in the log. Where its subject is a job, ``applied`` says whether it moved the job, and ``reason`` why not."""

    id: str
    topic: str
    subject: str
    job: str
    sequence: int
    position: int
    source: str
    time: datetime
    recorded_at: datetime
    version: int
    cause: str
    generation: int | None
    applied: bool | None
    reason: str
    data: Json

    @staticmethod
    def of(record: EventRecord) -> EventView:
        return EventView(
            id=record.id,
            topic=record.topic,
            subject=record.subject.id,
            job=record.subject.kind,
            sequence=record.sequence,
            position=record.position,
            source=record.source,
            time=to_datetime(record.time),
            recorded_at=to_datetime(record.at),
            version=record.version,
            cause=record.cause,
            generation=record.generation,
            applied=record.applied,
            reason=record.reason,
            data=read_json(record.data),
        )


@dataclass(frozen=True, kw_only=True)
class EventPage:
    """Events, the newest first; ``next`` is the cursor of the page that follows, if there is one."""

    events: tuple[EventView, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class HistoryPage:
    """The events of one subject. ``event_count`` counts all of them, not only those of the page; ``next`` is a sequence number."""

    subject: str
    job: str
    event_count: int
    events: tuple[EventView, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class TopicView:
    """A topic in the log."""

    topic: str
    events: int
    last_at: datetime


@dataclass(frozen=True, kw_only=True)
class JobView:
    """How a job is at this moment. ``generation``: 1, and one more for each retry."""

    lifecycle: str
    id: str
    state: str
    terminal: bool
    generation: int
    created_at: datetime
    updated_at: datetime
    data: Json

    @staticmethod
    def of(record: JobRecord) -> JobView:
        return JobView(
            lifecycle=record.subject.kind,
            id=record.subject.id,
            state=record.state,
            terminal=record.terminal,
            generation=record.generation,
            created_at=to_datetime(record.created_at),
            updated_at=to_datetime(record.updated_at),
            data=read_json(record.data),
        )


@dataclass(frozen=True, kw_only=True)
class JobPage:
    """Jobs, the one that moved last first; ``next`` is the cursor of the page that follows, if there is one."""

    jobs: tuple[JobView, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class JobDetail:
    """A job, its newest events, and the runs that worked for it."""

    job: JobView
    history: HistoryPage
    runs: tuple[RunName, ...]


@dataclass(frozen=True, kw_only=True)
class SubscriptionView:
    """How far a subscription is. ``behind``: positions of the log that it has not passed; not all of them concern it.

    ``trouble``: why nothing of it goes on although nobody has paused it.
    """

    name: str
    target: str
    topics: tuple[str, ...]
    position: int
    behind: int
    parts: int
    working: int
    held: int
    dead: int
    paused: bool
    replay: bool
    declared: bool
    trouble: str

    @staticmethod
    def of(
        cursors: Sequence[Cursor],
        *,
        trigger: Trigger | None,
        held: int,
        dead: int,
        end: int,
        reached: int | None,
        working: int,
        trouble: str,
    ) -> SubscriptionView:
        position, until = max(min(cursor.position for cursor in cursors), reached or 0), cursors[0].stop_at
        target = "" if trigger is None else _target(trigger)
        return SubscriptionView(
            name=cursors[0].subscription,
            target=target,
            topics=() if trigger is None else trigger.patterns,
            position=position,
            behind=max(0, (end if until is None else min(end, until)) - position),
            parts=len(cursors),
            working=working,
            held=held,
            dead=dead,
            paused=cursors[0].paused,
            replay=until is not None,
            declared=trigger is not None,
            trouble=trouble,
        )


def _target(trigger: Trigger) -> str:
    if trigger.flow is not None:
        return f"flow {trigger.flow.name}"
    if trigger.leaves_for:
        return trigger.leaves_for
    return f"handler {trigger.handler.name}" if trigger.handler is not None else ""


@dataclass(frozen=True, kw_only=True)
class DeadLetterView:
    """An event that a subscription could not handle, with the cause."""

    id: int
    subscription: str
    event: Event[Any]
    attempts: int
    error: ErrorText
    state: str
    first_at: datetime
    at: datetime
    redriven_at: datetime | None

    @staticmethod
    def of(letter: DeadLetter, topics: Topics) -> DeadLetterView:
        try:
            event = topics.event(letter.event)
        except HeadraceError:  # perhaps the very reason why it is dead
            event = raw_event(letter.event)
        return DeadLetterView(
            id=letter.pk,
            subscription=letter.subscription,
            event=event,
            attempts=letter.attempts,
            error=ErrorText.of(letter.error),
            state=letter.state,
            first_at=to_datetime(letter.first_at),
            at=to_datetime(letter.at),
            redriven_at=None if letter.redriven_at is None else to_datetime(letter.redriven_at),
        )


@dataclass(frozen=True, kw_only=True)
class PlainDeadLetter:
    """The same, with the event as it stands in the log."""

    id: int
    subscription: str
    event: EventView
    attempts: int
    error: ErrorText
    state: str
    first_at: datetime
    at: datetime
    redriven_at: datetime | None

    @staticmethod
    def of(letter: DeadLetter) -> PlainDeadLetter:
        return PlainDeadLetter(
            id=letter.pk,
            subscription=letter.subscription,
            event=EventView.of(letter.event),
            attempts=letter.attempts,
            error=ErrorText.of(letter.error),
            state=letter.state,
            first_at=to_datetime(letter.first_at),
            at=to_datetime(letter.at),
            redriven_at=None if letter.redriven_at is None else to_datetime(letter.redriven_at),
        )


@dataclass(frozen=True, kw_only=True)
class DeadLetterPage:
    """Dead letters, the newest first; ``next`` is the cursor of the page that follows, if there is one."""

    letters: tuple[PlainDeadLetter, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class ReplayView:
    """What is given to a subscription once more. ``name`` is that of the replay, empty for a dry run."""

    subscription: str
    name: str
    events: int
