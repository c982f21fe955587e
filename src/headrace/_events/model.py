"""Events: immutable facts in the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

from headrace._base.clock import Instant

D = TypeVar("D")

SLOTS = 64
"""Subjects are spread over so many slots; the parts of a subscription share them."""


class Subject(NamedTuple):
    """What an event is about. ``kind`` is the name of a lifecycle where it is a job, and empty otherwise."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.id}" if self.kind else self.id


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """What a publisher says."""

    id: str
    topic: str
    subject: Subject
    data: bytes
    source: str
    time: Instant
    version: int
    cause: str
    at: Instant
    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """One row of the log."""

    position: int
    id: str
    topic: str
    subject: Subject
    sequence: int
    source: str
    time: Instant
    at: Instant
    version: int
    cause: str
    generation: int | None
    applied: bool | None
    reason: str
    data: bytes


class Verdict(NamedTuple):
    """What an event did to its job: moved it, or was kept with the reason why it did not. ``applied`` None: its subject is no job."""

    applied: bool | None = None
    reason: str = ""
    generation: int | None = None


@dataclass(frozen=True, kw_only=True)
class Event(Generic[D]):
    """An immutable fact: what happened (``topic``), to what (``subject``), and the details (``data``).

    ``position`` orders all events, ``sequence`` those of one subject. Where the subject is a job, ``job`` names its lifecycle and
    ``applied`` tells whether the event moved the job; if not, ``reason`` says why.
    """

    id: str
    topic: str
    subject: str
    data: D
    source: str
    time: datetime
    version: int = 1
    position: int
    sequence: int
    job: str = ""
    generation: int | None = None
    applied: bool | None = None
    reason: str = ""
    cause: str = ""
    recorded_at: datetime


@dataclass(frozen=True, kw_only=True)
class Published:
    """Where an event went. ``duplicate``: its id had been published before, and this is the answer of then."""

    id: str
    topic: str
    subject: str
    position: int
    sequence: int
    job: str = ""
    generation: int | None = None
    applied: bool | None = None
    reason: str = ""
    duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An event that a subscription could not handle, with the cause."""

    pk: int
    subscription: str
    event: EventRecord
    attempts: int
    error: bytes
    first_at: Instant
    at: Instant
    state: str
    redriven_at: Instant | None


@dataclass(frozen=True, slots=True)
class Held:
    """A subject of a subscription that waits: for the next attempt at one event, and all later ones behind it.

    ``alone``: a dead letter that is tried again; nothing waits behind it.
    """

    subject: Subject
    position: int
    attempt: int
    next_at: Instant
    error: bytes | None
    alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far one part of a subscription is: everything up to ``position`` is handled, held or dead."""

    subscription: str
    part: int
    position: int
    paused: bool = False
    fence: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A run waits for an event after a certain position."""

    run: int
    command: int
    topic: str
    subject: Subject | None
    after: int = field(default=0)
