"""Writing down what enters runs, in one order for memory and disk.

A completion is delivered only after the commit that holds it. When the disk is full, everything that was to be written waits in line and is
offered again until there is space; nothing is delivered meanwhile, so memory never runs ahead of the file.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from headrace._base import faultpoints
from headrace._base.clock import Instant
from headrace._engine.machine import Command
from headrace._engine.resident import GOING, Resident, Shown
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Done, Operation, Transaction
from headrace._runs.model import OUTSIDE, Begun, JournalRow, Kind, NewRun, Outcome, RunState
from headrace._runs.store import SQL, append, begin
from headrace.errors import StoreBusy, StoreCorrupt, StoreFailed, StoreFull, StoreLost

SECONDS_BETWEEN_OFFERS = 0.5
_PASSING = (StoreFull, StoreBusy)
_FATAL = (StoreFailed, StoreCorrupt, StoreLost)

Also = Callable[[Transaction], Any]
Then = Callable[[Any, BaseException | None], None]


class Entry:
    """One row on its way to the disk and back to its run; it is the operation itself, so that the hot path makes one object."""

    __slots__ = ("also", "going", "journal", "ready", "row", "run", "then")

    def __init__(
        self,
        journal: Journal,
        run: Resident,
        row: JournalRow,
        ready: tuple[Any, ...],
        also: Also | None,
        then: Then | None,
    ) -> None:
        self.journal = journal
        self.run = run
        self.row = row
        self.ready = ready
        self.also = also
        self.then = then
        self.going = not run.is_going
        if self.going:
            run.shown = GOING

    def __call__(self, tx: Transaction) -> Any:
        result = self.also(tx) if self.also is not None else None
        append(tx, self.run.pk, self.row)
        if self.going:
            tx.run(SQL.set_going, {"pk": self.run.pk, "at": self.row.at})
        return result

    def done(self, result: Any, error: BaseException | None) -> None:
        run = self.run
        run.writing -= 1
        if run.gone:
            return
        if error is not None:
            # The operation was refused for a reason of its own; nothing of it was written, not even that the run goes on.
            if self.going:
                run.shown = Shown(RunState.WAITING, "", None, "")
            if self.then is None:
                self.journal.fail(error)
            else:
                self.then(None, error)
        else:
            run.arrived.append((self.row, self.ready))
            if self.then is not None:
                self.then(result, None)
        self.journal.wake(run)


class FoundEntry(Entry):
    """A row whose content is only known inside the transaction."""

    __slots__ = ("find",)

    def __init__(
        self,
        journal: Journal,
        run: Resident,
        row: JournalRow,
        find: Callable[[Transaction, JournalRow], tuple[Any, JournalRow]],
        then: Then,
    ) -> None:
        super().__init__(journal, run, row, (), None, then)
        self.find = find

    def __call__(self, tx: Transaction) -> tuple[Any, JournalRow]:
        result, row = self.find(tx, self.row)
        append(tx, self.run.pk, row)
        if self.going:
            tx.run(SQL.set_going, {"pk": self.run.pk, "at": row.at})
        return result, row

    def done(self, result: Any, error: BaseException | None) -> None:
        if error is None:
            result, self.row = result
        super().done(result, error)


def _reference(begun: Begun, **more: bool) -> bytes:
    return json.dumps({"id": begun.id, "number": begun.number, **more}).encode()


class Journal:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        wake: Callable[[Resident], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._database = database
        self._clock = clock
        self.wake = wake
        self.fail = fail
        # What came back, and what was handed over since, which comes after everything that may still come back.
        self._held: list[tuple[Operation[Any], Done, bool]] = []
        self._behind: list[tuple[Operation[Any], Done, bool]] = []
        self._offer: asyncio.TimerHandle | None = None
        self.refused: BaseException | None = None

    @property
    def is_held(self) -> bool:
        """Whether the disk refuses at the moment."""
        return bool(self._held)

    def close(self) -> None:
        if self._offer is not None:
            self._offer.cancel()

    def submit(self, operation: Operation[Any], done: Done, *, isolated: bool = False) -> None:
        """Hand over work that must not be lost: it is offered again while the disk is full, in the same order."""
        if self._held:
            self._behind.append((operation, done, isolated))
            return

        def answered(result: Any, error: BaseException | None) -> None:
            if error is None:
                done(result, None)
            elif isinstance(error, _PASSING):
                self._hold(operation, done, isolated, error)
            elif isinstance(error, _FATAL):
                self.fail(error)
            else:
                done(None, error)

        self._database.submit(operation, answered, isolated=isolated)

    def _hold(self, operation: Operation[Any], done: Done, isolated: bool, error: BaseException) -> None:
        self._held.append((operation, done, isolated))
        self.refused = error
        if self._offer is None:
            self._offer = asyncio.get_running_loop().call_later(SECONDS_BETWEEN_OFFERS, self.offer_again)

    def offer_again(self) -> None:
        held = self._held + self._behind
        self._held, self._behind, self._offer = [], [], None
        for operation, done, isolated in held:
            self.submit(operation, done, isolated=isolated)

    def now_for(self, run: Resident) -> Instant:
        """The time, which in one run never goes backward."""
        run.last_at = max(run.last_at, self._clock.now())
        return run.last_at

    def record(
        self,
        run: Resident,
        command: int,
        kind: Kind,
        name: str,
        arguments: bytes | None,
        outcome: Outcome,
        value: bytes | None,
        *,
        attempt: int = 1,
        started_at: Instant | None = None,
        ready: tuple[Any, ...] = (),
        also: Also | None = None,
        then: Then | None = None,
    ) -> None:
        faultpoints.hit("record.before")
        at = self.now_for(run)
        run.seq += 1
        run.writing += 1
        row = JournalRow(
            run.seq,
            command,
            kind,
            name,
            arguments,
            outcome,
            value,
            attempt,
            at if started_at is None else started_at,
            at,
        )
        entry = Entry(self, run, row, ready, also, then)
        self.submit(entry, entry.done)

    def begin_child(self, run: Resident, command: Command, new: NewRun, then: Then) -> None:
        """Begin the run that a flow calls, and leave a mark of it, so that a restart finds the same one."""

        def operation(tx: Transaction, row: JournalRow) -> tuple[Begun, JournalRow]:
            begun = begin(tx, new, "join")
            tx.run(SQL.await_run, {"run": begun.pk, "waiter": run.pk, "command": command.ordinal})
            return begun, row._replace(outcome=Outcome.MARK, value=_reference(begun, own=begun.created))

        self._record_found(run, command, operation, then)

    def start_run(self, run: Resident, command: Command, new: NewRun, then: Then) -> None:
        """Begin a run that nobody waits for; the flow gets its reference."""

        def operation(tx: Transaction, row: JournalRow) -> tuple[Begun, JournalRow]:
            begun = begin(tx, new, command.policy)
            return begun, row._replace(value=_reference(begun))

        self._record_found(run, command, operation, then)

    def _record_found(
        self,
        run: Resident,
        command: Command,
        operation: Callable[[Transaction, JournalRow], tuple[Begun, JournalRow]],
        then: Then,
    ) -> None:
        """Record a row whose content is only known inside the transaction."""
        at = self.now_for(run)
        run.seq += 1
        run.writing += 1
        row = JournalRow(
            run.seq, command.ordinal, command.kind, command.name, command.arguments, Outcome.OK, None, 1, at, at
        )
        entry = FoundEntry(self, run, row, operation, then)
        self.submit(entry, entry.done)

    def record_outside(self, run: Resident, kind: Kind, name: str = "") -> None:
        self.record(run, OUTSIDE, kind, name, None, Outcome.MARK if kind is Kind.PATCH else Outcome.OK, None)
