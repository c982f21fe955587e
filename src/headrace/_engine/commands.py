"""What flows ask for besides steps: timers, children, messages."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from headrace._authoring.flow import Flow
from headrace._authoring.identity import check_id, token
from headrace._authoring.pipeline import Registry
from headrace._base import faultpoints
from headrace._base.clock import Instant
from headrace._base.recorded_error import decode_error, encode_error
from headrace._engine.event_log import EventLog, Publication, own_job
from headrace._engine.journal import SECONDS_BETWEEN_OFFERS, Also, Journal
from headrace._engine.machine import PUBLISHED, Command
from headrace._engine.resident import Child, Resident
from headrace._engine.timers import Timers
from headrace._events.model import EventRecord, NewEvent, Subject, Wait
from headrace._events.schema import event_to_json, parted
from headrace._events.store import event_at, first_match
from headrace._jobs.store import LOCK_LOG
from headrace._ports.clock import Clock
from headrace._ports.database import SqlValue, Transaction
from headrace._runs.model import Begun, JobOfRun, JournalRow, Kind, Message, NewRun, Outcome, RunState
from headrace._runs.store import SQL, add_wait, put_message
from headrace.errors import (
    DefinitionError,
    FlowNotFound,
    HeadraceError,
    RunAlreadyEnded,
    RunCancelled,
    RunFailed,
    RunNotFound,
    RunTimedOut,
    StoreBusy,
)


class RunEnd(NamedTuple):
    """How a run that somebody waits for has ended."""

    id: str
    state: RunState
    result: bytes | None
    error: bytes | None
    flow: str = ""


class Keeper(Protocol):
    """What commands ask of the engine."""

    def new_run(
        self, flow: Flow[Any, Any], run_id: str, arguments: bytes, *, parent: int | None, job: JobOfRun | None
    ) -> NewRun: ...
    def adopt(self, begun: Begun, new: NewRun) -> None: ...
    def notify(self, pk: int, message: Message) -> None: ...
    def request_cancel(self, run_id: str) -> None: ...
    def set_aside(self, run: Resident, state: RunState, reason: str) -> None: ...
    def tell_of_end(self, pk: int, then: Callable[[RunEnd], None]) -> None: ...


class Commands:
    def __init__(
        self, *, keeper: Keeper, registry: Registry, journal: Journal, timers: Timers, clock: Clock, log: EventLog
    ) -> None:
        self._keeper = keeper
        self._log = log
        self._registry = registry
        self._journal = journal
        self._timers = timers
        self._clock = clock

    def begin(self, run: Resident, command: Command) -> None:
        if command.kind is Kind.TIMER:
            run.timers[command.ordinal] = self._timers.add(command.due, self._timer_due, (run, command))
        elif command.kind is Kind.RECEIVE:
            run.receives.setdefault(command.name, deque()).append(command)
            self.match(run, command.name)
        elif command.kind is Kind.CHILD:
            self._begin_child(run, command)
        elif command.kind is Kind.START:
            self._start(run, command)
        elif command.kind is Kind.PUBLISH:
            self._publish(run, command)
        elif command.kind is Kind.EVENT:
            self._wait_event(run, command)
        else:
            self._send(run, command)

    def withdraw(self, run: Resident, command: Command) -> None:
        """The flow gave up on a timer, a receive or an event, or asks a child to stop."""
        if command.kind is Kind.TIMER:
            entry = run.timers.pop(command.ordinal, None)
            if entry is not None:
                self._timers.cancel(entry)
        elif command.kind is Kind.RECEIVE:
            waiting = run.receives.get(command.name)
            if waiting is not None and command in waiting:
                waiting.remove(command)
                if not waiting:
                    del run.receives[command.name]
        elif command.kind is Kind.EVENT and run.event_waits.pop(command.ordinal, None) is not None:
            self._journal.submit(_stop_wait(run, command.ordinal), lambda _result, _error: None)
        elif command.kind is Kind.CHILD and command.ordinal in run.children:
            self._cancel_child(run, command)

    def _record(self, run: Resident, command: Command, outcome: Outcome, value: bytes | None, **more: Any) -> None:
        self._journal.record(
            run, command.ordinal, command.kind, command.name, command.arguments, outcome, value,
            started_at=command.issued_at, **more,
        )  # fmt: skip

    def _refuse(self, run: Resident, command: Command, error: BaseException) -> None:
        self._record(run, command, Outcome.ERROR, encode_error(error))

    # Timers

    def _timer_due(self, what: tuple[Resident, Command]) -> None:
        faultpoints.hit("timer.due")
        run, command = what
        if run.timers.pop(command.ordinal, None) is not None and not run.gone:
            self._record(run, command, Outcome.OK, None)

    # Messages

    def match(self, run: Resident, topic: str) -> None:
        """Give waiting receives the messages that are there, oldest first; ones that were given back come before all."""
        waiting = run.receives.get(topic)
        while waiting:
            returned = run.machine.returned.get(topic, ())
            if len(returned) > run.lent[topic]:
                value = returned[run.lent[topic]]
                run.lent[topic] += 1
                self._record(
                    run, waiting.popleft(), Outcome.OK, value, attempt=0, then=lambda *_: self._repaid(run, topic)
                )
            elif run.inbox[topic]:
                message = run.inbox[topic].popleft()
                taken = {"pk": message.pk}
                self._record(
                    run,
                    waiting.popleft(),
                    Outcome.OK,
                    message.value,
                    also=lambda tx, taken=taken: tx.run(SQL.take_message, taken),
                )
            else:
                return
        run.receives.pop(topic, None)

    def _repaid(self, run: Resident, topic: str) -> None:
        run.lent[topic] -= 1

    def _send(self, run: Resident, command: Command) -> None:
        faultpoints.hit("message.before")
        target = command.target or ""
        value = command.arguments or b"null"
        at = self._journal.now_for(run)

        def put(tx: Transaction) -> tuple[int, Message]:
            return put_message_for(tx, target, command.name, value, at)

        def sent(result: tuple[int, Message] | None, error: BaseException | None) -> None:
            faultpoints.hit("message.after")
            if result is not None:
                self._keeper.notify(*result)
            elif error is not None:
                self._refuse(run, command, error)

        self._record(run, command, Outcome.OK, None, also=put, then=sent)

    # Events

    def _publish(self, run: Resident, command: Command) -> None:
        faultpoints.hit("publish.before")
        at = self._journal.now_for(run)
        new = self._new_event(run, command, at)

        def operation(tx: Transaction, row: JournalRow) -> tuple[Publication, JournalRow]:
            publication = self._log.write(tx, new)
            return publication, row._replace(value=PUBLISHED.encode(publication.published))

        def published(publication: Publication | None, error: BaseException | None) -> None:
            if error is not None:
                self._refuse(run, command, error)
            else:
                self._log.told(publication)

        self._journal.record_found(run, command, operation, published)

    def _new_event(self, run: Resident, command: Command, at: Instant) -> NewEvent:
        said, data = parted(command.arguments or b"{}")
        subject, key = Subject(said["kind"], said["subject"]), run.key_of(command.ordinal)
        return NewEvent(
            id=said["id"] or key, topic=command.name, subject=subject, data=data, source=said["source"] or run.flow, time=said.get("time", at),
            version=said["version"], cause=key, at=at, generation=own_job(run.job, subject),
        )  # fmt: skip

    def _wait_event(self, run: Resident, command: Command) -> None:
        """Look whether the log has the event already; otherwise publishers find the run. Both in one transaction, so that none slips through."""
        said = json.loads(command.arguments or b"{}")
        subject = Subject(said["kind"], said["subject"]) if "subject" in said else None
        wait = Wait(topic=command.name, subject=subject, after=said["after"])

        def operation(tx: Transaction) -> EventRecord | None:
            tx.one(LOCK_LOG)  # another process may publish at this very moment, and would not see the wait yet
            found = first_match(tx, wait)
            if found is None:
                add_wait(tx, run.pk, command.ordinal, wait)
            return found

        def looked(found: EventRecord | None, error: BaseException | None) -> None:
            run.writing -= 1
            if run.gone:
                return
            if error is not None:
                self._journal.fail(error)
            elif not run.machine.is_open(command):  # the flow gave up meanwhile
                self._journal.submit(_stop_wait(run, command.ordinal), lambda _result, _error: None)
            elif found is not None:
                self._record(run, command, Outcome.OK, event_to_json(found))
            else:
                run.event_waits[command.ordinal] = wait
            self._journal.wake(run)

        run.writing += 1
        self._journal.submit(operation, looked)

    def event_came(self, run: Resident, ordinal: int, position: int) -> None:
        """An event that this run waits for is in the log."""
        if run.gone:
            return  # whoever brings it in again looks for itself
        command = next((item for item in run.machine.open_commands() if item.ordinal == ordinal), None)
        if command is None or ordinal not in run.event_waits:
            return
        try:
            record = self._journal.read(lambda reader: event_at(reader, position))
        except StoreBusy:  # the database is away for a moment
            asyncio.get_running_loop().call_later(SECONDS_BETWEEN_OFFERS, self.event_came, run, ordinal, position)
            return
        assert record is not None
        del run.event_waits[ordinal]
        self._record(run, command, Outcome.OK, event_to_json(record), also=_stop_wait(run, ordinal))

    # Children

    def _new_child(self, run: Resident, command: Command, *, parent: int | None) -> NewRun:
        flow, arguments = command.flow, command.arguments or b"{}"
        assert flow is not None
        child_id = (
            command.target
            or flow.run_id_for(arguments)
            or f"{flow.name}-{token(run.machine.child_token(command.ordinal))}"
        )
        if child_id == run.id and command.kind is Kind.CHILD:
            raise DefinitionError(
                f"run {run.id!r} would wait for itself: its child flow {flow.name!r} has the same id; give the id template another text"
            )
        # It works for the same job, but its end is not the job's.
        job = None if run.job is None else run.job._replace(owner=False)
        return self._keeper.new_run(flow, check_id(child_id), arguments, parent=parent, job=job)

    def _start(self, run: Resident, command: Command) -> None:
        try:
            new = self._new_child(run, command, parent=run.pk)
        except FlowNotFound as error:
            self._keeper.set_aside(run, RunState.BLOCKED, str(error))
            return
        except HeadraceError as error:
            self._refuse(run, command, error)
            return

        def started(begun: Begun | None, error: BaseException | None) -> None:
            if begun is None:
                assert error is not None
                self._refuse(run, command, error)
            elif begun.created:
                self._keeper.adopt(begun, new)

        self._journal.start_run(run, command, new, started)

    def _begin_child(self, run: Resident, command: Command) -> None:
        if command.mark is not None:
            # Whether it has ended meanwhile is looked up when all commands are begun.
            run.children[command.ordinal] = _child_of(command.mark)
            if command.cancelling:
                self._cancel_child(run, command)
            return
        try:
            new = self._new_child(run, command, parent=run.pk)
        except FlowNotFound as error:
            self._keeper.set_aside(run, RunState.BLOCKED, str(error))
            return
        except HeadraceError as error:
            self._refuse(run, command, error)
            return

        def begun(result: Begun | None, error: BaseException | None) -> None:
            faultpoints.hit("child.after")
            if result is None:
                assert error is not None
                self._refuse(run, command, error)
                return
            if result.created:
                self._keeper.adopt(result, new)
            if run.gone:
                return
            run.children[command.ordinal] = Child(result.id, result.created)
            if command.cancelling:
                self._cancel_child(run, command)
            elif not result.state.is_open:
                self._keeper.tell_of_end(result.pk, lambda end: self.child_ended(run, command.ordinal, end))

        faultpoints.hit("child.before")
        self._journal.begin_child(run, command, new, begun)

    def _cancel_child(self, run: Resident, command: Command) -> None:
        """A child is asked to stop, and waited for; a run that was only joined is left alone."""
        child = run.children[command.ordinal]
        if child.own:
            self._keeper.request_cancel(child.id)
        else:
            del run.children[command.ordinal]
            self._record(run, command, Outcome.CANCELLED, None, also=_stop_waiting(run, command.ordinal))

    def child_ended(self, run: Resident, ordinal: int, end: RunEnd) -> None:
        """A run that this one waits for is over."""
        if run.gone:
            return  # whoever brings it in again looks for itself
        command = next((item for item in run.machine.open_commands() if item.ordinal == ordinal), None)
        if command is None or run.children.pop(ordinal, None) is None:
            return
        outcome, value = _as_row(end)
        self._record(run, command, outcome, value, also=_stop_waiting(run, ordinal))


def _stop_waiting(run: Resident, ordinal: int) -> Also:
    over: dict[str, SqlValue] = {"waiter": run.pk, "command": ordinal}
    return lambda tx: tx.run(SQL.stop_waiting, over)


def _stop_wait(run: Resident, ordinal: int) -> Also:
    over: dict[str, SqlValue] = {"run": run.pk, "command": ordinal}
    return lambda tx: tx.run(SQL.stop_wait, over)


def _child_of(mark: bytes) -> Child:
    found = json.loads(mark)
    return Child(found["id"], found["own"])


def _as_row(end: RunEnd) -> tuple[Outcome, bytes | None]:
    if end.state is RunState.COMPLETED:
        return Outcome.OK, end.result
    return Outcome.ERROR, encode_error(error_of(end))


def error_of(end: RunEnd) -> Exception:
    """What awaiting a run raises that ended otherwise than well."""
    if end.state is RunState.CANCELLED or end.state is RunState.REPLACED:
        return RunCancelled(end.id)
    if end.state is RunState.TIMED_OUT:
        return RunTimedOut(end.id)
    cause = decode_error(end.error) if end.error is not None else None
    failed = RunFailed(end.id, f"{type(cause).__name__}: {cause}" if cause is not None else "")
    failed.__cause__ = cause
    return failed


def put_message_for(tx: Transaction, run_id: str, topic: str, value: bytes, at: int) -> tuple[int, Message]:
    """Store a message for the open run of an id."""
    found = tx.one(SQL.latest_run, {"id": run_id})
    if found is None:
        raise RunNotFound(run_id)
    if not RunState(found[2]).is_open:
        raise RunAlreadyEnded(run_id, found[2])
    pk = put_message(tx, found[0], topic, value, at)
    return found[0], Message(pk, topic, value, at)
