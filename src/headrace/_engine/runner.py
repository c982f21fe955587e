"""Gives runs their slices of the event loop, and carries what they issue to those who do it.

The data's way: a flow issues commands -> they are begun -> what comes of them is recorded -> after the commit it is delivered, one completion
at a time, in the order of the journal -> the flow goes on and issues the next commands.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from headrace._base import faultpoints, log
from headrace._base.clock import SystemClock
from headrace._engine.commands import Commands, RunEnd
from headrace._engine.dispatch import Dispatcher
from headrace._engine.journal import SECONDS_BETWEEN_OFFERS, Journal
from headrace._engine.machine import Command, Ended
from headrace._engine.memory import Limits, Memory
from headrace._engine.resident import GOING, Resident
from headrace._engine.timers import Timers
from headrace._engine.watchdog import Watchdog
from headrace._ports.database import Database, Reader
from headrace._runs.model import Attempt, Kind, Message, Outcome, Progress, RunState
from headrace._runs.store import SQL, attempts_of, messages_of, progress_of, set_state
from headrace._store.blobs import naming, unseal
from headrace.errors import NotDeterministic, ReplayDiverged, StoreBusy, ValueRefused

_SLICE = 0.002
_PUMP = 0.004


class Found(NamedTuple):
    """What the store has of a run beside its journal."""

    attempts: list[Attempt]
    messages: list[Message]
    progress: list[Progress]
    ended_children: list[tuple[int, RunEnd]]


_NOTHING = Found([], [], [], [])


class Runner:
    def __init__(
        self,
        *,
        database: Database,
        journal: Journal,
        timers: Timers,
        limits: Limits,
        strict: bool,
        fail: Callable[[BaseException], None],
        incident: Callable[[Resident | None, str, str], None],
        finish: Callable[[Resident, Ended], None],
    ) -> None:
        self._database = database
        self._journal = journal
        self._timers = timers
        self._limits = limits
        self._strict = strict
        self._fail = fail
        self._incident = incident
        self._finish = finish
        self._loop = asyncio.get_running_loop()
        self._ready: deque[Resident] = deque()
        self._pumping = False
        self._watchdog = Watchdog(self._never_yields, SystemClock())
        self.is_open = False
        self.memory: Memory
        self.dispatcher: Dispatcher
        self.commands: Commands

    def open(self) -> None:
        self.is_open = True
        self._watchdog.start()
        self.go_on()

    def close(self) -> None:
        self.is_open = False
        self._watchdog.stop()
        self._ready.clear()

    @property
    def is_quiet(self) -> bool:
        return not (self._ready or self._pumping or (self.memory.waiting_outside and self.memory.has_room))

    # Slices

    def wake(self, run: Resident) -> None:
        if run.queued or run.gone:
            return
        run.queued = True
        self.memory.is_wanted(run)
        self._ready.append(run)
        self.go_on()

    def go_on(self) -> None:
        if not self._pumping and self.is_open:
            self._pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        """Give each run that can go on a slice, for a few milliseconds; then let the host's loop do its other work."""
        until = time.perf_counter() + _PUMP
        try:
            while self._ready and self.is_open:
                run = self._ready.popleft()
                run.queued = False
                if not run.gone:
                    self._step(run)
                if time.perf_counter() > until:
                    break
            memory = self.memory
            while memory.waiting_outside and self.is_open and memory.has_room and time.perf_counter() < until:
                memory.admit_next()
        except StoreBusy:
            # The database is away for a moment; whoever was to read from it does it then.
            self._loop.call_later(SECONDS_BETWEEN_OFFERS, self._pump)
            return
        except Exception as error:  # noqa: BLE001 - a defect of the engine itself: nothing may go on as if nothing had happened
            self._fail(error)
        self._pumping = False
        if self._ready or (self.memory.waiting_outside and self.memory.has_room):
            self.go_on()

    def _step(self, run: Resident) -> None:
        self._watchdog.enter(run)
        try:
            self._advance(run)
        except (ReplayDiverged, NotDeterministic) as error:
            self.set_aside(run, RunState.BLOCKED, str(error))
        except ValueRefused as error:
            self.set_aside(run, RunState.BLOCKED, f"its recorded input does not fit the flow any more: {error}")
        except StoreBusy:
            self.wake(run)
            raise
        finally:
            if self._watchdog.leave() is not None and not run.gone:
                self.memory.show(run.pk, GOING, run)

    def set_aside(self, run: Resident, state: RunState, reason: str) -> None:
        """This run cannot go on by itself; nothing of it is lost."""
        log.error(f"run.{state}", run_id=run.id, flow=run.flow, reason=reason)
        self.memory.set_aside(run, state, reason)

    def _advance(self, run: Resident) -> None:
        machine = run.machine
        if run.replay is not None and not self._rebuilt(run):
            return
        while not run.gone:
            if not machine.advance(_SLICE):
                self.wake(run)
                return
            if machine.violation is not None:
                raise machine.violation
            if not self._take_commands(run):
                return
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

    def _take_commands(self, run: Resident) -> bool:
        """Begin what the flow has asked for; False when one of these wishes has set the run aside."""
        machine = run.machine
        if machine.new_patches:
            self._record_patches(run)
        if machine.issued:
            issued, machine.issued = machine.issued, []
            for command in issued:
                if machine.is_open(command):  # none is, once the run is set aside
                    self._begin(run, command)
        if machine.withdrawn:
            withdrawn, machine.withdrawn = machine.withdrawn, []
            for command in withdrawn:
                if command.kind is Kind.STEP:
                    self.dispatcher.cancel(run, command)
                else:
                    self.commands.withdraw(run, command)
        return not run.gone

    def _record_patches(self, run: Resident) -> None:
        # Before anything that the flow did after them: a later row must never be on disk without them.
        for name in run.machine.new_patches:
            self._journal.record_outside(run, Kind.PATCH, name)
        run.machine.new_patches.clear()

    def _begin(self, run: Resident, command: Command) -> None:
        if command.cancelling and command.mark is None:  # given up before it was begun
            self._record_cancelled(run, command)
        elif command.kind is Kind.STEP:
            self.dispatcher.begin(run, command)
        else:
            self.commands.begin(run, command)

    def _record_cancelled(self, run: Resident, command: Command) -> None:
        self._journal.record(
            run, command.ordinal, command.kind, command.name, command.arguments, Outcome.CANCELLED, None
        )

    # From replay to live

    def _rebuilt(self, run: Resident) -> bool:
        """Go on replaying; True when the run is where its journal ends, and live."""
        assert run.replay is not None
        if not run.replay.run(_SLICE):
            self.wake(run)
            return False
        self._warn_of_changes(run)
        # Before anything changes here: if the database is away for a moment, all of this is done once more.
        is_new = run.fresh or run.machine.ended is not None
        found = _NOTHING if is_new else self._database.read(lambda reader: _find(reader, run.pk))
        run.replay = None
        run.machine.issued.clear()
        run.machine.withdrawn.clear()
        if run.machine.ended is None:
            self._go_live(run, found)
        return True

    def _warn_of_changes(self, run: Resident) -> None:
        for command, recorded in run.machine.changed_arguments:
            before, now = f"{command} with {_short(recorded)}", f"{command} with {_short(command.arguments)}"
            if self._strict:
                raise ReplayDiverged(run.id, command.ordinal, before, now)
            self._incident(run, "replay.arguments_changed", f"command {command.ordinal}: recorded {before}, now {now}")
        run.machine.changed_arguments.clear()

    def _go_live(self, run: Resident, found: Found) -> None:
        """The journal is used up: begin, in order, what the flow asked for and nobody has answered."""
        faultpoints.hit("replay.after")
        if run.seq >= self._limits.history:
            self._check_history(run)
            return
        machine = run.machine
        self._record_patches(run)
        _take_back(run, found)
        if run.deadline_at is not None and not machine.is_stopping:
            run.deadline = self._timers.add(run.deadline_at, self._deadline, run)
        for command in machine.open_commands():
            if command.cancelling and command.kind is Kind.STEP:
                self._record_cancelled(run, command)
            else:
                self._begin(run, command)
            if run.gone:  # set aside for this one; of the others nothing must be begun
                return
        for ordinal, ended in found.ended_children:
            self.commands.child_ended(run, ordinal, ended)
        self.record_cancel(run)

    def record_cancel(self, run: Resident) -> None:
        if run.cancel_wanted and not run.cancel_sent and not run.machine.is_stopping:
            faultpoints.hit("cancel.before")
            run.cancel_sent = True
            self._journal.record_outside(run, Kind.CANCEL)

    def _deadline(self, run: Resident) -> None:
        if not run.gone and not run.machine.is_stopping:
            self._journal.record_outside(run, Kind.DEADLINE)

    # Waiting

    def _settle(self, run: Resident) -> None:
        """The flow waits: say for what, on disk, unless something is under way that will come back by itself."""
        if run.seq >= self._limits.history_warning:
            self._check_history(run)
        run.seq_settled = run.seq
        if run.gone:
            return
        if run.is_busy:
            if not run.is_going and run.is_working:  # a retry has begun: the run does not wait any more
                self.memory.show(run.pk, GOING, run)
            return
        shown = run.waiting_for()
        if self._timers.is_due(shown.next_at):
            return  # its timer fires in this very moment; a run that left memory now would be called back in for it, for ever
        if shown != run.shown:
            self.memory.show(run.pk, shown, run)
        else:
            self.memory.rest(run)

    def _check_history(self, run: Resident) -> None:
        if run.seq >= self._limits.history:
            self.set_aside(
                run,
                RunState.BLOCKED,
                f"its journal has {run.seq} rows; use continue_as_new in the flow, or raise the limit and run: headrace runs retry {run.id}",
            )
        elif run.seq_settled < self._limits.history_warning:
            detail = f"{run.seq} rows; a flow that goes on for ever should use continue_as_new"
            self._incident(run, "run.history_large", detail)

    def _never_yields(self, run: Resident, stack: str) -> None:
        """In the watchdog's thread: if this process is killed now, the next one leaves the run alone."""
        reason = f"its code did not yield for many seconds and stopped everything else; mend it, then: headrace runs retry {run.id}\n{stack}"
        pk, at = run.pk, run.last_at
        self._database.submit_from_thread(
            lambda tx: set_state(tx, pk, RunState.QUARANTINED, reason=reason, location="", next_at=None, at=at)
        )
        hint = "kill this process; the next one sets the run aside"
        log.error("flow.never_yields", run_id=run.id, flow=run.flow, stack=stack, hint=hint)


def _find(reader: Reader, pk: int) -> Found:
    return Found(
        attempts_of(reader, pk),
        messages_of(reader, pk),
        progress_of(reader, pk),
        _ended_children(reader, pk),
    )


def _take_back(run: Resident, found: Found) -> None:
    for attempt in found.attempts:
        run.attempts.setdefault(attempt.command, []).append(attempt)
    for message in found.messages:
        run.inbox[message.topic].append(message)
        run.last_message = message.pk
    for said in found.progress:
        run.progress[said.command] = said.value


def _ended_children(reader: Reader, waiter: int) -> list[tuple[int, RunEnd]]:
    found = reader.all(SQL.awaited_by, {"waiter": waiter})
    ended = []
    for command, id, state, result, error in found:
        if not RunState(state).is_open:
            with naming(lambda: f"run {id!r}"):  # noqa: B023 - called at once
                end = RunEnd(id, RunState(state), unseal(reader, result), unseal(reader, error))
            ended.append((command, end))
    return ended


def _short(arguments: bytes | None) -> str:
    return (arguments or b"nothing").decode(errors="replace")[:200]
