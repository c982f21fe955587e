"""Events: immutable facts in the log."""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, NamedTuple, TypeVar
from uuid import UUID

from headrace._base.clock import Instant
from headrace._events.topic import matches
from headrace.errors import ValueRefused

D = TypeVar("D")

MAX_NAME = 500
NAME = r"^[^\x00-\x20\x7f-\xa0]([^\x00-\x1f\x7f-\x9f]*[^\x00-\x20\x7f-\xa0])?$"
SLOTS = 64
"""Subjects are spread over so many slots; the parts of a subscription share them."""
REPLAY_MARK = "~"
"""Between the name of a subscription and the number of a replay to it."""


class PartLost(Exception):
    """A part of a subscription has gone to another process: what this one wanted to write about it is refused. It never leaves the engine."""


class Subject(NamedTuple):
    """What an event is about. ``kind`` is the name of a lifecycle where it is a job, and empty otherwise."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.id}" if self.kind else self.id


def check_name(text: str, what: str) -> str:
    """An id that people can read, in one line."""
    if len(text) > MAX_NAME or re.fullmatch(NAME, text) is None:
        raise ValueRefused(
            f"{text[:80]!r} cannot be {what}: use 1 to {MAX_NAME} characters, no control characters, no spaces at the ends"
        )
    return text


_NOISE: Final = 0x0FFF_3FFF_FFFF_FFFF_FFFF
_VERSION_7: Final = 0x7000_8000_0000_0000_0000

# Its own, so that a program that seeds the module's generator does not give an id twice. Not the system's: to ask that for every event
# is to stand in line for the interpreter behind the writer.
_chance = random.Random()
os.register_at_fork(after_in_child=_chance.seed)


def make_event_id(at: Instant) -> str:
    """An id for an event that was given none: a UUID of version 7.

    It begins with the time, so new ids stand at the end of the index; random ones touch another page of it each, and every touched page
    is written with the commit.
    """
    return str(UUID(int=(at // 1_000) << 80 | _VERSION_7 | _chance.getrandbits(80) & _NOISE))


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

    ``alone``: a dead letter that is tried again; nothing waits behind it. ``begun_at``: when its first attempt began.
    """

    subject: Subject
    position: int
    attempt: int
    next_at: Instant
    error: bytes | None
    alone: bool
    begun_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far one part of a subscription is: everything up to ``position`` is handled, held or dead."""

    subscription: str
    part: int
    position: int
    paused: bool = False
    fence: int = 0
    stop_at: int | None = None


def base_name(name: str) -> str:
    """The subscription that a replay belongs to, or the subscription itself."""
    return name.partition(REPLAY_MARK)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a reader of the log waits for: the next event of a topic or pattern, of one subject if given, behind a position."""

    topic: str
    subject: Subject | None
    after: int

    def is_met_by(self, published: Published) -> bool:
        return (
            self.after < published.position
            and matches(self.topic, published.topic)
            and (self.subject is None or self.subject == (published.job, published.subject))
        )
