"""What people and programs see of runs: the same values in Python, over HTTP and in ``--json``."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime

from headrace._base.clock import Instant, to_datetime
from headrace._base.recorded_error import describe
from headrace._base.vault import is_veil
from headrace._runs.model import OUTSIDE, Attempt, JournalRow, Message, Outcome, RunRecord

Json = object
"""Whatever JSON can say."""


@dataclass(frozen=True, kw_only=True)
class RunView:
    """How a run is at this moment."""

    id: str
    number: int
    flow: str
    state: str
    reason: str
    location: str
    since: datetime
    next_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @staticmethod
    def of(record: RunRecord) -> RunView:
        return RunView(
            id=record.id,
            number=record.number,
            flow=record.flow,
            state=record.state.value,
            reason=record.reason,
            location=record.location,
            since=to_datetime(record.since_at),
            next_at=_moment(record.next_at),
            created_at=to_datetime(record.created_at),
            started_at=_moment(record.started_at),
            finished_at=_moment(record.finished_at),
        )

    @property
    def is_open(self) -> bool:
        return self.finished_at is None


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """Runs, the newest first; ``next`` is the cursor of the page that follows, if there is one."""

    runs: tuple[RunView, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class RunName:
    """A run that another one mentions."""

    id: str
    number: int
    flow: str
    state: str


@dataclass(frozen=True, kw_only=True)
class ErrorText:
    """A recorded error."""

    type: str
    message: str
    traceback: str
    causes: tuple[str, ...]

    @staticmethod
    def of(stored: bytes) -> ErrorText:
        if is_veil(stored):
            return ErrorText(type="(encrypted)", message="", traceback="", causes=())
        view = describe(stored)
        causes = tuple(f"{cause.type_name}: {cause.message}" for cause in (*view.causes, *view.members))
        return ErrorText(type=view.type_name, message=view.message, traceback=view.traceback, causes=causes)

    @property
    def short(self) -> str:
        name = self.type.rpartition(":")[2]
        return f"{name}: {self.message}" if self.message else name


@dataclass(frozen=True, kw_only=True)
class FailedAttempt:
    """An attempt of a step that did not succeed; ``next_at`` is when the next one was or is due."""

    step: str
    command: int
    attempt: int
    started_at: datetime
    at: datetime
    next_at: datetime | None
    error: ErrorText

    @staticmethod
    def of(attempt: Attempt) -> FailedAttempt:
        return FailedAttempt(
            step=attempt.name,
            command=attempt.command,
            attempt=attempt.attempt,
            started_at=to_datetime(attempt.started_at),
            at=to_datetime(attempt.at),
            next_at=_moment(attempt.next_at),
            error=ErrorText.of(attempt.error),
        )


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """One row of a journal. ``outcome`` is ok, error, cancelled, or begun for what has no outcome of its own."""

    seq: int
    at: datetime
    started_at: datetime
    kind: str
    name: str
    command: int | None
    outcome: str
    attempt: int
    arguments: Json
    value: Json
    error: ErrorText | None
    failures: tuple[FailedAttempt, ...]

    @staticmethod
    def of(row: JournalRow, failures: tuple[FailedAttempt, ...]) -> HistoryEntry:
        failed = row.outcome == Outcome.ERROR
        return HistoryEntry(
            seq=row.seq,
            at=to_datetime(row.at),
            started_at=to_datetime(row.started_at),
            kind=row.kind,
            name=row.name,
            command=None if row.command == OUTSIDE else row.command,
            outcome="begun" if row.outcome == Outcome.MARK else row.outcome,
            attempt=row.attempt,
            arguments=read_json(row.arguments),
            value=None if failed else read_json(row.value),
            error=ErrorText.of(row.value) if failed and row.value else None,
            failures=failures,
        )


@dataclass(frozen=True, kw_only=True)
class History:
    """What entered a run, in order; ``retrying`` are the failed attempts of steps that have no outcome yet."""

    run: RunView
    entries: tuple[HistoryEntry, ...]
    retrying: tuple[FailedAttempt, ...]
    next: int | None


@dataclass(frozen=True, kw_only=True)
class UnreadMessage:
    """A message that the flow has not received yet."""

    topic: str
    at: datetime
    value: Json

    @staticmethod
    def of(message: Message) -> UnreadMessage:
        return UnreadMessage(topic=message.topic, at=to_datetime(message.at), value=read_json(message.value))


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The last word of a step under way."""

    command: int
    at: datetime
    value: Json


@dataclass(frozen=True, kw_only=True)
class Incident:
    """Something that an operator would want to know later."""

    at: datetime
    name: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class RunDetail:
    """All that is known of a run, but its history."""

    run: RunView
    input: Json
    result: Json
    error: ErrorText | None
    deadline_at: datetime | None
    continued_as: int | None
    parent: RunName | None
    children: tuple[RunName, ...]
    messages: tuple[UnreadMessage, ...]
    retrying: tuple[FailedAttempt, ...]
    progress: tuple[Progress, ...]
    incidents: tuple[Incident, ...]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """How a run ended, or that it has not; a run that continued as another is followed to its last one."""

    run: RunView
    ended: bool
    result: Json
    error: ErrorText | None


def error_code(kind: type[BaseException]) -> str:
    """What an error is called outside Python: ``RunNotFound`` -> ``run_not_found``."""
    name = kind.__name__
    return "".join(f"_{one.lower()}" if one.isupper() and at else one.lower() for at, one in enumerate(name))


def _moment(instant: Instant | None) -> datetime | None:
    return None if instant is None else to_datetime(instant)


def read_json(stored: bytes | None) -> Json:
    """A stored value as plain JSON; NaN and the infinities, which JSON has not, become text."""
    return None if stored is None else json.loads(stored, parse_constant=str)


def to_plain(value: object) -> Json:
    """A view as plain JSON values, in the same form as the HTTP API gives it."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    return value
