"""What a run did, one row for each thing that its flow asked for, with all attempts: what a waterfall is drawn from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple

from headrace._app.inspection import entry_of, record_named
from headrace._app.view import FailedAttempt, HistoryEntry, RunView
from headrace._base.clock import Instant, to_datetime
from headrace._base.recorded_error import describe
from headrace._engine.resident import UnderWay
from headrace._ports.database import Reader
from headrace._runs.model import OUTSIDE, SET_ASIDE, Attempt, Kind, Outcome, RunRecord
from headrace._runs.store import attempts_between, journal_rows, unfinished_attempts
from headrace._store.blobs import unseal
from headrace._store.statements import load

_INSPECTION = load("headrace._runs", "inspection.sql")

How = Literal["ok", "failed", "cancelled", "running", "waiting", "noted"]
ROWS = 200


@dataclass(frozen=True, kw_only=True)
class Span:
    """A stretch of time: an attempt, or a wait. Without an end it goes on."""

    how: How
    started_at: datetime
    ended_at: datetime | None
    attempt: int = 0
    error: str = ""

    @property
    def is_wait(self) -> bool:
        return self.attempt == 0


@dataclass(frozen=True, kw_only=True)
class TimelineRow:
    """One thing that a flow asked for. ``target`` is the run that it is about, ``due`` when it goes on by itself."""

    command: int | None
    kind: str
    name: str
    how: How
    spans: tuple[Span, ...]
    target: str = ""
    target_number: int | None = None
    due: datetime | None = None

    @property
    def started_at(self) -> datetime:
        return self.spans[0].started_at

    @property
    def ended_at(self) -> datetime | None:
        return self.spans[-1].ended_at

    @property
    def tries(self) -> int:
        return max(span.attempt for span in self.spans)


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A part of what a run did; ``earlier`` and ``later`` are the cursors of the parts around it."""

    run: RunView
    rows: tuple[TimelineRow, ...]
    length: int
    earlier: int | None
    later: int | None


@dataclass(frozen=True, kw_only=True)
class CommandDetail:
    """All that is recorded of one command; ``entry`` is None while it has no outcome."""

    command: int
    entry: HistoryEntry | None
    failures: tuple[FailedAttempt, ...]


class _Line(NamedTuple):
    seq: int
    command: int
    kind: str
    name: str
    outcome: str
    attempt: int
    started_at: Instant
    at: Instant
    reference: bytes | None


def timeline_of(
    reader: Reader,
    run_id: str,
    number: int | None = None,
    *,
    after: int | None = None,
    count: int = ROWS,
    under_way: Sequence[UnderWay] = (),
) -> Timeline:
    """The last part by default, else what comes after a row of the journal. ``under_way`` is what the engine knows and the file does not."""
    record = record_named(reader, run_id, number)
    length = _length(reader, record.pk)
    start = max(0, length - count) if after is None else max(0, after)
    lines = [
        _Line._make((*row[:-1], unseal(reader, row[-1])))
        for row in reader.all(_INSPECTION.journal_outline, {"run": record.pk, "after": start, "count": count})
    ]
    is_last = start + count >= length
    rows = _answered(reader, record.pk, lines)
    if is_last and record.state.is_open:
        rows += _unanswered(reader, record, lines, under_way)
    return Timeline(
        run=RunView.of(record),
        rows=tuple(sorted(rows, key=lambda row: row.started_at)),
        length=length,
        earlier=max(0, start - count) if start > 0 else None,
        later=None if is_last else start + count,
    )


def _length(reader: Reader, pk: int) -> int:
    row = reader.one(_INSPECTION.journal_length, {"run": pk})
    return row[0] if row else 0


def command_of(reader: Reader, run_id: str, number: int | None, command: int) -> CommandDetail:
    record = record_named(reader, run_id, number)
    rows = reader.all(_INSPECTION.journal_of_command, {"run": record.pk, "command": command})
    found = journal_rows(reader, record.pk, rows)
    attempts = _attempts(reader, record.pk, command, command)[command]
    failures = tuple(map(FailedAttempt.of, attempts))
    return CommandDetail(command=command, entry=entry_of(found[-1], {}) if found else None, failures=failures)


def _attempts(reader: Reader, pk: int, first: int, last: int) -> defaultdict[int, list[Attempt]]:
    found: defaultdict[int, list[Attempt]] = defaultdict(list)
    for attempt in attempts_between(reader, pk, first, last):
        found[attempt.command].append(attempt)
    return found


# What has an outcome


def _answered(reader: Reader, pk: int, lines: Sequence[_Line]) -> list[TimelineRow]:
    commands = [line.command for line in lines if line.command != OUTSIDE]
    failed = _attempts(reader, pk, min(commands), max(commands)) if commands else defaultdict(list)
    marks = {line.command: line for line in lines if line.outcome == Outcome.MARK and line.command != OUTSIDE}
    return [
        _row(line, marks.get(line.command), failed[line.command])
        for line in lines
        if line.command == OUTSIDE or line.outcome != Outcome.MARK
    ]


