"""What people and programs see of subscriptions and of what they could not handle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from headrace._app.view import ErrorText
from headrace._authoring.trigger import Trigger
from headrace._base.clock import to_datetime
from headrace._events.model import Cursor, DeadLetter, Event
from headrace._events.schema import Topics, raw_event
from headrace.errors import HeadraceError


@dataclass(frozen=True, kw_only=True)
class SubscriptionView:
    """How far a subscription is. ``behind``: positions of the log that it has not passed; not all of them concern it."""

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
    ) -> SubscriptionView:
        position = max(min(cursor.position for cursor in cursors), reached or 0)
        target = "" if trigger is None else _target(trigger)
        return SubscriptionView(
            name=cursors[0].subscription,
            target=target,
            topics=() if trigger is None else trigger.patterns,
            position=position,
            behind=max(0, end - position),
            parts=len(cursors),
            working=working,
            held=held,
            dead=dead,
            paused=cursors[0].paused,
            replay=cursors[0].stop_at is not None,
            declared=trigger is not None,
        )


def _target(trigger: Trigger) -> str:
    if trigger.flow is not None:
        return f"flow {trigger.flow.name}"
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
class ReplayView:
    """What is given to a subscription once more. ``name`` is that of the replay, empty for a dry run."""

    subscription: str
    name: str
    events: int
