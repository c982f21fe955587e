"""Publishing as the engine does it: the event, the job that it moves, the runs that wait for it, in one transaction; telling comes after."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from headrace._authoring.context import Policy
from headrace._base import faultpoints
from headrace._base.clock import Instant, from_datetime
from headrace._base.recorded_error import describe
from headrace._events.model import NewEvent, Published, Subject, Wait, check_name
from headrace._events.topic import check_topic
from headrace._jobs.catalogue import Catalogue
from headrace._jobs.lifecycle import JobRef, Lifecycle
from headrace._jobs.model import RunOutcome
from headrace._jobs.store import lock_job, publish
from headrace._ports.database import Reader, SqlValue, Transaction
from headrace._runs.model import Begun, Ending, JobOfRun, NewRun, RunState
from headrace._runs.store import SQL, begin
from headrace.errors import ValueRefused


class Publication(NamedTuple):
    """What has to be told after the commit: runs that waited for the event, as (run, command), and runs that have to stop for it."""

    published: Published
    woken: list[tuple[int, int]]
    stopped: list[tuple[int, str]]


class EventLog:
    def __init__(self, catalogue: Catalogue, *, call: Callable[[Transaction, int], None] | None = None) -> None:
        """``call``: in a process that runs no runs, how the one that does hears of those that have something to do."""
        self.catalogue = catalogue
        self._call = call or (lambda _tx, _run: None)
        self.wake: Callable[[int, int, Published], None]
        self.stop: Callable[[int, str], None]
        self._listeners: list[Callable[[], None]] = []
        self.is_closed = False

    def new_event(
        self,
        topic: str,
        data: object,
        *,
        subject: str | JobRef,
        event_id: str,
        source: str,
        time: datetime | None,
        cause: str,
        at: Instant,
        plain: bool = False,
    ) -> NewEvent:
        """An event as it will stand in the log; raises ValueRefused where it does not fit. ``plain``: the data came as JSON."""
        check_topic(topic)
        about = self.catalogue.subject_of(topic, subject)
        check_name(about.id, "a subject")
        check_name(event_id, "the id of an event")
        encode = self.catalogue.topics.encode_plain if plain else self.catalogue.topics.encode
        stored, version = encode(topic, data)
        return NewEvent(
            id=event_id, topic=topic, subject=about, data=stored, version=version, source=source, cause=cause, at=at,
            time=at if time is None else from_datetime(time),
        )  # fmt: skip

    # In a transaction

    def write(self, tx: Transaction, new: NewEvent, *, lenient: bool = False) -> Publication:
        """Append an event and do all that follows from it. ``lenient``: what the lifecycle's own code raises does not undo it."""
        published = publish(tx, new, self.catalogue.lifecycles, self.catalogue.topics, lenient=lenient)
        if published.duplicate:
            return Publication(published, [], [])
        woken = waits_for(tx, published)
        for run, command in woken:
            tx.run(SQL.event_came, {"run": run, "command": command})
            tx.run(SQL.poke_run, {"pk": run, "at": new.at})
            self._call(tx, run)
        return Publication(published, woken, self._stopped_by(tx, published, new.at))

    def _stopped_by(self, tx: Transaction, published: Published, at: Instant) -> list[tuple[int, str]]:
        """Cancelling a job cancels the run that works for it."""
        lifecycle = self.catalogue.lifecycles.by_name.get(published.job)
        if lifecycle is None or not published.applied or not lifecycle.is_cancelled_by(published.topic):
            return []
        found = tx.all(SQL.open_runs_of_job, {"kind": published.job, "id": published.subject})
        for pk, _ in found:
            tx.run(SQL.ask_to_cancel, {"pk": pk, "at": at})
            self._call(tx, pk)
        return [(pk, run_id) for pk, run_id in found]

    def write_end(
        self,
        tx: Transaction,
        run_id: str,
        number: int,
        ending: Ending,
        state: RunState,
        *,
        at: Instant,
        result: bytes | None,
        error: bytes | None,
    ) -> Publication | None:
        """Tell the job that a run worked for how the run has ended, unless the job has ended itself."""
        job = ending.job
        if job is None or not job.owner:
            return None
        lifecycle = self.catalogue.lifecycles.by_name.get(job.kind)
        # Who else works for it must be known until this is committed.
        current = None if lifecycle is None else lock_job(tx, Subject(job.kind, job.id))
        if lifecycle is None or current is None or current.generation != job.generation:
            return None
        of_job: dict[str, SqlValue] = {"kind": job.kind, "id": job.id, "generation": job.generation}
        others = tx.one(SQL.works_for_job, of_job) is not None
        event = lifecycle.end_of(_outcome(run_id, state, result, error), current.state, others=others)
        if event is None:
            if not current.terminal:
                tx.run(SQL.hand_over, {"id": run_id, "number": number})
            return None
        topic, data, version = self._end_data(*event, lifecycle)
        new = NewEvent(
            id=f"{run_id}/{number}/end", topic=topic, subject=current.subject, data=data, version=version, source="headrace", time=at, at=at,
            cause=f"{run_id}/{number}/end", generation=job.generation,
        )  # fmt: skip
        return self.write(tx, new, lenient=True)

    def _end_data(self, topic: str, value: object, lifecycle: Lifecycle[Any]) -> tuple[str, bytes, int]:
        """The event that tells an end. A result that its type does not take is a failure, and one that is not told would be worse."""
        try:
            return topic, *self._encoded_end(topic, value)
        except ValueRefused as refused:
            told = {"error_type": "ValueRefused", "error_message": str(refused)}
        failed = lifecycle.ends["failed"][0]
        try:
            return failed, *self.catalogue.topics.encode_plain(failed, told)
        except ValueRefused:
            return failed, json.dumps(told).encode(), 1

    def _encoded_end(self, topic: str, value: object) -> tuple[bytes, int]:
        """A result is plain JSON; a function of ``ends=`` may as well give a value of the type that the event declares."""
        try:
            return self.catalogue.topics.encode_plain(topic, value)
        except TypeError:
            return self.catalogue.topics.encode(topic, value)

    def is_wanted(self, tx: Transaction, job: JobOfRun | None) -> bool:
        """Whether a run is to begin for this job: not when the job has ended, or is in another generation than the event that asks for it."""
        if job is None:
            return True
        current = lock_job(tx, Subject(job.kind, job.id))
        return current is not None and not current.terminal and current.generation == job.generation

    def begin(self, tx: Transaction, new: NewRun, policy: Policy) -> Begun:
        """Begin a run; one that had to go for it tells its job."""
        begun = begin(tx, new, policy)
        if begun.created:
            self._call(tx, begun.pk)
        if begun.replaced is None:
            return begun
        self._call(tx, begun.replaced.pk)
        publication = self.write_end(
            tx,
            begun.id,
            begun.number - 1,
            begun.replaced.ending,
            RunState.CANCELLED,
            at=new.at,
            result=None,
            error=None,
        )
        return begun._replace(replaced=begun.replaced._replace(told=publication))

    # After the commit

    def told(self, publication: Publication | None) -> None:
        """An event is on disk: tell the runs and the readers that it concerns."""
        if publication is None or publication.published.duplicate:
            return
        faultpoints.hit("publish.after")
        for run, command in publication.woken:
            self.wake(run, command, publication.published)
        for pk, run_id in publication.stopped:
            self.stop(pk, run_id)
        for listener in tuple(self._listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call back whenever the log has grown, and when it grows no more; returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """Nothing more will come; listeners are called a last time."""
        self.is_closed = True
        for listener in tuple(self._listeners):
            listener()


def waits_for(reader: Reader, published: Published) -> list[tuple[int, int]]:
    """Which runs wait for this event, as (run, command)."""
    found = []
    for run, command, topic, kind, subject, after in reader.all(SQL.waits_for, {"topic": published.topic}):
        wait = Wait(topic=topic, subject=None if subject is None else Subject(kind, subject), after=after)
        if wait.is_met_by(published):
            found.append((run, command))
    return found


def own_job(job: JobOfRun | None, subject: Subject) -> int | None:
    """The generation that events of a run carry, if they are about the job that the run works for."""
    return job.generation if job is not None and job[:2] == subject else None


def _outcome(run_id: str, state: RunState, result: bytes | None, error: bytes | None) -> RunOutcome:
    told = None if error is None else describe(error)
    return RunOutcome(
        run_id=run_id,
        state=state.value,
        error_type="" if told is None else told.type_name.rpartition(":")[2],
        error_message="" if told is None else told.message,
        result=None if result is None else json.loads(result),
    )
