"""Rows in, values out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace._base.clock import Instant
from headrace._ports.database import Reader, Row, SqlValue, Transaction
from headrace._runs.model import Attempt, Begun, JournalRow, Message, NewRun, RunRecord, RunState, Seen
from headrace._store.blobs import ASIDE_OVER, REFERENCE, fetch, put_aside
from headrace._store.statements import load
from headrace.errors import RunAlreadyExists

SQL = load("headrace._runs")

_APPEND = SQL.append_journal


# Runs


def begin(tx: Transaction, new: NewRun, policy: str) -> Begun:
    """Find the run that this start joins, or make a new one."""
    found = tx.one(SQL.latest_run, {"id": new.id})
    if found is None:
        return _insert(tx, new, number=1)
    pk, number, state = found[0], found[1], RunState(found[2])
    alive = state.is_open or state is RunState.COMPLETED
    if alive and policy == "join":
        return Begun(pk, new.id, number, state, created=False)
    if alive and policy == "reject":
        raise RunAlreadyExists(new.id, state)
    begun = _insert(tx, new, number=number + 1)
    if state.is_open:
        end(tx, pk, RunState.REPLACED, at=new.at, reason=f"replaced by run {number + 1} of the same id")
        return begun._replace(replaced=pk)
    return begun


def _insert(tx: Transaction, new: NewRun, *, number: int) -> Begun:
    queued = new.state is RunState.QUEUED
    row = tx.one(
        SQL.insert_run,
        {
            "id": new.id,
            "number": number,
            "flow": new.flow,
            "state": new.state.value,
            "at": new.at,
            "next_at": None,
            "input": put_aside(tx, new.input),
            "seed": new.seed,
            "parent": new.parent,
            "deadline_at": new.deadline_at,
            "started_at": None if queued else new.at,
        },
    )
    assert row is not None
    return Begun(row[0], new.id, number, new.state, created=True)


def continue_as(tx: Transaction, old: int, new: NewRun, *, number: int, seen: Seen) -> Begun | None:
    """End a run and begin the next one of its id in the same breath; whatever the old one has not seen moves over, and so do its waiters.

    None: somebody else has ended it meanwhile, so nothing goes on.
    """
    if tx.one(SQL.open_run, {"pk": old}) is None:
        return None
    begun = _insert(tx, new, number=number)
    tx.run(SQL.move_waiters, {"old": old, "new": begun.pk})
    _move_messages(tx, old, begun.pk, seen)
    if not seen.cancel:
        tx.run(SQL.move_cancel, {"old": old, "new": begun.pk})
    end(tx, old, RunState.REPLACED, at=new.at, reason=f"continued as run {number}", continued_as=number)
    return begun


def _move_messages(tx: Transaction, old: int, new: int, seen: Seen) -> None:
    # What was on its way into the flow when the flow ended stands in the journal already, and comes before what is still in the inbox.
    ahead = [(message.topic, put_aside(tx, message.value), message.at) for message in seen.returned]
    ahead += [(row[0], row[1], row[2]) for row in tx.all(SQL.unseen_messages, {"run": old, "after": seen.seq})]
    if not ahead:
        tx.run(SQL.move_messages, {"old": old, "new": new})
        return
    behind = [(row[1], row[2], row[3]) for row in tx.all(SQL.messages_of, {"run": old})]
    tx.run(SQL.forget_messages, {"run": old})
    for topic, value, at in [*ahead, *behind]:
        tx.one(SQL.put_message, {"run": new, "topic": topic, "value": value, "at": at})


def end(
    tx: Transaction,
    pk: int,
    state: RunState,
    *,
    at: Instant,
    reason: str = "",
    result: bytes | None = None,
    error: bytes | None = None,
    continued_as: int | None = None,
) -> list[tuple[int, int]] | None:
    """Record the outcome of a run; those who wait for it are made due. Returns (waiter, command) pairs; None: it had ended already."""
    changed = tx.run(
        SQL.end_run,
        {
            "pk": pk,
            "state": state.value,
            "reason": reason,
            "at": at,
            "result": put_aside(tx, result),
            "error": put_aside(tx, error),
            "continued_as": continued_as,
        },
    )
    if not changed:
        return None
    tx.run(SQL.forget_waits, {"waiter": pk})
    tx.run(SQL.forget_messages, {"run": pk})
    waiters = [(row[0], row[1]) for row in tx.all(SQL.waiters_of, {"run": pk})]
    for waiter, _ in waiters:
        tx.run(SQL.poke_run, {"pk": waiter, "at": at})
    return waiters


def record_of(reader: Reader, row: Row) -> RunRecord:
    (pk, id, number, flow, state, reason, location, since_at, next_at, input, result, error, seed, parent, deadline_at, cancel_at,
     created_at, started_at, finished_at, continued_as) = row  # fmt: skip
    return RunRecord(
        pk=pk, id=id, number=number, flow=flow, state=RunState(state), reason=reason, location=location, since_at=since_at, next_at=next_at,
        input=fetch(reader, input) or b"", result=fetch(reader, result), error=fetch(reader, error), seed=seed, parent=parent,
        deadline_at=deadline_at, cancel_at=cancel_at, created_at=created_at, started_at=started_at, finished_at=finished_at,
        continued_as=continued_as,
    )  # fmt: skip


def run_by_pk(reader: Reader, pk: int) -> RunRecord | None:
    row = reader.one(SQL.run_by_pk, {"pk": pk})
    return None if row is None else record_of(reader, row)


def run_by_id(reader: Reader, run_id: str, number: int | None = None) -> RunRecord | None:
    row = (
        reader.one(SQL.run_by_id, {"id": run_id})
        if number is None
        else reader.one(SQL.run_by_number, {"id": run_id, "number": number})
    )
    return None if row is None else record_of(reader, row)


def list_runs(
    reader: Reader,
    *,
    flow: str | None = None,
    state: str | None = None,
    search: str | None = None,
    only_open: bool = False,
    before: int | None = None,
    count: int = 100,
) -> list[RunRecord]:
    parameters: dict[str, SqlValue] = {
        "flow": flow,
        "search": search,
        "before": before if before is not None else 2**62,
        "count": count,
    }
    if only_open and state is None:
        rows = reader.all(SQL.list_open_runs, parameters)
    else:
        rows = reader.all(SQL.list_runs, parameters | {"state": state})
    return [record_of(reader, row) for row in rows]


# What belongs to a run


def append(tx: Transaction, run: int, row: JournalRow) -> None:
    seq, command, kind, name, arguments, outcome, value, attempt, started_at, at = row
    tx.run(
        _APPEND,
        {
            "run": run,
            "seq": seq,
            "command": command,
            "kind": kind,
            "name": name,
            "arguments": arguments if arguments is None or len(arguments) <= ASIDE_OVER else put_aside(tx, arguments),
            "outcome": outcome,
            "value": value if value is None or len(value) <= ASIDE_OVER else put_aside(tx, value),
            "attempt": attempt,
            "started_at": started_at,
            "at": at,
        },
    )


def journal_of(reader: Reader, run: int) -> list[JournalRow]:
    return [_journal_row(reader, row) for row in reader.all(SQL.journal_of, {"run": run})]


def _journal_row(reader: Reader, row: Row) -> JournalRow:
    found = JournalRow._make(row)
    if (found.value and found.value.startswith(REFERENCE)) or (
        found.arguments and found.arguments.startswith(REFERENCE)
    ):
        return found._replace(value=fetch(reader, found.value), arguments=fetch(reader, found.arguments))
    return found


def attempts_of(reader: Reader, run: int) -> list[Attempt]:
    return [Attempt._make(row) for row in reader.all(SQL.attempts_of, {"run": run})]


def messages_of(reader: Reader, run: int) -> list[Message]:
    return [
        Message(pk, topic, fetch(reader, value) or b"null", at)
        for pk, topic, value, at in reader.all(SQL.messages_of, {"run": run})
    ]


def put_message(tx: Transaction, run: int, topic: str, value: bytes, at: Instant) -> int:
    row = tx.one(SQL.put_message, {"run": run, "topic": topic, "value": put_aside(tx, value), "at": at})
    assert row is not None
    tx.run(SQL.poke_run, {"pk": run, "at": at})
    pk: int = row[0]
    return pk


def due_runs(reader: Reader, *, until: Instant, after: tuple[Instant, int], count: int) -> list[tuple[int, Instant]]:
    found = reader.all(SQL.due_runs, {"until": until, "after_at": after[0], "after_pk": after[1], "count": count})
    return [(row[0], row[1]) for row in found]


def runs_in_state(reader: Reader, state: RunState, *, page: int = 10_000) -> Iterator[int]:
    after = 0
    while rows := reader.all(SQL.runs_in_state, {"state": state.value, "after": after, "count": page}):
        yield from (row[0] for row in rows)
        after = rows[-1][0]


def counts(reader: Reader, *, only_open: bool = False) -> Mapping[str, int]:
    rows = reader.all(SQL.count_open_by_state if only_open else SQL.count_by_state)
    return {row[0]: row[1] for row in rows}