def _row(line: _Line, mark: _Line | None, failed: Sequence[Attempt]) -> TimelineRow:
    how = _HOW[line.outcome]
    target, number = _reference(line if mark is None else mark)
    return TimelineRow(
        command=None if line.command == OUTSIDE else line.command,
        kind=line.kind,
        name=line.name,
        how=how,
        spans=_spans(line, mark, how, failed),
        target=target,
        target_number=number,
    )


_HOW: dict[str, How] = {
    Outcome.OK: "ok",
    Outcome.ERROR: "failed",
    Outcome.CANCELLED: "cancelled",
    Outcome.MARK: "noted",
}


def _spans(line: _Line, mark: _Line | None, how: How, failed: Sequence[Attempt]) -> tuple[Span, ...]:
    if line.kind != Kind.STEP:
        began = min(line.started_at, mark.started_at) if mark is not None else line.started_at
        return (Span(how=how, started_at=to_datetime(began), ended_at=to_datetime(line.at)),)
    # The attempt that ended a step in failure is in the journal, and in some cases among the failed ones too.
    earlier = [attempt for attempt in failed if attempt.attempt < line.attempt]
    last = Span(
        how=how, started_at=to_datetime(line.started_at), ended_at=to_datetime(line.at), attempt=max(1, line.attempt)
    )
    return (*_failed_spans(earlier, line.started_at), last)


def _failed_spans(failed: Iterable[Attempt], until: Instant | None) -> tuple[Span, ...]:
    spans: list[Span] = []
    for attempt in failed:
        if spans and spans[-1].is_wait:
            spans[-1] = replace(spans[-1], ended_at=to_datetime(attempt.started_at))
        began, ended = to_datetime(attempt.started_at), to_datetime(attempt.at)
        error = describe(attempt.error)
        text = f"{error.type_name.rpartition(':')[2]}: {error.message}"
        spans.append(Span(how="failed", started_at=began, ended_at=ended, attempt=attempt.attempt, error=text))
        spans.append(Span(how="waiting", started_at=ended, ended_at=None))
    if spans and until is not None:
        spans[-1] = replace(spans[-1], ended_at=to_datetime(until))
    return tuple(spans)


def _reference(line: _Line) -> tuple[str, int | None]:
    if line.reference is None:
        return "", None
    found = json.loads(line.reference)
    return str(found["id"]), int(found["number"])


# What has none yet


def _unanswered(
    reader: Reader, record: RunRecord, lines: Sequence[_Line], under_way: Sequence[UnderWay]
) -> list[TimelineRow]:
    """Of a run in memory all that it has asked for; of one on disk what can be told from the file."""
    answered = {line.command for line in lines if line.outcome != Outcome.MARK}
    marks = {line.command: line for line in lines if line.outcome == Outcome.MARK and line.command not in answered}
    known = [item for item in under_way if item.command not in answered]
    failed: defaultdict[int, list[Attempt]] = defaultdict(list)
    for attempt in unfinished_attempts(reader, record.pk):
        failed[attempt.command].append(attempt)
    if known:
        return [_going_on(item, marks.get(item.command), failed[item.command]) for item in known]
    rows = [_begun(mark) for mark in marks.values() if mark.command != OUTSIDE]
    rows += [_retried(attempts) for attempts in failed.values()]
    if rows or not record.reason or record.state in SET_ASIDE:
        return rows
    return [_asleep(record)]


def _going_on(item: UnderWay, mark: _Line | None, failed: Sequence[Attempt]) -> TimelineRow:
    target, number = _reference(mark) if mark is not None else ("", None)
    how: How = "running" if item.active else "waiting"
    spans = _failed_spans(failed, item.started_at if item.active else None)
    if item.active or not spans:
        began = to_datetime(item.started_at)
        spans = (*spans, Span(how=how, started_at=began, ended_at=None, attempt=item.attempt if item.active else 0))
    return TimelineRow(
        command=item.command if mark is not None or failed else None,
        kind=item.kind,
        name=item.name,
        how=how,
        spans=spans,
        target=target,
        target_number=number,
        due=None if item.due is None else to_datetime(item.due),
    )


def _begun(mark: _Line) -> TimelineRow:
    target, number = _reference(mark)
    span = Span(how="waiting", started_at=to_datetime(mark.started_at), ended_at=None)
    return TimelineRow(
        command=mark.command,
        kind=mark.kind,
        name=mark.name,
        how="waiting",
        spans=(span,),
        target=target,
        target_number=number,
    )


def _retried(failed: Sequence[Attempt]) -> TimelineRow:
    last = failed[-1]
    return TimelineRow(
        command=last.command,
        kind=Kind.STEP,
        name=last.name,
        how="waiting",
        spans=_failed_spans(failed, None),
        due=None if last.next_at is None else to_datetime(last.next_at),
    )


def _asleep(record: RunRecord) -> TimelineRow:
    span = Span(how="waiting", started_at=to_datetime(record.since_at), ended_at=None)
    due = None if record.next_at is None else to_datetime(record.next_at)
    return TimelineRow(command=None, kind="wait", name=record.reason, how="waiting", spans=(span,), due=due)
