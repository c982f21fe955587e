"""Step calls of flows: which attempt is next, what is recorded of it, and when it is enough."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any, Protocol

from headrace._authoring.step import Step
from headrace._base import faultpoints, log
from headrace._base.clock import Instant, to_micros
from headrace._base.recorded_error import decode_error, describe, encode_error
from headrace._engine.attempts import Attempt, Attempts, Stop
from headrace._engine.journal import Journal
from headrace._engine.machine import NULL, Command
from headrace._engine.resident import GOING, Resident
from headrace._engine.tally import Tally
from headrace._engine.timers import Entry, Timers
from headrace._engine.workers import RecordedFailure
from headrace._ports.clock import Clock
from headrace._ports.database import Transaction
from headrace._runs import model
from headrace._runs.model import JournalRow, Kind, Outcome
from headrace._runs.store import SQL, append, put_attempt, save_progress
from headrace.errors import EngineUnavailable, OutcomeUnknown, StepTimedOut, ValueRefused, WorkerDied

DEATHS_BEFORE_QUARANTINE = 3
_SECONDS_BETWEEN_PROGRESS = 1.0


class StepAttempt(Attempt):
    """An attempt at a step that a flow called."""

    def __init__(self, run: Resident, command: Command, step: Step[Any, Any], number: int, reports: Dispatcher) -> None:
        super().__init__(
            step, number, key=run.key_of(command.ordinal), owner=run.id, pipeline=run.pipeline, reports=reports
        )
        self.run = run
        self.command = command

    def call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return self.step.shape.decode(self.stored_call())

    def stored_call(self) -> bytes:
        return self.command.arguments or b"{}"


class Execution:
    """One step call of one run, over all its attempts."""

    __slots__ = (
        "attempt",
        "called_at",
        "command",
        "deaths",
        "held_back",
        "in_transaction",
        "number",
        "progress",
        "progress_saved",
        "retry",
        "run",
        "step",
    )

    def __init__(self, run: Resident, command: Command, step: Step[Any, Any], called_at: Instant) -> None:
        self.run = run
        self.command = command
        self.step = step
        self.called_at = called_at
        self.number = 0
        self.deaths = 0
        self.attempt: StepAttempt | None = None
        self.retry: Entry | None = None
        self.in_transaction = False
        self.held_back = False
        self.progress = run.progress.get(command.ordinal)
        self.progress_saved = float("-inf")

    @property
    def is_active(self) -> bool:
        return self.attempt is not None or self.in_transaction or self.held_back


class Keeper(Protocol):
    """What the dispatcher asks of the engine."""

    def wake(self, run: Resident) -> None: ...
    def set_aside(self, run: Resident, state: model.RunState, reason: str) -> None: ...
    def incident(self, run: Resident | None, name: str, detail: str) -> None: ...


class Dispatcher:
    def __init__(
        self, *, keeper: Keeper, journal: Journal, timers: Timers, clock: Clock, attempts: Attempts, tally: Tally
    ) -> None:
        self._keeper = keeper
        self._journal = journal
        self._timers = timers
        self._clock = clock
        self._attempts = attempts
        self._tally = tally
        self._chance = random.Random()
        self.closing = False

    # From call to attempt

    def begin(self, run: Resident, command: Command) -> None:
        """Take up a step call: its first attempt, or after a restart the one that is due."""
        step = command.step
        assert step is not None
        execution = run.executions[command.ordinal] = Execution(run, command, step, run.last_at)
        before = [item for item in run.attempts.pop(command.ordinal, ()) if item.name == command.name]
        if self.closing:
            self._hold_back(execution)
        elif step.at_most_once:
            self._begin_at_most_once(execution)
        elif before:
            execution.number = before[-1].attempt
            execution.called_at = before[0].started_at
            execution.deaths = sum(describe(item.error).type_name.endswith(WorkerDied.__name__) for item in before)
            self._when_due(execution, before[-1].next_at)
        else:
            self._offer(execution)

    def _begin_at_most_once(self, execution: Execution) -> None:
        run, command = execution.run, execution.command
        if command.mark is not None:
            self._end(execution, Outcome.ERROR, encode_error(OutcomeUnknown(command.name, run.key_of(command.ordinal))))
            return

        def marked(_: Any, error: BaseException | None) -> None:
            if error is not None:
                self._journal.fail(error)
            elif command.cancelling and not run.gone:
                self._end(execution, Outcome.CANCELLED, None)
            else:
                self._offer(execution)

        self._journal.record(
            run, command.ordinal, Kind.STEP, command.name, command.arguments, Outcome.MARK, b"1", then=marked
        )

    def _when_due(self, execution: Execution, next_at: Instant | None) -> None:
        if execution.deaths >= DEATHS_BEFORE_QUARANTINE:
            self._quarantine(execution)
        elif next_at is not None and next_at > self._clock.now():
            execution.retry = self._timers.add(next_at, self._retry, execution)
        else:
            self._offer(execution)

    def _retry(self, execution: Execution) -> None:
        execution.retry = None
        if not execution.run.gone:
            self._offer(execution)
            self._keeper.wake(execution.run)

    def _hold_back(self, execution: Execution) -> None:
        # The run stays one that goes on, also on disk: nothing else would make the next start look at it.
        execution.held_back = True

    def _offer(self, execution: Execution) -> None:
        if execution.run.gone:
            return
        if self.closing:
            self._hold_back(execution)
            return
        faultpoints.hit("step.before", execution.step)
        execution.number += 1
        attempt = StepAttempt(execution.run, execution.command, execution.step, execution.number, self)
        attempt.started_at = self._clock.now()
        if execution.step.mode == "transaction":
            self._in_transaction(execution, attempt)
            return
        execution.attempt = attempt
        self._attempts.offer(attempt, execution.progress)

    def _in_transaction(self, execution: Execution, attempt: StepAttempt) -> None:
        run, command, step = execution.run, execution.command, execution.step
        try:
            args, kwargs = step.shape.decode(command.arguments or b"{}")
        except ValueRefused as refused:  # written for another signature of the step
            self._end(execution, Outcome.ERROR, encode_error(refused))
            return
        context = self._attempts.context_for(attempt)
        going = not run.is_going
        execution.in_transaction = True
        self._tally.attempts_started += 1
        run.seq += 1
        run.writing += 1
        row = JournalRow(
            run.seq, command.ordinal, Kind.STEP, command.name, command.arguments, Outcome.OK, None,
            execution.number, attempt.started_at, self._journal.now_for(run),
        )  # fmt: skip

        def operation(tx: Transaction) -> JournalRow:
            result = context.copy().run(step.fn, tx, *args, **kwargs)
            faultpoints.hit("step.after", step)
            filled = row._replace(value=step.shape.result.encode(result))
            append(tx, run.pk, filled)
            if going:
                tx.run(SQL.set_going, {"pk": run.pk, "at": row.at})
            return filled

        def done(recorded: JournalRow | None, error: BaseException | None) -> None:
            run.writing -= 1
            execution.in_transaction = False
            if run.gone:
                return
            if recorded is None:
                assert error is not None
                self._failed(execution, attempt, error)
            else:
                run.executions.pop(command.ordinal, None)
                run.arrived.append((recorded, ()))
                self._tally.steps_ok += 1
                if going:
                    run.shown = GOING
                    self._journal.changed(run.pk)
            self._keeper.wake(run)

        self._journal.submit(operation, done, isolated=True)

    # From attempt to record

    def ended(self, attempt: StepAttempt, result: Any, error: BaseException | None) -> None:
        """An attempt is over, one way or another."""
        run = attempt.run
        execution = run.executions.get(attempt.command.ordinal)
        if run.gone or execution is None or execution.attempt is not attempt:
            return
        if attempt.stopping is Stop.SHUTDOWN or (self.closing and isinstance(error, EngineUnavailable)):
            # The attempt does not count. It stays in its run, so that the file goes on saying that the run is going on, and the
            # next start takes it up again.
            return
        execution.attempt = None
        if attempt.stopping is not None:
            self._stopped(execution, attempt)
        elif error is not None:
            self._failed(execution, attempt, error)
        else:
            self._succeeded(execution, attempt, result)
        self._keeper.wake(run)

    def late(self, attempt: StepAttempt) -> None:
        self._keeper.incident(
            attempt.run, "step.late_result",
            f"step {attempt.command.name!r}, attempt {attempt.number}, ended after it had been given up; its result was dropped",
        )  # fmt: skip

    def _succeeded(self, execution: Execution, attempt: StepAttempt, result: Any) -> None:
        faultpoints.hit("step.after", execution.step)
        shape = execution.step.shape.result
        try:
            value: bytes = result if execution.step.mode == "process" else shape.encode(result)
            ready = None if value == NULL else shape.decode(value)
        except ValueRefused as refused:
            self._end(execution, Outcome.ERROR, encode_error(refused), attempt)
            return
        run, command = execution.run, execution.command
        run.executions.pop(command.ordinal, None)
        self._tally.steps_ok += 1
        self._journal.record(
            run, command.ordinal, Kind.STEP, command.name, command.arguments, Outcome.OK, value,
            attempt=attempt.number, started_at=attempt.started_at, ready=(ready,),
        )  # fmt: skip

    def _stopped(self, execution: Execution, attempt: StepAttempt) -> None:
        if attempt.left_behind:
            self._keeper.incident(
                attempt.run, "step.left_behind",
                f"step {attempt.command.name!r}, attempt {attempt.number}, did not stop when asked; the run goes on without it",
            )  # fmt: skip
        if execution.command.cancelling:
            self._end(execution, Outcome.CANCELLED, None, attempt)
        elif attempt.stopping is Stop.TIMEOUT:
            limit = execution.step.timeout or timedelta(0)
            self._failed(execution, attempt, StepTimedOut(execution.command.name, limit.total_seconds()))

    def _failed(self, execution: Execution, attempt: StepAttempt, error: BaseException) -> None:
        if execution.command.cancelling:
            self._end(execution, Outcome.CANCELLED, None, attempt)
            return
        stored = error.stored if isinstance(error, RecordedFailure) else encode_error(error)
        known = decode_error(stored) if isinstance(error, RecordedFailure) else error
        if isinstance(known, WorkerDied):
            # The step may be innocent of what its policy knows nothing about, so deaths are counted apart.
            execution.deaths += 1
            wait: timedelta | None = timedelta(0)
        else:
            elapsed = timedelta(microseconds=self._clock.now() - execution.called_at)
            wait = execution.step.retry.wait_after(execution.number - execution.deaths, known, elapsed, self._chance)
        if wait is None:
            self._end(execution, Outcome.ERROR, stored, attempt)
        else:
            self._try_again(execution, attempt, stored, self._clock.now() + to_micros(wait))

    def _try_again(self, execution: Execution, attempt: StepAttempt, stored: bytes, next_at: Instant) -> None:
        run, command = execution.run, execution.command
        self._tally.retries += 1
        wait = (next_at - self._clock.now()) / 1_000_000
        why = describe(stored).type_name
        log.info("step.retry_scheduled", run_id=run.id, step=command.name, attempt=attempt.number, error=why, wait=wait)
        failed = model.Attempt(
            command.ordinal, attempt.number, command.name, stored, attempt.started_at, self._clock.now(), next_at
        )
        faultpoints.hit("retry.before")
        run.writing += 1

        def recorded(_: Any, error: BaseException | None) -> None:
            faultpoints.hit("retry.after")
            # The failed attempt is on disk before the next one starts, so that no crash can make it uncounted.
            run.writing -= 1
            if error is not None:
                self._journal.fail(error)
            elif not run.gone:
                if command.cancelling:
                    self._end(execution, Outcome.CANCELLED, None, attempt)
                else:
                    self._when_due(execution, next_at)
                self._keeper.wake(run)

        self._journal.submit(lambda tx: put_attempt(tx, run.pk, failed), recorded)

    def _quarantine(self, execution: Execution) -> None:
        run = execution.run
        reason = f"{execution.deaths} worker processes died of step {execution.command.name!r}; mend it, then: headrace runs retry {run.id}"
        self._keeper.set_aside(run, model.RunState.QUARANTINED, reason)

    def _end(
        self, execution: Execution, outcome: Outcome, value: bytes | None, attempt: StepAttempt | None = None
    ) -> None:
        run, command = execution.run, execution.command
        run.executions.pop(command.ordinal, None)
        self._tally.steps_not_ok[outcome.value] += 1
        log.info("step.ended", run_id=run.id, step=command.name, attempt=execution.number, outcome=outcome.value)
        self._journal.record(
            run, command.ordinal, Kind.STEP, command.name, command.arguments, outcome, value,
            attempt=max(execution.number, 1), started_at=attempt.started_at if attempt is not None else None,
        )  # fmt: skip

    # Stopping

    def cancel(self, run: Resident, command: Command) -> None:
        """The flow no longer wants this step; its end is recorded when it has wound up."""
        execution = run.executions.get(command.ordinal)
        if execution is None:
            return  # its completion is on the way to the disk
        if execution.retry is not None:
            self._timers.cancel(execution.retry)
            execution.retry = None
            self._end(execution, Outcome.CANCELLED, None)
        elif execution.attempt is not None:
            self._attempts.stop(execution.attempt, Stop.CANCEL)

    def drop(self, run: Resident) -> None:
        """A run ended or left memory: nobody waits for its steps any more."""
        for execution in run.executions.values():
            if execution.retry is not None:
                self._timers.cancel(execution.retry)
            if execution.attempt is not None:
                self._attempts.stop(execution.attempt, Stop.CANCEL)
        run.executions.clear()

    # Progress

    def said(self, attempt: StepAttempt, progress: bytes) -> None:
        """Remember how far a step is; on disk at most once a second, since only the last word counts."""
        run = attempt.run
        execution = run.executions.get(attempt.command.ordinal)
        if run.gone or execution is None or execution.attempt is not attempt:
            return
        execution.progress = progress
        now = self._clock.monotonic()
        if now - execution.progress_saved >= _SECONDS_BETWEEN_PROGRESS:
            execution.progress_saved = now
            last = model.Progress(attempt.command.ordinal, progress, self._clock.now())
            self._journal.submit(lambda tx: save_progress(tx, run.pk, last), lambda _result, _error: None)
