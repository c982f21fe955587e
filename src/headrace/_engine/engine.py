"""The embedded engine: all runs of one store, in one process, on one event loop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar

from headrace._authoring import guard
from headrace._authoring.context import Policy, RunRef, pick
from headrace._authoring.flow import Flow
from headrace._authoring.identity import check_id, token
from headrace._authoring.pipeline import Registry
from headrace._authoring.trigger import Trigger
from headrace._base import faultpoints, log
from headrace._base.clock import to_micros
from headrace._engine.attempts import Attempts
from headrace._engine.beginnings import run_for
from headrace._engine.calls import Calls
from headrace._engine.changes import Changes
from headrace._engine.commands import Commands, RunEnd, put_message_for
from headrace._engine.delivery import Delivery
from headrace._engine.dispatch import Dispatcher
from headrace._engine.endings import Endings, Over
from headrace._engine.event_log import EventLog
from headrace._engine.journal import Journal
from headrace._engine.machine import Ended
from headrace._engine.memory import Limits, Memory
from headrace._engine.parts import Surroundings
from headrace._engine.resident import Resident, UnderWay
from headrace._engine.runner import Runner
from headrace._engine.tally import Tally
from headrace._engine.timers import Timers
from headrace._events.model import Event, NewEvent, Published, Subject
from headrace._events.outlet import Outlet
from headrace._events.sharing import Worker
from headrace._jobs.lifecycle import JobRef
from headrace._jobs.model import JobRecord
from headrace._jobs.store import job_of
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Operation, Transaction
from headrace._runs.model import SET_ASIDE, Begun, Ending, JobOfRun, Message, NewRun, RunRecord, RunState
from headrace._runs.store import SQL, add_incident, due_runs, end, run_by_id, runs_in_state
from headrace._store.companion import with_companion
from headrace.errors import Conflict, EngineUnavailable, RunAlreadyEnded, RunNotFound

__all__ = ["NO_ANSWER", "EmbeddedEngine", "Engine", "Limits"]

# What was under way first, then what was blocked before and may fit now; what is due comes with the timers.
_TAKEN_UP = (RunState.RUNNING, RunState.CANCELLING, RunState.QUEUED, RunState.BLOCKED)
NO_ANSWER = "the process died before it answered; what it was asked for may be done or not"

T = TypeVar("T")


class Engine(Protocol):
    """The calls that programs, server and CLI share, whichever engine answers them."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def start(self, flow: str, arguments: bytes, *, run_id: str | None = None, policy: Policy = "join") -> RunRef:
        """Begin a run, or join the one of that id; it is on disk when this returns."""
        ...

    async def send(self, run_id: str, topic: str, value: bytes) -> None:
        """Leave a message for an open run; it is on disk when this returns."""
        ...

    async def cancel(self, run_id: str, *, force: bool = False) -> RunState:
        """Ask a run to stop, or with ``force`` end it without clean-up. Returns the state it is in then."""
        ...

    async def retry(self, run_id: str) -> RunRef:
        """Let a blocked or quarantined run go on, or start a failed one again with the same input."""
        ...

    async def wait(self, run_id: str, number: int | None = None) -> RunEnd:
        """Wait for the end of a run; one that continues as a new run is followed."""
        ...

    def stack(self, run_id: str) -> list[str]:
        """Where the code of a run waits; empty if it is not in memory."""
        ...


