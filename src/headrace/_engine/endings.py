"""How runs end, and who is told."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from headrace._base import faultpoints, log
from headrace._engine.commands import Commands, RunEnd
from headrace._engine.event_log import EventLog, Publication
from headrace._engine.journal import SECONDS_BETWEEN_OFFERS, Journal
from headrace._engine.machine import Ended
from headrace._engine.memory import Memory
from headrace._engine.resident import Resident
from headrace._engine.tally import Tally
from headrace._ports.database import Database, Transaction
from headrace._runs.model import Begun, NewRun, Replaced, RunState
from headrace._runs.store import continue_as, end, run_by_pk
from headrace.errors import StoreBusy


class Over(NamedTuple):
    """Whom to tell of the end of a run that is on disk: (waiter, command) pairs, and what was published with it."""

    waiters: list[tuple[int, int]]
    told: Publication | None = None


class Endings:
    def __init__(
        self,
        *,
        database: Database,
        journal: Journal,
        memory: Memory,
        fail: Callable[[BaseException], None],
        wake: Callable[[Resident], None],
        next_of: Callable[[Resident, bytes], NewRun],
        log: EventLog,
        changed: Callable[[int], None],
        tally: Tally,
    ) -> None:
        self._database = database
        self._journal = journal
        self._memory = memory
        self._fail = fail
        self._wake = wake
        self._next_of = next_of
        self._log = log
        self._changed = changed
        self._tally = tally
        self._awaited: defaultdict[int, list[asyncio.Future[RunEnd | None]]] = defaultdict(list)
        self.commands: Commands

    def finish(self, run: Resident, ended: Ended) -> None:
        """The flow has ended: record its outcome, then tell."""
        faultpoints.hit("run.before_end")
        self._memory.leave(run)
        if ended.state is RunState.REPLACED:
            self._continue(run, ended)
            return
        at = self._journal.now_for(run)

        def operation(tx: Transaction) -> Over | None:
            ending = end(tx, run.pk, ended.state, at=at, reason=ended.reason, result=ended.result, error=ended.error)
            if ending is None:
                return None
            told = self._log.write_end(
                tx, run.id, run.number, ending, ended.state, at=at, result=ended.result, error=ended.error
            )
            return Over(ending.waiters, told)

        def done(over: Over | None, error: BaseException | None) -> None:
            self._memory.has_left(run)
            if error is not None:
                self._fail(error)
            if over is None:  # it was ended by force meanwhile, and whoever did that tells
                return
            log.info("run.ended", run_id=run.id, flow=run.flow, state=ended.state.value, reason=ended.reason or None)
            self.over(run.pk, over, RunEnd(run.id, ended.state, ended.result, ended.error, run.flow))

        self._journal.submit(operation, done)

    def _continue(self, run: Resident, ended: Ended) -> None:
        faultpoints.hit("run.before_continue")
        new = self._next_of(run, ended.arguments or b"{}")

        def done(begun: Begun | None, error: BaseException | None) -> None:
            self._memory.has_left(run)
            if error is not None:
                self._fail(error)
            if begun is None:  # as above
                return
            self._tally.runs_begun += 1
            self._count_end(run.pk, RunState.REPLACED)
            self._changed(begun.pk)
            self._tell_callers(run.pk, None)
            # Not as a fresh one: it has inherited messages.
            self._memory.call_in(begun.pk)

        seen = run.machine.seen()
        self._journal.submit(lambda tx: continue_as(tx, run.pk, new, number=run.number + 1, seen=seen), done)

    def over(self, pk: int, over: Over, ended: RunEnd) -> None:
        """The end of a run is on disk: tell everybody who waits for it."""
        faultpoints.hit("run.after_end")
        self._count_end(pk, ended.state)
        left = self._memory.residents.get(pk)
        if left is not None:
            self._memory.forget(left)
        self._tell_callers(pk, ended)
        for waiter, ordinal in over.waiters:
            run = self._memory.residents.get(waiter)
            if run is None or run.replay is not None:
                self._memory.call_in(waiter)
            else:
                self.commands.child_ended(run, ordinal, ended)
                self._wake(run)
        self._log.told(over.told)

    def replaced(self, replaced: Replaced) -> None:
        """A start with the policy `replace` has ended this run in its own transaction."""
        self.tell_of_end(
            replaced.pk, lambda ended: self.over(replaced.pk, Over(replaced.ending.waiters, replaced.told), ended)
        )

    def end_of(self, pk: int) -> RunEnd | None:
        record = self._database.read(lambda reader: run_by_pk(reader, pk))
        if record is None or record.state.is_open:
            return None
        return RunEnd(record.id, record.state, record.result, record.error, record.flow)

    def tell_of_end(self, pk: int, then: Callable[[RunEnd], None]) -> None:
        """Look how a run ended that has ended; a little later when the database is away for a moment."""
        try:
            ended = self.end_of(pk)
        except StoreBusy:
            self._later(self.tell_of_end, pk, then)
            return
        if ended is not None:
            then(ended)

    def _later(self, call: Callable[..., None], *arguments: object) -> None:
        asyncio.get_running_loop().call_later(SECONDS_BETWEEN_OFFERS, call, *arguments)

    def awaited(self, pk: int) -> asyncio.Future[RunEnd | None]:
        """Done when the end of the run is on disk; None: it goes on as the next run of its id."""
        future: asyncio.Future[RunEnd | None] = asyncio.get_running_loop().create_future()
        self._awaited[pk].append(future)
        return future

    def _count_end(self, pk: int, state: RunState) -> None:
        self._tally.runs_ended[state.value] += 1
        self._changed(pk)

    def _tell_callers(self, pk: int, ended: RunEnd | None) -> None:
        for future in self._awaited.pop(pk, ()):
            if not future.done():
                future.set_result(ended)

    def disappoint(self, error: BaseException) -> None:
        """The engine goes before these runs have ended."""
        for futures in self._awaited.values():
            for future in futures:
                if not future.done():
                    future.set_exception(error)
        self._awaited.clear()
