"""Questions about runs, answered from the store alone: the owner and whoever only reads the file ask the same ones."""

from __future__ import annotations

import re
from collections import defaultdict

from headrace._app.view import (
    ErrorText,
    FailedAttempt,
    History,
    HistoryEntry,
    Incident,
    Progress,
    RunDetail,
    RunName,
    RunPage,
    RunResult,
    RunView,
    UnreadMessage,
    read_json,
)
from headrace._base.clock import to_datetime
from headrace._ports.database import Reader
from headrace._runs import model
from headrace._runs.model import JournalRow, RunRecord
from headrace._runs.store import (
    SQL,
    attempts_of,
    incidents_of,
    journal_rows,
    list_runs,
    messages_of,
    progress_of,
    run_by_id,
    unfinished_attempts,
)
from headrace._store.blobs import unseal_text
from headrace._store.statements import load
from headrace.errors import FlowNotFound, RunNotFound

_INSPECTION = load("headrace._runs", "inspection.sql")
_WITH_NUMBER = re.compile(r"(?s)(.+)#([0-9]{1,18})")


def page_of_runs(
    reader: Reader,
    *,
    flow: str | None = None,
    state: str | None = None,
    search: str | None = None,
    only_open: bool = False,
    before: int | None = None,
    count: int = 100,
) -> RunPage:
    """Runs, the newest first; ``before`` is the ``next`` of the page before."""
    full = None if flow is None else _full_name(reader, flow)
    found = list_runs(
        reader, flow=full, state=state, search=search, only_open=only_open, before=before, count=count + 1
    )
    page = found[:count]
    return RunPage(runs=tuple(map(RunView.of, page)), next=page[-1].pk if len(found) > count else None)


def _full_name(reader: Reader, flow: str) -> str:
    known: tuple[str, ...] = tuple(row[0] for row in reader.all(_INSPECTION.flow_names))
    matches = [name for name in known if name == flow] or [name for name in known if name.partition(".")[2] == flow]
    if len(matches) != 1:
        raise FlowNotFound(flow, known)
    return matches[0]


def record_named(reader: Reader, run_id: str, number: int | None = None) -> RunRecord:
    """The newest run of an id, or a certain one; ``id#2`` is the second one, unless a run is called so."""
    record = run_by_id(reader, run_id, number)
    if record is None and number is None and (match := _WITH_NUMBER.fullmatch(run_id)):
        record = run_by_id(reader, match[1], int(match[2]))
    if record is None:
        raise RunNotFound(run_id)
    return record


def detail_of(reader: Reader, run_id: str, number: int | None = None) -> RunDetail:
    record = record_named(reader, run_id, number)
    return RunDetail(
        run=RunView.of(record),
        input=read_json(record.input or None),
        result=read_json(record.result),
        error=None if record.error is None else ErrorText.of(record.error),
        deadline_at=None if record.deadline_at is None else to_datetime(record.deadline_at),
        continued_as=record.continued_as,
        parent=_named(reader, record.parent),
        children=tuple(_run_name(*row) for row in reader.all(SQL.children_of, {"pk": record.pk})),
        messages=tuple(map(UnreadMessage.of, messages_of(reader, record.pk))),
        retrying=_retrying(reader, record.pk),
        progress=tuple(map(_progress, progress_of(reader, record.pk))) if record.state.is_open else (),
        incidents=tuple(
            Incident(at=to_datetime(at), name=name, detail=detail)
            for at, name, detail in incidents_of(reader, record.pk)
        ),
    )


def history_of(
    reader: Reader, run_id: str, number: int | None = None, *, after: int = 0, count: int = 1_000
) -> History:
    """What entered a run after a certain row of its journal, in order."""
    record = record_named(reader, run_id, number)
    rows = reader.all(_INSPECTION.journal_page, {"run": record.pk, "after": after, "count": count + 1})
    page = journal_rows(reader, record.pk, rows[:count])
    failures: defaultdict[int, list[FailedAttempt]] = defaultdict(list)
    for attempt in attempts_of(reader, record.pk) if page else ():
        failures[attempt.command].append(FailedAttempt.of(attempt))
    return History(
        run=RunView.of(record),
        entries=tuple(entry_of(row, failures) for row in page),
        retrying=_retrying(reader, record.pk),
        next=page[-1].seq if len(rows) > count else None,
    )


def entry_of(row: JournalRow, failures: dict[int, list[FailedAttempt]]) -> HistoryEntry:
    return HistoryEntry.of(row, () if row.outcome == "mark" else tuple(failures.get(row.command, ())))


def result_of(reader: Reader, run_id: str, number: int | None = None) -> RunResult:
    """How a run ended, if it has; what continued as a new run is followed."""
    record = record_named(reader, run_id, number)
    while record.continued_as is not None:
        record = record_named(reader, record.id, record.continued_as)
    return RunResult(
        run=RunView.of(record),
        ended=not record.state.is_open,
        result=read_json(record.result),
        error=None if record.error is None else ErrorText.of(record.error),
    )


def numbers_of(reader: Reader, run_id: str, count: int = 50) -> tuple[RunName, ...]:
    """All runs of an id, the newest first."""
    return tuple(_run_name(*row) for row in reader.all(_INSPECTION.numbers_of, {"id": run_id, "count": count}))


def latest_incidents(reader: Reader, count: int) -> tuple[tuple[Incident, RunName | None], ...]:
    """What an operator would want to know, the latest first, with the runs that it is about."""
    return tuple(
        (Incident(at=to_datetime(at), name=name, detail=unseal_text(reader, detail)), _named(reader, run))
        for at, run, name, detail in reader.all(SQL.recent_incidents, {"count": count})
    )


def _named(reader: Reader, pk: int | None) -> RunName | None:
    row = None if pk is None else reader.one(SQL.identity_of, {"pk": pk})
    return None if row is None else _run_name(*row)


def _retrying(reader: Reader, pk: int) -> tuple[FailedAttempt, ...]:
    return tuple(map(FailedAttempt.of, unfinished_attempts(reader, pk)))


def _run_name(id: str, number: int, flow: str, state: str) -> RunName:
    return RunName(id=id, number=number, flow=flow, state=state)


def _progress(said: model.Progress) -> Progress:
    return Progress(command=said.command, at=to_datetime(said.at), value=read_json(said.value))
