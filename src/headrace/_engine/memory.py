"""Which runs are in memory: how they come, who has to wait outside, and who leaves when it gets crowded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from os import cpu_count

from headrace._authoring.pipeline import Registry
from headrace._base import faultpoints
from headrace._base.clock import Instant
from headrace._engine.dispatch import Dispatcher
from headrace._engine.journal import Journal
from headrace._engine.machine import Replay, machine_of
from headrace._engine.resident import Resident, Shown
from headrace._engine.timers import Timers
from headrace._ports.clock import Clock
from headrace._ports.database import Database, SqlValue
from headrace._runs.model import Begun, Kind, NewRun, RunRecord, RunState
from headrace._runs.store import SQL, journal_of, run_by_pk, set_state
from headrace.errors import FlowNotFound, StoreBusy


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much at once; none of these changes what happens, only when."""

    active_runs: int = 5_000
    """Runs in memory that are doing something; further ones are queued."""
    idle_runs: int = 2_000
    """Waiting runs that may stay in memory; the least recently used ones leave."""
    loop_steps: int = 1_000
    thread_steps: int = 32
    process_steps: int = field(default_factory=lambda: cpu_count() or 1)
    history_warning: int = 10_000
    history: int = 50_000
    """Journal rows after which a run is blocked, so that it does not grow for ever."""
    lease_seconds: float = 15.0
    """Without a sign of life for so long, what a process has of subscriptions is given to others."""
    drain_seconds: float = 10.0
    """How long running steps may take to end when the engine is closed."""


