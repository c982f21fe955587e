"""Runs and what is recorded of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

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


class Attempt(NamedTuple):
    command: int
    attempt: int
    name: str
    error: bytes
    started_at: Instant
    at: Instant
    next_at: Instant | None


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
    replaced: int | None = None
