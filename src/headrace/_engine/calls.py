"""What workers tell the owner: which runs they began, woke, stopped or replaced. Rows, so that nothing is forgotten with a process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from headrace._engine.commands import Commands
from headrace._engine.endings import Endings, Over
from headrace._engine.journal import SECONDS_BETWEEN_OFFERS, Journal
from headrace._engine.memory import Memory
from headrace._engine.resident import Resident
from headrace._engine.runner import Runner
from headrace._events.model import Subject, Wait
from headrace._events.store import SQL, first_match
from headrace._ports.database import Database, Reader, Row
from headrace._runs.store import SQL as RUNS
from headrace._runs.store import run_by_pk
from headrace.errors import StoreBusy

_PAGE = 1_000


class Calls:
    def __init__(
        self,
        *,
        database: Database,
        journal: Journal,
        memory: Memory,
        runner: Runner,
        endings: Endings,
        commands: Commands,
        changed: Callable[[int], None],
    ) -> None:
        self._database = database
        self._journal = journal
        self._memory = memory
        self._runner = runner
        self._endings = endings
        self._commands = commands
        self._changed = changed
        self._answering = False
        self._again = False
        self.is_open = False

    def look(self) -> None:
        """See what workers have to tell, and do it."""
        if not self.is_open:
            return
        if self._answering:
            self._again = True
            return
        try:
            rows = self._database.read(lambda reader: reader.all(SQL.calls, {"count": _PAGE}))
            for run in dict.fromkeys(run for _, run in rows):
                self._attend(run)
        except StoreBusy:  # the database is away for a moment; to attend to a run twice does no harm
            asyncio.get_running_loop().call_later(SECONDS_BETWEEN_OFFERS, self.look)
            return
        if rows:
            self._answer(rows)

    def _answer(self, rows: list[Row]) -> None:
        self._answering = True
        answered = [{"pk": pk} for pk, _ in rows]

        def done(_: None, error: BaseException | None) -> None:
            self._answering = False
            if error is not None:
                self._journal.fail(error)
            elif self._again or len(rows) == _PAGE:
                self._again = False
                self.look()

        self._journal.submit(lambda tx: tx.run_many(SQL.answer_call, answered), done)

    def _attend(self, pk: int) -> None:
        record = self._database.read(lambda reader: run_by_pk(reader, pk))
        if record is None:
            return
        self._changed(pk)
        run = self._memory.residents.get(pk)
        if not record.state.is_open:
            self._tell_of_end(pk)
        elif run is None:
            self._memory.call_in(pk)
        else:
            run.cancel_wanted = run.cancel_wanted or record.cancel_at is not None
            run.fresh = False  # there may be something to read back
            if run.replay is None:
                self._tell(run)

    def _tell_of_end(self, pk: int) -> None:
        """A worker's transaction has replaced the run."""
        ended = self._endings.end_of(pk)
        waiters = self._database.read(lambda reader: reader.all(RUNS.waiters_of, {"run": pk}))
        if ended is not None:
            self._endings.over(pk, Over([(waiter, command) for waiter, command in waiters]), ended)

    def _tell(self, run: Resident) -> None:
        self._runner.record_cancel(run)
        for command, position in self._database.read(lambda reader: _met(reader, run.pk)):
            self._commands.event_came(run, command, position)


def _met(reader: Reader, run: int) -> list[tuple[int, int]]:
    """The waits of a run whose event is there, and where."""
    found = []
    for command, topic, kind, subject, after in reader.all(RUNS.waits_met, {"run": run}):
        about = None if subject is None else Subject(kind, subject)
        event = first_match(reader, Wait(topic=topic, subject=about, after=after))
        if event is not None:
            found.append((command, event.position))
    return found