class Memory:
    def __init__(
        self,
        *,
        registry: Registry,
        database: Database,
        clock: Clock,
        journal: Journal,
        timers: Timers,
        limits: Limits,
        strict: bool,
        wake: Callable[[Resident], None],
        admit_soon: Callable[[], None],
        changed: Callable[[int], None],
    ) -> None:
        self._registry = registry
        self._database = database
        self._clock = clock
        self._journal = journal
        self._timers = timers
        self._limits = limits
        self._strict = strict
        self._wake = wake
        self._admit_soon = admit_soon
        self._changed = changed
        self._idle: OrderedDict[int, Resident] = OrderedDict()
        # Ended or set aside here, and not yet on disk: nobody may load what the file still says of them.
        self._leaving: set[int] = set()
        self.residents: dict[int, Resident] = {}
        self.by_id: dict[str, Resident] = {}  # an id has at most one open run
        self.waiting_outside: OrderedDict[int, None] = OrderedDict()
        self.dispatcher: Dispatcher | None = None

    # Coming

    @property
    def has_room(self) -> bool:
        return len(self.residents) - len(self._idle) < self._limits.active_runs

    def call_in(self, pk: int) -> None:
        """Something is due for this run: wake it, or bring it in as soon as there is room."""
        run = self.residents.get(pk)
        if run is not None:
            self._wake(run)
        else:
            self.waiting_outside.setdefault(pk)
            self._admit_soon()

    def admit_next(self) -> None:
        pk, _ = self.waiting_outside.popitem(last=False)
        if pk in self.residents or pk in self._leaving:
            return
        try:
            self._admit(pk)
        except StoreBusy:
            # The database is away for a moment, and the run is still the next one.
            self.waiting_outside[pk] = None
            self.waiting_outside.move_to_end(pk, last=False)
            raise

    def _admit(self, pk: int) -> None:
        record = self._database.read(lambda reader: run_by_pk(reader, pk))
        if record is None or not record.state.is_open or record.state is RunState.QUARANTINED:
            return
        if record.started_at is None:
            self._begin_queued(pk)
        else:
            self._take_in(record, fresh=False)

    def _begin_queued(self, pk: int) -> None:
        # Its time begins now, not when it was put in line, and that has to be on disk before the flow can see it.
        parameters: dict[str, SqlValue] = {"pk": pk, "at": self._clock.now()}

        def begun(_result: object, _error: object) -> None:
            self._changed(pk)
            self.call_in(pk)

        self._journal.submit(lambda tx: tx.run(SQL.set_going, parameters), begun)

    def take_in_fresh(self, begun: Begun, new: NewRun) -> None:
        """A run was begun a moment ago: nothing of it has to be read back."""
        if new.state is RunState.QUEUED:
            self.call_in(begun.pk)
        else:
            self._take_in(_record_of(begun, new), fresh=True)

    def _take_in(self, record: RunRecord, *, fresh: bool) -> None:
        if record.flow not in self._registry.flows:
            unknown = FlowNotFound(record.flow, tuple(self._registry.flows))
            self.show(record.pk, Shown(RunState.BLOCKED, str(unknown), None, ""))
            return
        rows = [] if fresh else self._database.read(lambda reader: journal_of(reader, record.pk))
        machine = machine_of(self._registry, record, rows, strict=self._strict)
        run = Resident(record, machine, self._registry.pipeline_of[record.flow].name)
        run.replay = Replay(machine, rows)
        run.fresh = fresh
        run.cancel_sent = any(row.kind == Kind.CANCEL for row in rows)
        run.cancel_wanted = record.cancel_at is not None
        if rows:
            run.seq = run.seq_settled = rows[-1].seq
            run.last_at = rows[-1].at
        self.residents[record.pk] = self.by_id[record.id] = run
        self._wake(run)

    # Staying

    def is_wanted(self, run: Resident) -> None:
        """A resting run has something to do."""
        self._idle.pop(run.pk, None)

    def show(self, pk: int, shown: Shown, run: Resident | None = None) -> None:
        """Write down what a run waits for, or why it cannot go on; one in memory may rest when that is on disk."""
        reason, at = shown.reason[:1000], self._clock.now()
        seen = 0 if run is None else run.last_message
        if run is not None:
            run.shown = shown
            run.writing += 1

        def done(_: object, error: BaseException | None) -> None:
            self._leaving.discard(pk)
            if error is None:
                self._changed(pk)
            if run is not None:
                run.writing -= 1
                if error is None and not run.gone and not run.is_busy and run.shown is shown:
                    if (
                        run.is_going
                    ):  # what was under way is over already, and the file has to say what the run waits for now
                        self._wake(run)
                    else:
                        self.rest(run)

        self._journal.submit(
            lambda tx: set_state(
                tx, pk, shown.state, reason=reason, location=shown.location, next_at=shown.next_at, at=at, seen=seen
            ),
            done,
        )

    def rest(self, run: Resident) -> None:
        """This run waits, and the file says so; when there are too many of its kind, those that rest longest leave."""
        self._idle[run.pk] = run
        self._idle.move_to_end(run.pk)
        while len(self._idle) > self._limits.idle_runs:
            _, oldest = self._idle.popitem(last=False)
            if not oldest.is_busy:  # what entered it is on its way to the disk; it rests again after that
                self._evict(oldest)
        if self.waiting_outside:
            self._admit_soon()

    # Leaving

    def _evict(self, run: Resident) -> None:
        faultpoints.hit("eviction.before")
        self.forget(run)
        self._timers.leave_on_disk(run.pk, run.shown.next_at)

    def set_aside(self, run: Resident, state: RunState, reason: str) -> None:
        """This run cannot go on by itself; nothing of it is lost."""
        location = run.machine.location()
        self.leave(run)
        self.show(run.pk, Shown(state, reason, None, location))

    def leave(self, run: Resident) -> None:
        """Take a run out of memory whose last word is on its way to the disk; ``has_left`` when it is there."""
        self.forget(run)
        self._leaving.add(run.pk)

    def has_left(self, run: Resident) -> None:
        self._leaving.discard(run.pk)

    def forget(self, run: Resident) -> None:
        """Take a run out of memory; what the file says of it stays true."""
        assert self.dispatcher is not None
        run.gone = True
        if self.residents.pop(run.pk, None) is not None and self.by_id.get(run.id) is run:
            del self.by_id[run.id]
        self._idle.pop(run.pk, None)
        self.dispatcher.drop(run)
        for entry in run.timers.values():
            self._timers.cancel(entry)
        if run.deadline is not None:
            self._timers.cancel(run.deadline)
        run.machine.close()
        if self.waiting_outside:
            self._admit_soon()

    def clear(self) -> None:
        for run in self.residents.values():
            run.gone = True
            run.machine.close()
        self.residents.clear()
        self.by_id.clear()
        self._idle.clear()
        self.waiting_outside.clear()


def _record_of(begun: Begun, new: NewRun) -> RunRecord:
    at: Instant = new.at
    return RunRecord(
        pk=begun.pk, id=begun.id, number=begun.number, flow=new.flow, state=new.state, reason="", location="", since_at=at, next_at=None,
        input=new.input, result=None, error=None, seed=new.seed, parent=new.parent, deadline_at=new.deadline_at, cancel_at=None,
        created_at=at, started_at=at, finished_at=None, continued_as=None, begun_at_pos=begun.begun_at_pos, job=new.job,
    )  # fmt: skip
