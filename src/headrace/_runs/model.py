"""Runs and what is recorded of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from headrace._base.clock import Instant


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    BLOCKED = "blocked"
    QUARANTINED = "quarantined"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    REPLACED = "replaced"

    @property
    def is_open(self) -> bool:
        return self in OPEN


OPEN = frozenset(
    {RunState.QUEUED, RunState.RUNNING, RunState.WAITING, RunState.BLOCKED, RunState.QUARANTINED, RunState.CANCELLING}
)
SET_ASIDE = frozenset({RunState.BLOCKED, RunState.QUARANTINED})
"""Open, but not going on before a person or new code helps."""


class Kind(StrEnum):
    """What a journal row is about."""

    STEP = "step"
    TIMER = "timer"
    CHILD = "child"
    START = "start"
    SEND = "send"
    RECEIVE = "receive"
    PUBLISH = "publish"
    EVENT = "event"
    PATCH = "patch"
    CANCEL = "cancel"
    DEADLINE = "deadline"


class Outcome(StrEnum):
    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    MARK = "mark"
    """No completion: a trace that a command was begun."""


OUTSIDE = -1
"""The command number of what was done to the run, not by it."""


class JournalRow(NamedTuple):
    seq: int
    command: int
    kind: str
    name: str
    arguments: bytes | None
    outcome: str
    value: bytes | None
    attempt: int
    started_at: Instant
    at: Instant


class EventWait(Protocol):
    """What a run waits for: the next event of a topic or pattern, of one subject if given, behind a position."""

    @property
    def topic(self) -> str: ...
    @property
    def subject(self) -> tuple[str, str] | None: ...
    @property
    def after(self) -> int: ...


class Attempt(NamedTuple):
    command: int
    attempt: int
    name: str
    error: bytes
    started_at: Instant
    at: Instant
    next_at: Instant | None


class JobOfRun(NamedTuple):
    """The job that a run works for. ``owner``: the end of the run is told as an event of the job."""

    kind: str
    id: str
    generation: int
    owner: bool


class Progress(NamedTuple):
    """The last word of a step under way."""

    command: int
    value: bytes
    at: Instant


class Message(NamedTuple):
    pk: int
    topic: str
    value: bytes
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One row of the table of runs."""

    pk: int
    id: str
    number: int
    flow: str
    state: RunState
    reason: str
    location: str
    since_at: Instant
    next_at: Instant | None
    input: bytes
    result: bytes | None
    error: bytes | None
    seed: int
    parent: int | None
    deadline_at: Instant | None
    cancel_at: Instant | None
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    continued_as: int | None
    begun_at_pos: int = 0
    job: JobOfRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """What is needed to begin a run."""

    id: str
    flow: str
    input: bytes
    seed: int
    state: RunState
    at: Instant
    deadline_at: Instant | None = None
    parent: int | None = None
    begun_at_pos: int | None = None
    """Where its waits for events begin; None: where the log ends now."""
    job: JobOfRun | None = None


class Seen(NamedTuple):
    """What a flow knows that goes on as a new run; the rest must reach the new one."""

    seq: int
    """The last row of the journal that entered it."""
    returned: tuple[Message, ...]
    """Messages that came for a receive that was given up in the same moment."""
    cancel: bool
    """Whether it was told that it shall stop."""


class Begun(NamedTuple):
    """The run that a start found or made."""

    pk: int
    id: str
    number: int
    state: RunState
    created: bool
    replaced: Replaced | None = None
    begun_at_pos: int = 0


class Ending(NamedTuple):
    """What the end of a run has to be told to: (waiter, command) pairs of runs that waited for it, and the job that it worked for."""

    waiters: list[tuple[int, int]]
    job: JobOfRun | None = None


class Replaced(NamedTuple):
    """The run that had to go for another one of its id."""

    pk: int
    ending: Ending
    told: Any = None
    """What was published with it, in the engine's words."""
