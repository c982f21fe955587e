"""Rows in, values out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from headrace._base.clock import Instant
from headrace._ports.database import Reader, Row, SqlValue, Transaction
from headrace._runs.model import (
    Attempt,
    Begun,
    Ending,
    EventWait,
    JobOfRun,
    JournalRow,
    Message,
    NewRun,
    Progress,
    Replaced,
    RunRecord,
    RunState,
    Seen,
)
from headrace._store.blobs import naming, seal, seal_text, unseal, unseal_text
from headrace._store.places import Place
from headrace._store.statements import load
from headrace.errors import RunAlreadyExists

SQL = load("headrace._runs")

_APPEND = SQL.append_journal

# What a run waits for is in the open; what went wrong with it may repeat values.
_TELLING = (RunState.FAILED, RunState.BLOCKED, RunState.QUARANTINED)
PLACES = (
    Place(
        "runs",
        key=("pk",),
        values=("input", "result", "error"),
        texts=("reason",),
        texts_where=f"state IN ({', '.join(map(repr, map(str, _TELLING)))})",
    ),
    Place("journal", key=("run", "seq"), values=("arguments", "value")),
    Place("attempts", key=("run", "command", "attempt"), values=("error",)),
    Place("progress", key=("run", "command"), values=("value",)),
    Place("inbox", key=("pk",), values=("value",)),
    Place("incidents", key=("pk",), texts=("detail",)),
)
"""Where values of runs stand."""


# Runs


def begin(tx: Transaction, new: NewRun, policy: str) -> Begun:
    """Find the run that this start joins, or make a new one."""
    while (begun := _begin(tx, new, policy)) is None:
        continue  # another process was quicker: its run is there to be found now
    return begun


def _begin(tx: Transaction, new: NewRun, policy: str) -> Begun | None:
    found = tx.one(SQL.latest_run, {"id": new.id})
    if found is None:
        return _insert(tx, new, number=1)
    pk, number, state = found[0], found[1], RunState(found[2])
    alive = state.is_open or state is RunState.COMPLETED
    if new.job is not None and new.job.owner and found[3:] != new.job[:3]:
        policy = (
            "replace"  # it worked for another generation of the job, or for none: its result is not what is asked for
        )
    if alive and policy == "join":
        return Begun(pk, new.id, number, state, created=False)
    if alive and policy == "reject":
        raise RunAlreadyExists(new.id, state)
    begun = _insert(tx, new, number=number + 1)
    if begun is not None and state.is_open:
        ending = end(tx, pk, RunState.REPLACED, at=new.at, reason=f"replaced by run {number + 1} of the same id")
        return begun._replace(replaced=Replaced(pk, ending or Ending([])))
    return begun


def _insert(tx: Transaction, new: NewRun, *, number: int) -> Begun | None:
    queued = new.state is RunState.QUEUED
    job = new.job
    row = tx.one(
        SQL.insert_run,
        {
            "id": new.id,
            "number": number,
            "flow": new.flow,
            "state": new.state.value,
            "at": new.at,
            "next_at": None,
            "input": seal(tx, new.input),
            "seed": new.seed,
            "parent": new.parent,
            "deadline_at": new.deadline_at,
            "started_at": None if queued else new.at,
            "begun_at_pos": new.begun_at_pos,
            "job_kind": job.kind if job is not None else None,
            "job_id": job.id if job is not None else None,
            "job_generation": job.generation if job is not None else None,
            "job_owner": int(job is not None and job.owner),
        },
    )
    if row is None:
        return None
    return Begun(row[0], new.id, number, new.state, created=True, begun_at_pos=row[1])


def continue_as(tx: Transaction, old: int, new: NewRun, *, number: int, seen: Seen) -> Begun | None:
    """End a run and begin the next one of its id in the same breath; whatever the old one has not seen moves over, and so do its waiters.

    None: somebody else has ended it meanwhile, so nothing goes on.
    """
    if tx.one(SQL.open_run, {"pk": old}) is None:
        return None
    begun = _insert(tx, new, number=number)
    if begun is None:
        return None
    tx.run(SQL.move_waiters, {"old": old, "new": begun.pk})
    _move_messages(tx, old, begun.pk, seen)
    if not seen.cancel:
        tx.run(SQL.move_cancel, {"old": old, "new": begun.pk})
    end(tx, old, RunState.REPLACED, at=new.at, reason=f"continued as run {number}", continued_as=number)
    return begun


def _move_messages(tx: Transaction, old: int, new: int, seen: Seen) -> None:
    # What was on its way into the flow when the flow ended stands in the journal already, and comes before what is still in the inbox.
    ahead = [(message.topic, seal(tx, message.value), message.at) for message in seen.returned]
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
) -> Ending | None:
    """Record the outcome of a run; those who wait for it are made due. None: it had ended already."""
    changed = tx.one(
        SQL.end_run,
        {
            "pk": pk,
            "state": state.value,
            "reason": seal_text(tx, reason) if state in _TELLING else reason,
            "at": at,
            "result": seal(tx, result),
            "error": seal(tx, error),
            "continued_as": continued_as,
        },
    )
    if changed is None:
        return None
    tx.run(SQL.forget_waits, {"waiter": pk})
    tx.run(SQL.forget_event_waits, {"run": pk})
    tx.run(SQL.forget_messages, {"run": pk})
    waiters = [(row[0], row[1]) for row in tx.all(SQL.waiters_of, {"run": pk})]
    for waiter, _ in waiters:
        tx.run(SQL.poke_run, {"pk": waiter, "at": at})
    return Ending(waiters, _job(*changed))


def _job(kind: str | None, id: str, generation: int, owner: int) -> JobOfRun | None:
    return None if kind is None else JobOfRun(kind, id, generation, bool(owner))


def set_state(
    tx: Transaction,
    pk: int,
    state: RunState,
    *,
    reason: str,
    location: str,
    next_at: Instant | None,
    at: Instant,
    seen: int = 0,
) -> None:
    """An open run is now in this state; says since when, why, until when and where. ``seen`` is the last message that it knows of."""
    tx.run(
        SQL.set_state,
        {
            "pk": pk,
            "state": state.value,
            "reason": seal_text(tx, reason) if state in _TELLING else reason,
            "location": location,
            "next_at": next_at,
            "at": at,
            "seen": seen,
        },
    )


def record_of(reader: Reader, row: Row) -> RunRecord:
    (pk, id, number, flow, state, reason, location, since_at, next_at, input, result, error, seed, parent, deadline_at, cancel_at,
     created_at, started_at, finished_at, continued_as, begun_at_pos, *job) = row  # fmt: skip
    with naming(lambda: f"run {id!r} #{number}"):
        reason = unseal_text(reader, reason)
        input, result, error = unseal(reader, input) or b"", unseal(reader, result), unseal(reader, error)
    return RunRecord(
        pk=pk, id=id, number=number, flow=flow, state=RunState(state), reason=reason, location=location, since_at=since_at, next_at=next_at,
        input=input, result=result, error=error, seed=seed, parent=parent,
        deadline_at=deadline_at, cancel_at=cancel_at, created_at=created_at, started_at=started_at, finished_at=finished_at,
        continued_as=continued_as, begun_at_pos=begun_at_pos, job=_job(*job),
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


def runs_of_job(reader: Reader, kind: str, id: str) -> list[str]:
    """The open runs that work for a job and tell it their end."""
    return [row[1] for row in reader.all(SQL.open_runs_of_job, {"kind": kind, "id": id})]


# What belongs to a run


def append(tx: Transaction, run: int, row: JournalRow) -> None:
    seq, command, kind, name, arguments, outcome, value, attempt, started_at, at = row
    plain_up_to = tx.vault.plain_up_to
    tx.run(
        _APPEND,
        {
            "run": run,
            "seq": seq,
            "command": command,
            "kind": kind,
            "name": name,
            "arguments": arguments if arguments is None or len(arguments) <= plain_up_to else seal(tx, arguments),
            "outcome": outcome,
            "value": value if value is None or len(value) <= plain_up_to else seal(tx, value),
            "attempt": attempt,
            "started_at": started_at,
            "at": at,
        },
    )


def journal_of(reader: Reader, run: int) -> list[JournalRow]:
    return journal_rows(reader, run, reader.all(SQL.journal_of, {"run": run}))


def journal_rows(reader: Reader, run: int, rows: Iterable[Row]) -> list[JournalRow]:
    """Rows of the journal of one run, with their values."""
    plain_from = reader.vault.plain_from
    found = []
    for row in map(JournalRow._make, rows):
        if (row.value and row.value[0] < plain_from) or (row.arguments and row.arguments[0] < plain_from):
            with naming(lambda: f"{_name(reader, run)}, row {row.seq} of its journal"):  # noqa: B023 - called at once
                row = row._replace(value=unseal(reader, row.value), arguments=unseal(reader, row.arguments))
        found.append(row)
    return found


def _name(reader: Reader, run: int) -> str:
    row = reader.one(SQL.identity_of, {"pk": run})
    return f"run {run}" if row is None else f"run {row[0]!r} #{row[1]}"


def put_attempt(tx: Transaction, run: int, attempt: Attempt) -> None:
    """An attempt of a step has failed."""
    tx.run(SQL.insert_attempt, {"run": run, **attempt._asdict(), "error": seal(tx, attempt.error)})


def attempts_of(reader: Reader, run: int) -> list[Attempt]:
    """All failed attempts."""
    return attempts_in(reader, run, reader.all(SQL.attempts_of, {"run": run}))


def attempts_between(reader: Reader, run: int, first: int, last: int) -> list[Attempt]:
    """The failed attempts of some commands."""
    return attempts_in(reader, run, reader.all(SQL.attempts_between, {"run": run, "first": first, "last": last}))


def unfinished_attempts(reader: Reader, run: int) -> list[Attempt]:
    """The failed attempts of steps that have no outcome yet."""
    return attempts_in(reader, run, reader.all(SQL.unfinished_attempts, {"run": run}))


def attempts_in(reader: Reader, run: int, rows: Iterable[Row]) -> list[Attempt]:
    found = []
    for row in map(Attempt._make, rows):
        with naming(lambda: f"{_name(reader, run)}, attempt {row.attempt} of step {row.name!r}"):  # noqa: B023 - called at once
            found.append(row._replace(error=unseal(reader, row.error) or b""))
    return found


def save_progress(tx: Transaction, run: int, progress: Progress) -> None:
    """The last word of a step under way."""
    tx.run(SQL.save_progress, {"run": run, **progress._asdict(), "value": seal(tx, progress.value)})


def progress_of(reader: Reader, run: int) -> list[Progress]:
    found = []
    for row in map(Progress._make, reader.all(SQL.progress_of, {"run": run})):
        with naming(lambda: f"{_name(reader, run)}, progress of command {row.command}"):  # noqa: B023 - called at once
            found.append(row._replace(value=unseal(reader, row.value) or b"null"))
    return found


def add_incident(tx: Transaction, run: int | None, at: Instant, name: str, detail: str) -> None:
    """Something that an operator would want to know later."""
    tx.run(SQL.add_incident, {"at": at, "run": run, "name": name, "detail": seal_text(tx, detail)})


def incidents_of(reader: Reader, run: int) -> list[tuple[Instant, str, str]]:
    with naming(lambda: f"{_name(reader, run)}, what happened around it"):
        return [
            (at, name, unseal_text(reader, detail)) for at, name, detail in reader.all(SQL.incidents_of, {"run": run})
        ]


def recent_incidents(reader: Reader, count: int) -> list[tuple[Instant, int | None, str, str]]:
    """What happened lately, and around which run."""
    found = []
    for at, run, name, detail in reader.all(SQL.recent_incidents, {"count": count}):
        with naming(lambda: f"an incident called {name}"):  # noqa: B023 - called at once
            found.append((at, run, name, unseal_text(reader, detail)))
    return found


def messages_of(reader: Reader, run: int) -> list[Message]:
    found = []
    for row in map(Message._make, reader.all(SQL.messages_of, {"run": run})):
        with naming(lambda: f"{_name(reader, run)}, a message of topic {row.topic!r} to it"):  # noqa: B023 - called at once
            found.append(row._replace(value=unseal(reader, row.value) or b"null"))
    return found


def put_message(tx: Transaction, run: int, topic: str, value: bytes, at: Instant) -> int:
    row = tx.one(SQL.put_message, {"run": run, "topic": topic, "value": seal(tx, value), "at": at})
    assert row is not None
    tx.run(SQL.poke_run, {"pk": run, "at": at})
    pk: int = row[0]
    return pk


def add_wait(tx: Transaction, run: int, command: int, wait: EventWait) -> None:
    kind, subject = (None, None) if wait.subject is None else wait.subject
    is_pattern = int("*" in wait.topic or "#" in wait.topic)
    tx.run(
        SQL.add_wait,
        {
            "run": run, "command": command, "topic": wait.topic, "is_pattern": is_pattern, "kind": kind, "subject": subject,
            "after": wait.after,
        },
    )  # fmt: skip


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


def waiting_for_time(reader: Reader) -> int:
    """How many runs have something that falls due by itself."""
    row = reader.one(SQL.count_waiting_for_time)
    assert row is not None
    return int(row[0])
