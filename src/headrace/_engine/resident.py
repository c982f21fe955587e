"""A run that is in memory."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any, NamedTuple

from headrace._base.clock import Instant
from headrace._engine.machine import Command, Replay, RunMachine
from headrace._engine.timers import Entry
from headrace._events.model import Wait
from headrace._runs.model import Attempt, JournalRow, Message, RunRecord, RunState


class Child(NamedTuple):
    """A run that a flow waits for; only its own one is cancelled with it."""

    id: str
    own: bool


class Shown(NamedTuple):
    """What the table of runs says about an open run."""

    state: RunState
    reason: str
    next_at: Instant | None
    location: str


GOING = Shown(RunState.RUNNING, "", None, "")


class UnderWay(NamedTuple):
    """Something that a run asked for and that has not been answered; ``due`` is when a timer or the next attempt is."""

    command: int
    kind: str
    name: str
    attempt: int
    started_at: Instant
    due: Instant | None = None
    active: bool = False


class Resident:
    def __init__(self, record: RunRecord, machine: RunMachine, pipeline: str) -> None:
        self.pk = record.pk
        self.id = record.id
        self.number = record.number
        self.flow = record.flow
        self.pipeline = pipeline
        self.seed = record.seed
        self.parent = record.parent
        self.deadline_at = record.deadline_at
        self.job = record.job
        self.machine = machine
        self.replay: Replay | None = None
        self.seq = 0
        self.seq_settled = 0
        self.last_at: Instant = record.started_at or record.created_at
        self.shown = Shown(record.state, record.reason, record.next_at, record.location)
        self.arrived: deque[tuple[JournalRow, tuple[Any, ...]]] = deque()
        self.writing = 0
        self.queued = False
        self.gone = False
        self.cancel_sent = False
        self.cancel_wanted = False
        self.fresh = False
        self.executions: dict[int, Any] = {}
        self.attempts: dict[int, list[Attempt]] = {}
        self.progress: dict[int, bytes] = {}
        self.timers: dict[int, Entry] = {}
        self.deadline: Entry | None = None
        self.children: dict[int, Child] = {}
        self.event_waits: dict[int, Wait] = {}
        self.receives: dict[str, deque[Command]] = {}
        self.inbox: defaultdict[str, deque[Message]] = defaultdict(deque)
        self.lent: defaultdict[str, int] = defaultdict(int)
        self.last_message = 0

    def key_of(self, ordinal: int) -> str:
        return f"{self.id}/{self.number}/{ordinal}"

    @property
    def is_going(self) -> bool:
        """Whether the file says that this run is going on, so that a restart finds it at once."""
        return self.shown.state is RunState.RUNNING

    @property
    def is_busy(self) -> bool:
        """Whether something is under way that will come back by itself."""
        return bool(self.writing or self.arrived or self.queued or self.is_working)

    @property
    def is_working(self) -> bool:
        return any(call.is_active for call in self.executions.values())

    def doing(self) -> str:
        working = [
            f"step {call.command.name!r}, attempt {call.number}" for call in self.executions.values() if call.is_active
        ]
        return ", ".join(working[:3]) or self.waiting_for().reason

    def under_way(self) -> list[UnderWay]:
        """What the flow has asked for and not been answered, as far as it is not on its way to the disk."""
        return [self._under_way(command) for command in self.machine.open_commands()]

    def _under_way(self, command: Command) -> UnderWay:
        call = self.executions.get(command.ordinal)
        timer = self.timers.get(command.ordinal)
        started_at, due = command.issued_at, None if timer is None else timer.due
        if call is not None:
            due = None if call.retry is None else call.retry.due
            started_at = call.attempt.started_at if call.attempt is not None else started_at
        return UnderWay(
            command.ordinal, command.kind, command.name, call.number if call is not None else 1, started_at, due,
            active=call is not None and call.is_active,
        )  # fmt: skip

    def waiting_for(self) -> Shown:
        """Why this run is not going on, and until when."""
        due: list[tuple[Instant, str]] = [(entry.due, "timer") for entry in self.timers.values()]
        due += [
            (item.retry.due, f"retry of step {item.command.name!r}, attempt {item.number + 1}")
            for item in self.executions.values()
            if item.retry is not None
        ]
        reasons = [min(due)[1]] if due else []
        reasons += [f"message {topic!r}" for topic, waiting in self.receives.items() if waiting]
        reasons += [f"event {wait.topic!r}{_about(wait)}" for wait in list(self.event_waits.values())[:3]]
        reasons += [f"run {child.id!r}" for child in list(self.children.values())[:3]]
        next_at = min((item[0] for item in due), default=None)
        if self.deadline_at is not None and not self.machine.is_stopping:
            next_at = min(next_at, self.deadline_at) if next_at is not None else self.deadline_at
        state = RunState.CANCELLING if self.machine.is_stopping else RunState.WAITING
        reason = ", ".join(reasons) or "something inside the flow that nothing outside can bring about"
        return Shown(state, reason, next_at, self.machine.location())


def _about(wait: Wait) -> str:
    return "" if wait.subject is None else f" of {wait.subject}"
