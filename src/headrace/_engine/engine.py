"""The embedded engine: all runs of one store, in one process, on one event loop.

The data's way: a flow issues commands -> they are begun -> what comes of them is recorded -> after the commit it is delivered, one completion
at a time, in the order of the journal -> the flow goes on and issues the next commands.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace._authoring import guard
from headrace._authoring.context import Policy, RunRef, pick
from headrace._authoring.flow import Flow
from headrace._authoring.identity import check_id, token
from headrace._authoring.pipeline import Registry
from headrace._base import faultpoints, log
from headrace._base.clock import SystemClock, to_micros
from headrace._engine.attempts import Attempts
from headrace._engine.commands import ChildEnd, Commands, put_message_for
from headrace._engine.dispatch import Dispatcher
from headrace._engine.journal import Journal
from headrace._engine.machine import Command, Ended, Replay, RunMachine
from headrace._engine.resident import Resident, Shown
from headrace._engine.timers import Timers
from headrace._engine.watchdog import Watchdog
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Reader, SqlValue, Transaction
from headrace._runs.model import SET_ASIDE, Begun, Kind, Message, NewRun, Outcome, RunRecord, RunState
from headrace._runs.store import (
    SQL,
    attempts_of,
    begin,
    continue_as,
    due_runs,
    end,
    fetch,
    journal_of,
    messages_of,
    run_by_id,
    run_by_pk,
    runs_in_state,
)
from headrace.errors import (
    Conflict,
    EngineUnavailable,
    FlowNotFound,
    NotDeterministic,
    ReplayDiverged,
    RunAlreadyEnded,
    RunNotFound,
    ValueRefused,
)

_SLICE = 0.002
_PUMP = 0.004


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much at once; none of these changes what happens, only when."""

    active_runs: int = 5_000
    idle_runs: int = 2_000
    loop_steps: int = 1_000
    thread_steps: int = 32
    process_steps: int = field(default_factory=lambda: os.cpu_count() or 1)
    history_warning: int = 10_000
    history: int = 50_000
    drain_seconds: float = 10.0


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
    ) -> None:
        self.registry = registry
        self.database = database
        self.clock = clock
        self.limits = limits or Limits()
        self._wired = dict(wired or {})
        self._strict = strict
        self._loop = asyncio.get_running_loop()
        self._residents: dict[int, Resident] = {}
        self._idle: OrderedDict[int, Resident] = OrderedDict()
        self._ready: deque[Resident] = deque()
        self._admit: OrderedDict[int, None] = OrderedDict()
        self._pumping = False
        # Ended or set aside in memory, and not yet on disk: nobody may load what the file still says of them.
        self._leaving: set[int] = set()
        self._waiting: defaultdict[int, list[asyncio.Future[None]]] = defaultdict(list)
        self._state = "new"
        self.failure: BaseException | None = None
        self.failed: asyncio.Future[None] = self._loop.create_future()
        self._chance = random.SystemRandom()
        self._journal = Journal(database, clock, wake=self.wake, fail=self.fail)
        self._timers = Timers(clock, due_runs=self._due_runs, wake=self.activate)
        self._attempts = Attempts(
            clock=clock, timers=self._timers, wiring=self._use, ended=self._attempt_ended, late=self._attempt_late, said=self._attempt_said,
            slots=self.limits.loop_steps, threads=self.limits.thread_steps, processes=self.limits.process_steps,
        )  # fmt: skip
        self._dispatcher = Dispatcher(
            keeper=self, journal=self._journal, timers=self._timers, clock=clock, attempts=self._attempts
        )
        self._commands = Commands(
            keeper=self, registry=registry, journal=self._journal, timers=self._timers, clock=clock
        )
        self._watchdog = Watchdog(self._never_yields, SystemClock())

    # Life

    async def open(self) -> None:
        """Take up all open runs: what is due first, then what was under way, then what was blocked before."""
        guard.install()
        self._state = "open"
        self._watchdog.start()
        self._timers.open()
        for state in (RunState.RUNNING, RunState.CANCELLING, RunState.QUEUED, RunState.BLOCKED):
            for pk in self._in_state(state):
                self._admit.setdefault(pk)
        self._schedule_pump()

    async def close(self) -> None:
        """Let steps end for a while, then leave. Whatever is not done then is taken up at the next start."""
        if self._state != "open":
            return
        self._state = "closing"
        self._dispatcher.closing = True
        await self._attempts.drain(self.limits.drain_seconds)
        self._leave()

    def kill(self) -> None:
        """Leave as a killed process would; for tests of what a restart finds."""
        self._attempts.forsake()
        self.database.abandon()
        self._leave()

    def _leave(self) -> None:
        self._state = "closed"
        self._watchdog.stop()
        self._timers.close()
        self._journal.close()
        for run in self._residents.values():
            run.gone = True
            run.machine.close()
        self._residents.clear()
        self._idle.clear()
        self._admit.clear()
        for futures in self._waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(
                        self.failure or EngineUnavailable("the engine has stopped; the run goes on at the next start")
                    )
        self._waiting.clear()

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

    def _check_open(self) -> None:
        if self._state != "open":
            raise EngineUnavailable(
                f"the engine is {self._state}" + (f": {self.failure}" if self.failure else "")
            ) from self.failure

    @property
    def is_quiet(self) -> bool:
        """Whether nothing will happen before the next timer, so that a virtual clock may jump."""
        return (
            not self._ready
            and not self._admit
            and not self._pumping
            and self.database.pending() == 0
            and not self._journal.is_held
            and len(self._attempts.under_way) == self._attempts.sleeping
        )

    # The calls that programs, CLI and server share

    async def start(self, flow: str, arguments: bytes, *, run_id: str | None = None, policy: Policy = "join") -> RunRef:
        """Begin a run, or join the one of that id; it is on disk when this returns."""
        self._check_open()
        full = self.registry.find(flow)
        definition = self.registry.flows[full]
        chosen = (
            run_id or definition.run_id_for(arguments) or f"{definition.name}-{token(self._chance.getrandbits(64))}"
        )
        new = self.new_run(definition, check_id(chosen), arguments, parent=None)
        answer: asyncio.Future[RunRef] = self._loop.create_future()
        faultpoints.hit("start.before")

        def done(begun: Begun | None, error: BaseException | None) -> None:
            faultpoints.hit("start.after")
            # Here and not after the wait: what was committed behind this start may already speak of the run.
            if begun is not None and begun.created:
                self.adopt(begun, new)
            if answer.done():
                return
            if begun is None:
                answer.set_exception(error or EngineUnavailable("the store gave no answer"))
            else:
                answer.set_result(RunRef(begun.id, begun.number))

        self.database.submit(lambda tx: begin(tx, new, policy), done)
        return await answer

    async def send(self, run_id: str, topic: str, value: bytes) -> None:
        self._check_open()
        at = self.clock.now()
        faultpoints.hit("message.before")
        pk, message = await self.database.write(lambda tx: put_message_for(tx, run_id, topic, value, at))
        faultpoints.hit("message.after")
        self.notify(pk, message)

    async def cancel(self, run_id: str, *, force: bool = False) -> RunState:
        """Ask a run to stop, or with ``force`` end it without clean-up. Returns the state it is in then."""
        self._check_open()
        at = self.clock.now()
        pk, state, waiters = await self.database.write(lambda tx: _cancel(tx, run_id, at, force=force))
        if state is RunState.CANCELLED:
            self._over(pk, waiters, ChildEnd(run_id, state, None, None))
        else:
            self._cancel_asked(pk)
        return state

    async def retry(self, run_id: str) -> RunRef:
        """Let a blocked or quarantined run go on, or start a failed one again with the same input."""
        self._check_open()
        record = self._record(run_id)
        if record.state in SET_ASIDE:
            await self.database.write(lambda tx: _release(tx, record.pk, self.clock.now()))
            self._discard(record.pk)
            self.activate(record.pk)
            return RunRef(record.id, record.number)
        if record.state.is_open or record.state is RunState.COMPLETED:
            raise Conflict(f"run {run_id!r} is {record.state}; there is nothing to try again")
        return await self.start(record.flow, record.input, run_id=record.id)

    async def wait(self, run_id: str, number: int | None = None) -> RunRecord:
        """Wait for the end of a run and return its record; a run that continues as a new one is followed."""
        while True:
            record = self._record(run_id, number)
            if record.continued_as is not None:
                number = record.continued_as
                continue
            if not record.state.is_open:
                return record
            self._check_open()
            ended: asyncio.Future[None] = self._loop.create_future()
            self._waiting[record.pk].append(ended)
            await ended
            number = record.number

    def _record(self, run_id: str, number: int | None = None) -> RunRecord:
        record = self.database.read(lambda reader: run_by_id(reader, run_id, number))
        if record is None:
            raise RunNotFound(run_id)
        return record

    def stack(self, run_id: str) -> list[str]:
        """Where the code of a run waits; empty if it is not in memory."""
        run = next((item for item in self._residents.values() if item.id == run_id), None)
        return [] if run is None else run.machine.stack()

    # Runs come into memory

    def new_run(self, flow: Flow[Any, Any], run_id: str, arguments: bytes, *, parent: int | None) -> NewRun:
        at = self.clock.now()
        return NewRun(
            id=run_id,
            flow=self.registry.name_of(flow),
            input=arguments,
            seed=self._chance.getrandbits(62),
            state=RunState.RUNNING if self._has_room() else RunState.QUEUED,
            at=at,
            deadline_at=None if flow.timeout is None else at + to_micros(flow.timeout),
            parent=parent,
        )

    def _has_room(self) -> bool:
        return len(self._residents) - len(self._idle) < self.limits.active_runs

    def adopt(self, begun: Begun, new: NewRun) -> None:
        """A run has just been begun: take it up without reading it back."""
        if begun.replaced is not None:
            self._replaced(begun.replaced)
        if new.state is RunState.QUEUED:
            self.activate(begun.pk)
            return
        self._take_up(_fresh_record(begun, new), fresh=True)

    def activate(self, pk: int) -> None:
        """Something is due for this run; bring it into memory if it is not."""
        run = self._residents.get(pk)
        if run is not None:
            self.wake(run)
        elif self._state == "open":
            self._admit.setdefault(pk)
            self._schedule_pump()

    def _load(self, pk: int) -> None:
        if pk in self._residents or pk in self._leaving:
            return
        record = self.database.read(lambda reader: run_by_pk(reader, pk))
        if record is None or not record.state.is_open or record.state is RunState.QUARANTINED:
            return
        if record.started_at is None:
            at = self.clock.now()
            self._journal.submit(
                lambda tx: tx.run(SQL.set_going, {"pk": pk, "at": at}), lambda _result, _error: self.activate(pk)
            )
            return
        self._take_up(record)

    def _take_up(self, record: RunRecord, *, fresh: bool = False) -> None:
        flow = self.registry.flows.get(record.flow)
        if flow is None:
            self._show(
                record.pk, Shown(RunState.BLOCKED, str(FlowNotFound(record.flow, tuple(self.registry.flows))), None, "")
            )
            return
        rows = [] if fresh else self.database.read(lambda reader: journal_of(reader, record.pk))
        machine = RunMachine(
            flow=flow, run_id=record.id, number=record.number, seed=record.seed, started_at=record.started_at or record.created_at,
            arguments=record.input, patches=frozenset(row.name for row in rows if row.kind == Kind.PATCH), strict=self._strict,
        )  # fmt: skip
        run = Resident(record, machine, self.registry.pipeline_of[record.flow].name)
        run.replay = Replay(machine, rows)
        run.fresh = fresh
        run.cancel_sent = any(row.kind == Kind.CANCEL for row in rows)
        run.cancel_wanted = record.cancel_at is not None
        if rows:
            run.seq, run.last_at = rows[-1].seq, rows[-1].at
        self._residents[record.pk] = run
        self.wake(run)

    # Running

    def wake(self, run: Resident) -> None:
        if run.queued or run.gone:
            return
        run.queued = True
        self._idle.pop(run.pk, None)
        self._ready.append(run)
        self._schedule_pump()

    def _schedule_pump(self) -> None:
        if not self._pumping and self._state == "open":
            self._pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Give each run that can go on a slice, for a few milliseconds; then let the host's loop do its other work."""
        until = time.perf_counter() + _PUMP
        try:
            while self._ready and self._state == "open":
                run = self._ready.popleft()
                run.queued = False
                if not run.gone:
                    self._step(run)
                if time.perf_counter() > until:
                    break
            while self._admit and self._state == "open" and self._has_room() and time.perf_counter() < until:
                self._load(self._admit.popitem(last=False)[0])
        except Exception as error:  # noqa: BLE001 - a defect of the engine itself: nothing may go on as if nothing had happened
            self.fail(error)
        self._pumping = False
        if self._ready or (self._admit and self._has_room()):
            self._schedule_pump()

    def _step(self, run: Resident) -> None:
        self._watchdog.enter(run)
        try:
            self._advance(run)
        except (ReplayDiverged, NotDeterministic) as error:
            self.set_aside(run, RunState.BLOCKED, str(error))
        except ValueRefused as error:
            self.set_aside(run, RunState.BLOCKED, f"its recorded input does not fit the flow any more: {error}")
        finally:
            if self._watchdog.leave() is not None:
                self._yielded_after_all(run)

    def _advance(self, run: Resident) -> None:
        machine = run.machine
        if run.replay is not None:
            if not run.replay.run(_SLICE):
                self.wake(run)
                return
            self._warn_of_changes(run)
            run.replay = None
            if machine.ended is None:
                self._go_live(run)
        while not run.gone:
            if not machine.advance(_SLICE):
                self.wake(run)
                return
            if machine.violation is not None:
                raise machine.violation
            self._take_commands(run)
            if machine.ended is not None:
                self._finish(run, machine.ended)
                return
            if not run.arrived:
                break
            faultpoints.hit("delivery.before")
            row, ready = run.arrived.popleft()
            machine.deliver(row, *ready)
        if not run.gone:
            self._settle(run)

    def _warn_of_changes(self, run: Resident) -> None:
        for command, recorded in run.machine.changed_arguments:
            detail = (
                f"{command} at command {command.ordinal}: recorded {_short(recorded)}, now {_short(command.arguments)}"
            )
            if self._strict:
                raise ReplayDiverged(
                    run.id,
                    command.ordinal,
                    f"{command} with {_short(recorded)}",
                    f"{command} with {_short(command.arguments)}",
                )
            self.incident(run, "replay.arguments_changed", detail)
        run.machine.changed_arguments.clear()

    def _take_commands(self, run: Resident) -> None:
        machine = run.machine
        if machine.new_patches:
            for name in machine.new_patches:
                self._journal.record_outside(run, Kind.PATCH, name)
            machine.new_patches.clear()
        if machine.issued:
            issued, machine.issued = machine.issued, []
            for command in issued:
                if machine.is_open(command):
                    self._begin(run, command)
        if machine.withdrawn:
            withdrawn, machine.withdrawn = machine.withdrawn, []
            for command in withdrawn:
                if command.kind is Kind.STEP:
                    self._dispatcher.cancel(run, command)
                else:
                    self._commands.withdraw(run, command)

    def _begin(self, run: Resident, command: Command) -> None:
        if command.cancelling and command.mark is None:  # given up before it was begun
            self._journal.record(
                run, command.ordinal, command.kind, command.name, command.arguments, Outcome.CANCELLED, None
            )
        elif command.kind is Kind.STEP:
            self._dispatcher.begin(run, command)
        else:
            self._commands.begin(run, command)

    def _go_live(self, run: Resident) -> None:
        """The journal is used up: begin, in order, what the flow asked for and nobody has answered."""
        faultpoints.hit("replay.after")
        machine = run.machine
        machine.issued.clear()
        machine.withdrawn.clear()
        if not run.fresh:
            self._read_back(run)
        if run.deadline_at is not None and not machine.is_stopping:
            run.deadline = self._timers.add(run.deadline_at, self._deadline, run)
        for command in machine.open_commands():
            if command.cancelling and command.kind is Kind.STEP:
                self._journal.record(
                    run, command.ordinal, command.kind, command.name, command.arguments, Outcome.CANCELLED, None
                )
            else:
                self._begin(run, command)
        if not run.fresh:
            for ordinal, ended in self.database.read(lambda reader: _ended_children(reader, run.pk)):
                self._commands.child_ended(run, ordinal, ended)
        self._record_cancel(run)

    def _read_back(self, run: Resident) -> None:
        def query(reader: Reader) -> None:
            for attempt in attempts_of(reader, run.pk):
                run.attempts.setdefault(attempt.command, []).append(attempt)
            for message in messages_of(reader, run.pk):
                run.inbox[message.topic].append(message)
                run.last_message = message.pk
            for command, value, _ in reader.all(SQL.progress_of, {"run": run.pk}):
                run.progress[command] = value

        self.database.read(query)

    def _settle(self, run: Resident) -> None:
        """The flow waits: say so on disk if nothing is under way, and let the least recently used ones leave memory."""
        if run.seq >= self.limits.history_warning:
            self._check_history(run)
        if run.gone or run.is_busy:
            return
        shown = run.waiting_for()
        if shown != run.shown:
            self._show(run.pk, shown, run)
        else:
            self._rest(run)

    def _check_history(self, run: Resident) -> None:
        if run.seq >= self.limits.history:
            reason = f"its journal has {run.seq} rows; use continue_as_new in the flow, or raise the limit and run: headrace runs retry {run.id}"
            self.set_aside(run, RunState.BLOCKED, reason)
        elif run.seq == self.limits.history_warning:
            self.incident(
                run, "run.history_large", f"{run.seq} rows; a flow that goes on for ever should use continue_as_new"
            )

    def _show(self, pk: int, shown: Shown, run: Resident | None = None) -> None:
        at = self.clock.now()
        parameters = {
            "pk": pk,
            "state": shown.state.value,
            "reason": shown.reason[:1000],
            "next_at": shown.next_at,
            "location": shown.location,
            "at": at,
        }
        if run is not None:
            run.shown = shown
            run.writing += 1

        def done(_: Any, error: BaseException | None) -> None:
            self._leaving.discard(pk)
            if run is not None:
                run.writing -= 1
                if not run.gone and not run.is_busy and run.shown is shown:
                    self._rest(run)

        self._journal.submit(lambda tx: tx.run(SQL.set_state, parameters), done)

    def _rest(self, run: Resident) -> None:
        self._idle[run.pk] = run
        self._idle.move_to_end(run.pk)
        while len(self._idle) > self.limits.idle_runs:
            _, oldest = self._idle.popitem(last=False)
            self._evict(oldest)
        if self._admit:
            self._schedule_pump()

    def _evict(self, run: Resident) -> None:
        faultpoints.hit("eviction.before")
        self._forget(run)
        self._timers.leave_on_disk(run.pk, run.shown.next_at)

    def _forget(self, run: Resident) -> None:
        """Take a run out of memory; what the file says of it stays true."""
        run.gone = True
        self._residents.pop(run.pk, None)
        self._idle.pop(run.pk, None)
        self._dispatcher.drop(run)
        for entry in run.timers.values():
            self._timers.cancel(entry)
        if run.deadline is not None:
            self._timers.cancel(run.deadline)
        run.machine.close()
        if self._admit:
            self._schedule_pump()

    def _discard(self, pk: int) -> None:
        run = self._residents.get(pk)
        if run is not None:
            self._forget(run)

    def set_aside(self, run: Resident, state: RunState, reason: str) -> None:
        """This run cannot go on by itself; nothing of it is lost."""
        location = run.machine.location()
        self._forget(run)
        self._leaving.add(run.pk)
        self._show(run.pk, Shown(state, reason, None, location))
        log.error(f"run.{state}", run_id=run.id, flow=run.flow, reason=reason)

    # Ending

    def _finish(self, run: Resident, ended: Ended) -> None:
        faultpoints.hit("run.before_end")
        self._forget(run)
        self._leaving.add(run.pk)
        at = self._journal.now_for(run)
        if ended.state is RunState.REPLACED:
            self._continue(run, ended)
            return

        def operation(tx: Transaction) -> list[tuple[int, int]]:
            return end(tx, run.pk, ended.state, at=at, reason=ended.reason, result=ended.result, error=ended.error)

        def done(waiters: list[tuple[int, int]] | None, error: BaseException | None) -> None:
            self._leaving.discard(run.pk)
            if error is not None:
                self.fail(error)
            else:
                log.info("run.ended", run_id=run.id, flow=run.flow, state=ended.state.value, reason=ended.reason or None)
                self._over(run.pk, waiters or [], ChildEnd(run.id, ended.state, ended.result, ended.error))

        self._journal.submit(operation, done)

    def _continue(self, run: Resident, ended: Ended) -> None:
        faultpoints.hit("run.before_continue")
        flow = self.registry.flows[run.flow]
        new = self.new_run(flow, run.id, ended.arguments or b"{}", parent=run.parent)

        def done(begun: Begun | None, error: BaseException | None) -> None:
            self._leaving.discard(run.pk)
            if begun is None:
                self.fail(error or EngineUnavailable("a run could not be continued"))
                return
            self._wake_waiters(run.pk)
            # Not as a fresh one: it has inherited messages.
            self.activate(begun.pk)

        self._journal.submit(lambda tx: continue_as(tx, run.pk, new, number=run.number + 1), done)

    def _over(self, pk: int, waiters: list[tuple[int, int]], ended: ChildEnd) -> None:
        """The end of a run is on disk: tell everybody who waits for it."""
        faultpoints.hit("run.after_end")
        self._discard(pk)
        self._wake_waiters(pk)
        for waiter, ordinal in waiters:
            run = self._residents.get(waiter)
            if run is None or run.replay is not None:
                self.activate(waiter)
            else:
                self._commands.child_ended(run, ordinal, ended)
                self.wake(run)

    def _wake_waiters(self, pk: int) -> None:
        for future in self._waiting.pop(pk, ()):
            if not future.done():
                future.set_result(None)

    def _replaced(self, pk: int) -> None:
        ended = self.end_of(pk)
        waiters = self.database.read(
            lambda reader: [(row[0], row[1]) for row in reader.all(SQL.waiters_of, {"run": pk})]
        )
        if ended is not None:
            self._over(pk, waiters, ended)

    def end_of(self, pk: int) -> ChildEnd | None:
        record = self.database.read(lambda reader: run_by_pk(reader, pk))
        if record is None or record.state.is_open:
            return None
        return ChildEnd(record.id, record.state, record.result, record.error)

    # Things that come from outside

    def notify(self, pk: int, message: Message) -> None:
        run = self._residents.get(pk)
        if run is None or run.replay is not None:
            self.activate(pk)
        elif message.pk > run.last_message:
            run.last_message = message.pk
            run.inbox[message.topic].append(message)
            self._commands.match(run, message.topic)

    def request_cancel(self, run_id: str) -> None:
        at = self.clock.now()

        def done(result: tuple[int, RunState, list[tuple[int, int]]] | None, error: BaseException | None) -> None:
            if result is None:
                return  # it has ended meanwhile
            pk, state, waiters = result
            if state is RunState.CANCELLED:
                self._over(pk, waiters, ChildEnd(run_id, state, None, None))
            else:
                self._cancel_asked(pk)

        self._journal.submit(lambda tx: _cancel(tx, run_id, at, force=False), done)

    def _cancel_asked(self, pk: int) -> None:
        run = self._residents.get(pk)
        if run is None:
            self.activate(pk)
        else:
            run.cancel_wanted = True
            if run.replay is None:
                self._record_cancel(run)

    def _record_cancel(self, run: Resident) -> None:
        if run.cancel_wanted and not run.cancel_sent and not run.machine.is_stopping:
            faultpoints.hit("cancel.before")
            run.cancel_sent = True
            self._journal.record_outside(run, Kind.CANCEL)

    def _deadline(self, run: Resident) -> None:
        if not run.gone and not run.machine.is_stopping:
            self._journal.record_outside(run, Kind.DEADLINE)

    # Small services for the parts

    def incident(self, run: Resident | None, name: str, detail: str) -> None:
        parameters: dict[str, SqlValue] = {
            "at": self.clock.now(),
            "run": None if run is None else run.pk,
            "name": name,
            "detail": detail,
        }
        log.warning(name, run_id=None if run is None else run.id, detail=detail)
        if self._state == "open":
            self._journal.submit(lambda tx: tx.run(SQL.add_incident, parameters), lambda _result, _error: None)

    def _never_yields(self, run: Resident, stack: str) -> None:
        """In the watchdog's thread: if this process is killed now, the next one leaves the run alone."""
        reason = f"its code did not yield for many seconds, so it stopped everything else; mend it, then: headrace runs retry {run.id}\n{stack}"
        at = self.clock.now()
        parameters = {
            "pk": run.pk,
            "state": RunState.QUARANTINED.value,
            "reason": reason,
            "next_at": None,
            "location": "",
            "at": at,
        }
        self.database.submit_from_thread(lambda tx: tx.run(SQL.set_state, parameters))
        log.error(
            "flow.never_yields",
            run_id=run.id,
            flow=run.flow,
            stack=stack,
            hint="kill this process; the next one sets the run aside",
        )

    def _yielded_after_all(self, run: Resident) -> None:
        if not run.gone:
            self._show(run.pk, Shown(RunState.RUNNING, "", None, ""), run)

    def _use(self, pipeline: str, kind: type[Any]) -> Any:
        return pick(self._wired.get(pipeline, ()), kind, pipeline)

    def _in_state(self, state: RunState) -> list[int]:
        return self.database.read(lambda reader: list(runs_in_state(reader, state)))

    def _due_runs(self, until: int, after: tuple[int, int], count: int) -> list[tuple[int, int]]:
        return self.database.read(lambda reader: due_runs(reader, until=until, after=after, count=count))

    def _attempt_ended(self, *ending: Any) -> None:
        self._dispatcher.ended(*ending)

    def _attempt_late(self, *ending: Any) -> None:
        self._dispatcher.late(*ending)

    def _attempt_said(self, *said: Any) -> None:
        self._dispatcher.said(*said)