class EmbeddedEngine:
    def __init__(
        self,
        *,
        registry: Registry,
        database: Database,
        clock: Clock,
        wired: Mapping[str, tuple[object, ...]] | None = None,
        limits: Limits | None = None,
        strict: bool = False,
        outlets: Mapping[str, Outlet] | None = None,
        share: Worker | None = None,
        leaves_subscriptions: bool = False,
    ) -> None:
        self.registry = registry
        self.database = database
        self.clock = clock
        self.limits = limits = limits or Limits()
        self.failure: BaseException | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.tally = tally = Tally()
        self.changes = changes = Changes(clock.now())
        self._wired = dict(wired or {})
        self._state = "new"
        self._asked: set[asyncio.Future[Any]] = set()
        # Seeded once: asking the system each time gives up the interpreter lock and waits for it again.
        self._chance = random.Random(random.SystemRandom().getrandbits(256))
        self.log = EventLog(registry.catalogue)
        self.log.wake, self.log.stop = self._event_came, self._job_was_cancelled
        self._journal = Journal(
            database, clock, wake=self.wake, fail=self.fail, begin=self.log.begin, changed=changes.touched
        )
        self._timers = Timers(clock, due_runs=self._due_runs, wake=self._fell_due)
        self._runner = runner = Runner(
            database=database, journal=self._journal, timers=self._timers, limits=limits, strict=strict,
            fail=self.fail, incident=self.incident, finish=self._finish,
        )  # fmt: skip
        self._memory = runner.memory = Memory(
            registry=registry, database=database, clock=clock, journal=self._journal, timers=self._timers, limits=limits, strict=strict,
            wake=runner.wake, admit_soon=runner.go_on, changed=changes.touched,
        )  # fmt: skip
        self._attempts = Attempts(
            clock=clock, timers=self._timers, wiring=self._use, slots=limits.loop_steps, threads=limits.thread_steps, processes=limits.process_steps,
            tally=tally,
        )  # fmt: skip
        self._dispatcher = runner.dispatcher = self._memory.dispatcher = Dispatcher(
            keeper=self, journal=self._journal, timers=self._timers, clock=clock, attempts=self._attempts, tally=tally
        )
        self._attempts.publish = self._publish
        self._endings = Endings(
            database=database, journal=self._journal, memory=self._memory, fail=self.fail, wake=runner.wake, next_of=self._next_of,
            log=self.log, changed=changes.touched, tally=tally,
        )  # fmt: skip
        self._endings.commands = runner.commands = Commands(
            keeper=self, registry=registry, journal=self._journal, timers=self._timers, clock=clock, log=self.log
        )

        self.delivery = Delivery(
            Surroundings(
                keeper=self, registry=registry, database=database, journal=self._journal, timers=self._timers, clock=clock,
                attempts=self._attempts, log=self.log, outlets=dict(outlets or {}),
            ),
            fail=self.fail, share=share, leaves=leaves_subscriptions, lease_seconds=limits.lease_seconds,
        )  # fmt: skip
        self._calls = Calls(
            database=database, journal=self._journal, memory=self._memory, runner=runner, endings=self._endings,
            commands=runner.commands, changed=changes.touched,
        )  # fmt: skip

    # Life

    async def open(self) -> None:
        """Take up all open runs: what is due, what was under way, what was blocked before."""
        guard.install()
        self._state = "open"
        self._timers.open()
        for state in _TAKEN_UP:
            for pk in self._in_state(state):
                self._memory.waiting_outside.setdefault(pk)
        self._runner.open()
        self.delivery.open()
        self._calls.is_open = self.database.is_shared
        self._calls.look()
        self.database.listen(self._heard)

    async def close(self) -> None:
        """Let steps end for a while, then leave. Whatever is not done then is taken up at the next start."""
        if self._state != "open":
            return
        self._state = "closing"
        self._dispatcher.closing = True
        self.delivery.drain()
        await self._attempts.drain(self.limits.drain_seconds)
        if self.failure is None:
            await self.delivery.release()
        self._leave()

    def kill(self) -> None:
        """Leave as a killed process would; for tests of what a restart finds."""
        self._attempts.forsake()
        self.database.abandon()
        self._leave()
        for answer in tuple(self._asked):
            if not answer.done():
                answer.set_exception(EngineUnavailable(NO_ANSWER))

    def fail(self, error: BaseException) -> None:
        """The store cannot be trusted any more: stop at once, and say so to everybody who waits."""
        if self._state not in ("open", "closing"):
            return
        self.failure = error
        log.error("engine.failed", error=type(error).__name__, detail=str(error))
        self._attempts.forsake()
        self._leave()
        if not self.failed.done():
            self.failed.set_result(None)

    def _leave(self) -> None:
        self._state = "closed"
        self._calls.is_open = False
        self._runner.close()
        self.delivery.close()
        self._timers.close()
        self._journal.close()
        self._memory.clear()
        self.changes.close()
        self.log.close()
        stopped = EngineUnavailable("the engine has stopped; the run goes on at the next start")
        self._endings.disappoint(self.failure or stopped)

    def _heard(self, what: str) -> None:
        """Another process has committed something."""
        if self._state != "open":
            return
        match what:
            case "log":
                self.delivery.wake()
            case "parts":
                self.delivery.look()
            case "calls":
                self._calls.look()

    def _check_open(self) -> None:
        if self._state != "open":
            why = f": {self.failure}" if self.failure else ""
            raise EngineUnavailable(f"the engine is {self._state}{why}") from self.failure

    @property
    def is_quiet(self) -> bool:
        """Whether nothing will happen before the next timer, so that a virtual clock may jump."""
        return (
            self._runner.is_quiet
            and self.delivery.is_quiet
            and self.database.pending() == 0
            and not self._journal.is_held
            and self._attempts.are_asleep
        )

    @property
    def steps_under_way(self) -> int:
        return len(self._attempts.under_way)

    # The calls that programs, server and CLI share

    async def start(self, flow: str, arguments: bytes, *, run_id: str | None = None, policy: Policy = "join") -> RunRef:
        self._check_open()
        definition = self.registry.flows[self.registry.find(flow)]
        by_template = run_id or definition.run_id_for(arguments)
        chosen = by_template or f"{definition.name}-{token(self._chance.getrandbits(64))}"
        new = self.new_run(definition, check_id(chosen), arguments)
        faultpoints.hit("start.before")

        def started(begun: Begun) -> None:
            faultpoints.hit("start.after")
            if begun.created:
                self.adopt(begun, new)

        begun = await self._ask(lambda tx: self.log.begin(tx, new, policy), started)
        return RunRef(begun.id, begun.number)

    async def _publish(
        self,
        topic: str,
        data: object,
        *,
        subject: str | JobRef,
        event_id: str,
        source: str,
        time: datetime | None,
        cause: str,
    ) -> Published:
        """What a step or a handler says; what it knows of jobs it has from the subject alone."""
        return await self.publish(
            self.log.new_event(
                topic,
                data,
                subject=subject,
                event_id=event_id,
                source=source,
                time=time,
                cause=cause,
                at=self.clock.now(),
            )
        )

    async def publish(self, new: NewEvent) -> Published:
        """Append an event to the log and let it move its job; both are on disk when this returns."""
        self._check_open()
        faultpoints.hit("publish.before")
        publication = await self._ask(lambda tx: self.log.write(tx, new), self.log.told)
        return publication.published

    async def send(self, run_id: str, topic: str, value: bytes) -> None:
        self._check_open()
        at = self.clock.now()
        faultpoints.hit("message.before")

        def sent(put: tuple[int, Message]) -> None:
            faultpoints.hit("message.after")
            self.notify(*put)

        await self._ask(lambda tx: put_message_for(tx, run_id, topic, value, at), sent)

    async def cancel(self, run_id: str, *, force: bool = False) -> RunState:
        self._check_open()
        at = self.clock.now()
        _, state, _ = await self._ask(
            lambda tx: self._cancel(tx, run_id, at, force=force), lambda found: self._cancelled(run_id, *found)
        )
        return state

    async def retry(self, run_id: str) -> RunRef:
        self._check_open()
        record = self._record(run_id)
        if record.state in SET_ASIDE:
            at = self.clock.now()

            def released(_: None) -> None:
                self.changes.touched(record.pk)
                self._memory.call_in(record.pk)

            await self._ask(lambda tx: _release(tx, record.pk, at), released)
            return RunRef(record.id, record.number)
        if record.state.is_open or record.state is RunState.COMPLETED:
            raise Conflict(f"run {run_id!r} is {record.state}; there is nothing to try again")
        return await self.start(record.flow, record.input, run_id=record.id)

    async def _ask(self, operation: Operation[T], then: Callable[[T], None]) -> T:
        """Write for a caller, with what it wants recorded beside, and tell the runs that it concerns, whether or not the caller still waits.

        ``then`` is called in the order of the commits. The caller gets its turn later, when what was committed behind its wish may already
        have changed the same run.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._asked.add(answer)
        answer.add_done_callback(self._asked.discard)

        def done(result: T, error: BaseException | None) -> None:
            if error is None:
                then(result)
            if answer.done():
                return
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

        self.database.submit(with_companion(operation), done)
        return await answer

    async def wait(self, run_id: str, number: int | None = None) -> RunEnd:
        while True:
            run = self._memory.by_id.get(run_id)
            if run is None or run.number != number:
                record = self._record(run_id, number)
                if not record.state.is_open and record.continued_as is None:
                    return RunEnd(record.id, record.state, record.result, record.error, record.flow)
                pk, number = record.pk, record.number
            else:
                pk, record = run.pk, None
            if record is None or record.state.is_open:
                self._check_open()
                ended = await self._endings.awaited(pk)
                if ended is not None:
                    return ended
            number += 1  # it goes on as the next run of its id

    def _record(self, run_id: str, number: int | None = None) -> RunRecord:
        record = self.database.read(lambda reader: run_by_id(reader, run_id, number))
        if record is None:
            raise RunNotFound(run_id)
        return record

    def stack(self, run_id: str) -> list[str]:
        run = self._memory.by_id.get(run_id)
        return [] if run is None else run.machine.stack()

    def doing(self, run_id: str) -> str:
        """What a run is doing at this moment, for people; empty if it is not in memory."""
        run = self._memory.by_id.get(run_id)
        return "" if run is None else run.doing()

    def under_way(self, run_id: str) -> list[UnderWay]:
        """What a run has asked for and not been answered; empty if it is not in memory."""
        run = self._memory.by_id.get(run_id)
        return [] if run is None or run.replay is not None else run.under_way()

    # What the parts ask of the whole

    def new_run(
        self,
        flow: Flow[Any, Any],
        run_id: str,
        arguments: bytes,
        *,
        parent: int | None = None,
        begun_at_pos: int | None = None,
        job: JobOfRun | None = None,
    ) -> NewRun:
        at = self.clock.now()
        return NewRun(
            id=run_id,
            flow=self.registry.name_of(flow),
            input=arguments,
            seed=self._chance.getrandbits(62),
            state=RunState.RUNNING if self._memory.has_room else RunState.QUEUED,
            at=at,
            deadline_at=None if flow.timeout is None else at + to_micros(flow.timeout),
            parent=parent,
            begun_at_pos=begun_at_pos,
            job=job,
        )

    def run_for(self, trigger: Trigger, event: Event[Any]) -> NewRun | None:
        return run_for(trigger, event, self.new_run, self._job_of)

    def _job_of(self, subject: Subject) -> JobRecord | None:
        return self.database.read(lambda reader: job_of(reader, subject))

    def _next_of(self, run: Resident, arguments: bytes) -> NewRun:
        return self.new_run(
            self.registry.flows[run.flow],
            run.id,
            arguments,
            parent=run.parent,
            begun_at_pos=run.machine.log_position,
            job=run.job,
        )

    def adopt(self, begun: Begun, new: NewRun) -> None:
        """A run has just been begun."""
        self.tally.runs_begun += 1
        self.changes.touched(begun.pk)
        if begun.replaced is not None:
            self._endings.replaced(begun.replaced)
        if self._state == "open":
            self._memory.take_in_fresh(begun, new)

    def wake(self, run: Resident) -> None:
        self._runner.wake(run)

    def _finish(self, run: Resident, ended: Ended) -> None:
        self._endings.finish(run, ended)

    def set_aside(self, run: Resident, state: RunState, reason: str) -> None:
        self._runner.set_aside(run, state, reason)

    def tell_of_end(self, pk: int, then: Callable[[RunEnd], None]) -> None:
        self._endings.tell_of_end(pk, then)

    def _fell_due(self, pk: int) -> None:
        if self._state == "open":
            self._memory.call_in(pk)

    def notify(self, pk: int, message: Message) -> None:
        """A message for this run is on disk."""
        run = self._memory.residents.get(pk)
        if run is None:
            self._fell_due(pk)
        elif run.replay is not None:
            run.fresh = False  # by now there is something to read back
        elif message.pk > run.last_message:
            run.last_message = message.pk
            run.inbox[message.topic].append(message)
            self._runner.commands.match(run, message.topic)

    def request_cancel(self, run_id: str) -> None:
        """A flow asks its child to stop."""
        at = self.clock.now()

        def done(result: tuple[int, RunState, Over] | None, error: BaseException | None) -> None:
            if result is not None:  # otherwise it has ended meanwhile
                self._cancelled(run_id, *result)

        self._journal.submit(lambda tx: self._cancel(tx, run_id, at, force=False), done)

    def _job_was_cancelled(self, pk: int, run_id: str) -> None:
        """The job that a run works for was cancelled by an event, which asked the run to stop in the same transaction."""
        self._cancelled(run_id, pk, RunState.CANCELLING, Over([]))

    def _event_came(self, pk: int, ordinal: int, published: Published) -> None:
        """An event that a run waits for is on disk."""
        run = self._memory.residents.get(pk)
        if run is None or run.replay is not None:
            self._fell_due(pk)
        else:
            self._runner.commands.event_came(run, ordinal, published.position)

    def _cancel(self, tx: Transaction, run_id: str, at: int, *, force: bool) -> tuple[int, RunState, Over]:
        found = tx.one(SQL.latest_run, {"id": run_id})
        if found is None:
            raise RunNotFound(run_id)
        pk, number, state = found[0], found[1], RunState(found[2])
        if not state.is_open:
            raise RunAlreadyEnded(run_id, state)
        if force or state in SET_ASIDE:
            reason = "ended by force, without clean-up" if force else f"cancelled while {state}, without clean-up"
            ending = end(tx, pk, RunState.CANCELLED, at=at, reason=reason) or Ending([])
            told = self.log.write_end(tx, run_id, number, ending, RunState.CANCELLED, at=at, result=None, error=None)
            return pk, RunState.CANCELLED, Over(ending.waiters, told)
        tx.run(SQL.ask_to_cancel, {"pk": pk, "at": at})
        return pk, RunState.CANCELLING, Over([])

    def _cancelled(self, run_id: str, pk: int, state: RunState, over: Over) -> None:
        run = self._memory.residents.get(pk)
        if state is RunState.CANCELLED:
            self._endings.over(pk, over, RunEnd(run_id, state, None, None))
            return
        self.changes.touched(pk)
        if run is None:
            self._fell_due(pk)
        else:
            run.cancel_wanted = True
            if run.replay is None:
                self._runner.record_cancel(run)

    def incident(self, run: Resident | None, name: str, detail: str) -> None:
        """Something that an operator would want to know later."""
        log.warning(name, run_id=None if run is None else run.id, detail=detail)
        pk, at = None if run is None else run.pk, self.clock.now()
        if self._state == "open":
            self._journal.submit(lambda tx: add_incident(tx, pk, at, name, detail), lambda _result, _error: None)

    def _use(self, pipeline: str, kind: type[Any]) -> Any:
        return pick(self._wired.get(pipeline, ()), kind, pipeline)

    def _in_state(self, state: RunState) -> list[int]:
        return self.database.read(lambda reader: list(runs_in_state(reader, state)))

    def _due_runs(self, until: int, after: tuple[int, int], count: int) -> list[tuple[int, int]]:
        return self.database.read(lambda reader: due_runs(reader, until=until, after=after, count=count))


def _release(tx: Transaction, pk: int, at: int) -> None:
    tx.run(SQL.forget_attempts, {"run": pk})
    tx.run(SQL.set_going, {"pk": pk, "at": at})
