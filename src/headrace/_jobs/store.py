"""Publishing: an event is appended and moves its job in one transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace._base.clock import to_datetime
from headrace._events.model import EventRecord, NewEvent, Published, Subject, Verdict
from headrace._events.schema import Topics
from headrace._events.store import append, first_answer
from headrace._jobs.lifecycle import Decision, Lifecycle, Lifecycles
from headrace._jobs.model import Job, JobRecord
from headrace._ports.database import Reader, Row, SqlValue, Transaction
from headrace._store.blobs import seal, unseal
from headrace._store.places import Place
from headrace._store.statements import load

SQL = load("headrace._jobs")
PLACES = (Place("jobs", key=("lifecycle", "id"), values=("data",)),)
"""Where values of jobs stand."""
LOCK_LOG = load("headrace._store", "store.sql").lock_log


def publish(
    tx: Transaction, new: NewEvent, lifecycles: Lifecycles, topics: Topics, *, lenient: bool = False
) -> Published:
    """Append an event and let it move its job. An id that was published before gets the first answer again, and nothing happens.

    ``lenient``: a fold that raises leaves the job's data as they are.
    """
    lifecycle = lifecycles.by_name.get(new.subject.kind)
    if lifecycle is None:
        tx.one(LOCK_LOG)
        return append(tx, new, Verdict()) or _again(tx, new)
    job = lock_job(tx, new.subject)
    decision = lifecycle.decide(job, new.topic, new.generation)
    published = append(tx, new, Verdict(decision.applied, decision.reason, decision.generation))
    if published is None:
        return _again(tx, new)
    if decision.applied:
        _apply(tx, new, published, lifecycle, topics, job, decision, lenient=lenient)
    return published


def lock_job(tx: Transaction, subject: Subject) -> JobRecord | None:
    """A job that stays as it is until the transaction ends. Whoever moves jobs has the log first, so nobody waits for each other."""
    tx.one(LOCK_LOG)
    row = tx.one(SQL.lock_job, {"lifecycle": subject.kind, "id": subject.id})
    return None if row is None else _record(tx, row)


def _again(tx: Transaction, new: NewEvent) -> Published:
    answer = first_answer(tx, new.id)
    assert answer is not None
    return answer


def _apply(
    tx: Transaction,
    new: NewEvent,
    published: Published,
    lifecycle: Lifecycle[Any],
    topics: Topics,
    job: JobRecord | None,
    decision: Decision,
    *,
    lenient: bool,
) -> None:
    assert decision.state is not None
    before = None if job is None else job.data
    data = before or b"null"
    if lifecycle.fold is not None:
        try:
            data = lifecycle.folded(before, topics.event(_as_record(new, published)))
        except Exception:
            if not lenient:
                raise
    parameters: dict[str, SqlValue] = {
        "lifecycle": lifecycle.name,
        "id": new.subject.id,
        "state": decision.state,
        "terminal": int(decision.state in lifecycle.terminal),
        "generation": decision.generation,
        "data": seal(tx, data),
        "at": new.at,
        "pos": published.position,
    }
    tx.run(SQL.open_job if job is None else SQL.move_job, parameters)


def _as_record(new: NewEvent, published: Published) -> EventRecord:
    return EventRecord(
        position=published.position, id=new.id, topic=new.topic, subject=new.subject, sequence=published.sequence, source=new.source,
        time=new.time, at=new.at, version=new.version, cause=new.cause, generation=published.generation, applied=published.applied,
        reason=published.reason, data=new.data,
    )  # fmt: skip


def _record(reader: Reader, row: Row) -> JobRecord:
    lifecycle, id, state, terminal, generation, data, created_at, updated_at, position = row
    return JobRecord(
        subject=Subject(lifecycle, id), state=state, terminal=bool(terminal), generation=generation, data=unseal(reader, data) or b"null",
        created_at=created_at, updated_at=updated_at, position=position,
    )  # fmt: skip


def job_of(reader: Reader, subject: Subject) -> JobRecord | None:
    row = reader.one(SQL.job, {"lifecycle": subject.kind, "id": subject.id})
    return None if row is None else _record(reader, row)


def list_jobs(
    reader: Reader,
    *,
    lifecycle: str | None = None,
    state: str | None = None,
    search: str | None = None,
    before: int | None = None,
    count: int = 100,
) -> list[JobRecord]:
    parameters: dict[str, SqlValue] = {
        "lifecycle": lifecycle,
        "state": state,
        "search": search,
        "before": before if before is not None else 2**62,
        "count": count,
    }
    return [_record(reader, row) for row in reader.all(SQL.list_jobs, parameters)]


def counts(reader: Reader) -> dict[tuple[str, str], int]:
    """How many jobs of each lifecycle are in each state."""
    return {(lifecycle, state): number for lifecycle, state, number in reader.all(SQL.count_jobs)}


def as_job(record: JobRecord, lifecycle: Lifecycle[Any]) -> Job[Any]:
    """A job with its data in the declared type."""
    return replace(plain_job(record), data=lifecycle.shape.decode(record.data))


def plain_job(record: JobRecord) -> Job[Any]:
    return Job(
        lifecycle=record.subject.kind,
        id=record.subject.id,
        state=record.state,
        terminal=record.terminal,
        generation=record.generation,
        data=None,
        created_at=to_datetime(record.created_at),
        updated_at=to_datetime(record.updated_at),
        position=record.position,
    )