def _cancel(tx: Transaction, run_id: str, at: int, *, force: bool) -> tuple[int, RunState, list[tuple[int, int]]]:
    found = tx.one(SQL.latest_run, {"id": run_id})
    if found is None:
        raise RunNotFound(run_id)
    pk, state = found[0], RunState(found[2])
    if not state.is_open:
        raise RunAlreadyEnded(run_id, state)
    if force or state in SET_ASIDE:
        reason = "ended by force, without clean-up" if force else f"cancelled while {state}, without clean-up"
        return pk, RunState.CANCELLED, end(tx, pk, RunState.CANCELLED, at=at, reason=reason)
    tx.run(SQL.ask_to_cancel, {"pk": pk, "at": at})
    return pk, RunState.CANCELLING, []


def _release(tx: Transaction, pk: int, at: int) -> None:
    tx.run(SQL.forget_attempts, {"run": pk})
    tx.run(SQL.set_going, {"pk": pk, "at": at})


def _ended_children(reader: Reader, waiter: int) -> list[tuple[int, ChildEnd]]:
    found = reader.all(SQL.awaited_by, {"waiter": waiter})
    return [
        (command, ChildEnd(id, RunState(state), fetch(reader, result), fetch(reader, error)))
        for command, _, id, _, state, result, error, _ in found
        if not RunState(state).is_open
    ]


def _fresh_record(begun: Begun, new: NewRun) -> RunRecord:
    return RunRecord(
        pk=begun.pk, id=begun.id, number=begun.number, flow=new.flow, state=new.state, reason="", location="", since_at=new.at, next_at=None,
        input=new.input, result=None, error=None, seed=new.seed, parent=new.parent, deadline_at=new.deadline_at, cancel_at=None,
        created_at=new.at, started_at=new.at, finished_at=None, continued_as=None,
    )  # fmt: skip


def _short(arguments: bytes | None) -> str:
    return (arguments or b"nothing").decode(errors="replace")[:200]
