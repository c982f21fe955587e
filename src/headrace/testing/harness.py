"""Runs pipelines for real, on a real store file, but with a clock that jumps, services of the test's own, and deaths on demand."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import tempfile
import threading
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from headrace._app.app import Run
from headrace._app.inspection import history_of
from headrace._app.view import HistoryEntry, RunView
from headrace._authoring import guard
from headrace._authoring.context import Policy, RunRef
from headrace._authoring.flow import Flow
from headrace._authoring.identity import token
from headrace._authoring.pipeline import Pipeline, Registry
from headrace._authoring.step import Step
from headrace._base import log
from headrace._base.clock import Instant, to_micros
from headrace._base.vault import Vault, as_text
from headrace._engine.commands import RunEnd
from headrace._engine.dispatch import StepAttempt
from headrace._engine.engine import NO_ANSWER, Limits
from headrace._events.model import Event, Published
from headrace._events.store import events_after
from headrace._events.topic import matches
from headrace._jobs.lifecycle import JobRef
from headrace._ports.database import Reader
from headrace._runs.model import SET_ASIDE, RunRecord
from headrace._runs.store import list_runs, run_by_id
from headrace._store.blobs import unseal_text
from headrace._store.location import Location, PostgresUrl, locate
from headrace._store.opening import open_reader
from headrace.errors import ConfigurationError, EngineUnavailable, HeadraceError, StoreError
from headrace.testing import faults
from headrace.testing._checker import CHECKER, addresses_of, other_hash_seed, why_not_elsewhere
from headrace.testing._idleness import IdleWatch
from headrace.testing._replay import QUERIES, Difference, differences, flows_in, outcome_lines
from headrace.testing._subject import HarnessRun, Outfit, Subject
from headrace.testing.clock import BEGINNING, VirtualClock
from headrace.testing.disk import FakeDisk
from headrace.testing.faults import Crash, Fault
from headrace.testing.invariants import check_invariants

__all__ = ["Harness", "HarnessRun", "InvariantBroken", "ReplaySummary", "Stuck"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_PATIENCE = 1.0
"""Real seconds of complete silence before a run that nothing can wake is given up."""
_MOMENT = 0.02
"""Real seconds of complete silence before steps under way are taken to wait for the clock, if anything is planned on it."""
_ALL = 1_000_000

entered: weakref.WeakSet[Harness] = weakref.WeakSet()
"""The harnesses of the test that runs; the pytest plugin reports them when it fails."""
default_seed = 0
default_store: str | None = None
"""The URL of a database in which each harness that names no store gets a schema of its own."""


class Stuck(HeadraceError):
    """A run that the test waits for cannot go on, and nothing that is planned will change that."""

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(run_id, reason)
        self.run_id = run_id
        self.reason = reason

    def __str__(self) -> str:
        return f"run {self.run_id!r} does not go on: {self.reason}"


class InvariantBroken(HeadraceError):
    """The store is not as every store must be at every moment; this is a defect of Headrace, not of the flows under test."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(problems)
        self.problems = problems

    def __str__(self) -> str:
        return "the store breaks what must always hold:\n" + "\n".join(f"  {problem}" for problem in self.problems)


@dataclass(frozen=True, kw_only=True)
class ReplaySummary:
    """How runs were checked at the end: the flows that another process could import, and those that only this one knows, with the reason."""

    elsewhere: tuple[str, ...] = ()
    here: Mapping[str, str] = field(default_factory=dict)


class _Awaited:
    """A run that the test waits for."""

    def __init__(self, run_id: str, number: int, stuck: asyncio.Future[None]) -> None:
        self.run_id = run_id
        self.number = number
        self.stuck = stuck


class Harness:
    """One store and the process that works on it; use it with ``async with``.

    ``pipelines`` may also be single flows. ``ports``, a thing or a tuple of things, replaces what the pipelines' wiring builds; services
    that go by the same time as the flows get a ``clock`` of the test's, which the harness then takes, too.
    The clock stands still, except while the test waits for a result: then it jumps to whatever is due next as soon as
    everything waits. At the end the store is examined and every run is replayed, in another process with another hash seed,
    and must come to what is recorded (``replay_check``); with ``replay_prefixes`` also from every so many rows of its journal.
    With ``keys`` the store is encrypted, as with ``Headrace(keys=[...])``.
    ``store`` is a file or the URL of a database; without one, or without ``--headrace-store``, it is a file that goes with the harness.
    """

    def __init__(
        self,
        *pipelines: Pipeline | Flow[Any, Any],
        ports: object = None,
        start: datetime = BEGINNING,
        clock: VirtualClock | None = None,
        strict: bool = True,
        store: str | os.PathLike[str] | PostgresUrl | None = None,
        limits: Limits | None = None,
        seed: int | None = None,
        disk: FakeDisk | None = None,
        replay_check: bool = True,
        replay_prefixes: bool | int = False,
        keys: Sequence[str | bytes] = (),
    ) -> None:
        self.pipelines = _as_pipelines(pipelines)
        self.clock = clock or VirtualClock(start)
        self.seed = default_seed if seed is None else seed
        self.replays = ReplaySummary()
        self._started_at = self.clock.now()
        self._ports = None if ports is None else ports if isinstance(ports, tuple) else (ports,)
        self._strict = strict
        self._store = None if store is None else locate(store)
        self._limits = limits
        self._disk = disk
        self._replay_check = replay_check
        self._every = int(replay_prefixes) or None
        self._keys = tuple(map(as_text, keys))
        self._vault = Vault(self._keys)
        self._chance = random.Random(self.seed)
        self._stack = AsyncExitStack()
        self._app: Subject | None = None
        self._lives = 0
        self._faults: list[Fault] = []
        self._death: Crash | None = None
        self._revival: asyncio.Task[None] | None = None
        self._down_for = timedelta(0)
        self._dead: asyncio.Future[None] | None = None
        self._awaited: list[_Awaited] = []
        self._settling: list[asyncio.Future[None]] = []
        self._told_of: set[str] = set()

    # Life

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        if self._store is None:
            self._store = self._fresh_store()
        self._watch()
        entered.add(self)
        try:
            await self._live()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._stack:
            if error is not None and not isinstance(error, Exception):
                await self._close()
                return
            try:
                await self._finish()
            except HeadraceError as found:
                if error is None:
                    raise
                error.add_note(f"and at the end: {type(found).__name__}: {found}")

    def _fresh_store(self) -> Location:
        if default_store is not None and self._disk is None:
            from headrace.testing._server import drop, fresh_schema

            place = fresh_schema(default_store)
            self._stack.push_async_callback(asyncio.to_thread, drop, place)
            return place
        folder = Path(tempfile.mkdtemp(prefix="headrace-"))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder / "test.db"

    def _watch(self) -> None:
        idle = IdleWatch(self)
        idle.start()
        self._stack.callback(idle.stop)
        faults.watch(self._strike)
        self._stack.callback(faults.unwatch, self._strike)
        before = self._loop.get_exception_handler()

        def ignore_crashes(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            if isinstance(context.get("exception"), Crash):
                return
            if before is None:
                loop.default_exception_handler(context)
            else:
                before(loop, context)

        self._loop.set_exception_handler(ignore_crashes)
        self._stack.callback(self._loop.set_exception_handler, before)

    async def _live(self) -> None:
        assert self._store is not None
        outfit = Outfit(
            clock=self.clock,
            strict=self._strict,
            limits=self._limits,
            ports=self._ports,
            mode="test" if self._disk is None else "safe",
            vfs=None if self._disk is None else self._disk.vfs,
            vault=self._vault,
            seed=f"{self.seed}/{self._lives}",
        )
        app = Subject(self, self.pipelines, store=self._store, outfit=outfit)
        await app.__aenter__()
        self._lives += 1
        self._dead = self._loop.create_future()
        self._death = None
        self._app = app

    @property
    def app(self) -> Subject:
        """The ``Headrace`` that runs now; after a crash it is another one."""
        if self._app is None:
            raise EngineUnavailable("the harness is not entered; use it inside 'async with Harness(...) as harness:'")
        return self._app

    @property
    def location(self) -> Location:
        """Where the store is."""
        return self.app.location

    @property
    def elapsed(self) -> timedelta:
        """How much time has passed on the harness's clock since the beginning."""
        return timedelta(microseconds=self.clock.now() - self._started_at)

    @property
    def crashes(self) -> int:
        """How often the process has begun again."""
        return self._lives - 1

    # Running flows

    async def run(self, flow: Flow[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Start a run and wait for its result, through crashes."""
        started = await self.start(flow, *args, **kwargs)
        return await started.result()

    async def start(self, flow: Flow[P, R], *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        """Start a run, or join the one that has the same id; it is on disk when this returns."""
        return await self.start_as(flow, None, "join", *args, **kwargs)

    async def start_as(
        self, flow: Flow[P, R], run_id: str | None, policy: Policy, *args: P.args, **kwargs: P.kwargs
    ) -> Run[R]:
        """``start`` with an id of your own, and what to do if it is taken: join, reject or replace."""
        ref = await self.begin(flow, flow.shape.encode(args, kwargs), run_id, policy)
        return HarnessRun(self, ref, flow)

    async def begin(self, flow: Flow[Any, Any], arguments: bytes, run_id: str | None, policy: Policy) -> RunRef:
        app = await self._alive()
        name = app.registry.name_of(flow)
        chosen = run_id or flow.run_id_for(arguments) or f"{flow.name}-{token(self._chance.getrandbits(64))}"
        before = self._latest(chosen)
        while True:
            app = await self._alive()
            # After a crash nobody knows whether the start was heard; whoever asks again looks first.
            now = self._latest(chosen)
            if now is not None and (before is None or now.number > before.number):
                return RunRef(now.id, now.number)
            try:
                return await self._unless_it_dies(app.engine.start(name, arguments, run_id=chosen, policy=policy))
            except (Crash, EngineUnavailable, StoreError):
                if not self._is_down(app):
                    raise

    def _latest(self, run_id: str) -> RunRecord | None:
        return self.app.database.read(lambda reader: run_by_id(reader, run_id))

    async def outcome(self, run_id: str, number: int) -> RunEnd:
        """Wait for the end of a run; the clock jumps meanwhile."""
        awaited = _Awaited(run_id, number, self._loop.create_future())
        self._awaited.append(awaited)
        try:
            while True:
                app = await self._alive()
                try:
                    return await self._unless_it_dies(app.engine.wait(run_id, number), awaited.stuck)
                except (Crash, EngineUnavailable, StoreError):
                    if not self._is_down(app):
                        raise
        finally:
            self._awaited.remove(awaited)
            awaited.stuck.cancel()

    async def _unless_it_dies(self, call: Coroutine[Any, Any, T], stuck: asyncio.Future[None] | None = None) -> T:
        assert self._dead is not None
        waiting = self._loop.create_task(call)
        try:
            others: list[asyncio.Future[Any]] = [self._dead] if stuck is None else [self._dead, stuck]
            await asyncio.wait([waiting, *others], return_when=asyncio.FIRST_COMPLETED)
            if stuck is not None and stuck.done():
                stuck.result()
            if not waiting.done():
                raise EngineUnavailable(NO_ANSWER)
            return waiting.result()
        finally:
            waiting.cancel()

    async def send(self, run: Run[Any] | RunRef | str, topic: str, value: object = None) -> None:
        """Leave a message for an open run."""
        await (await self._alive()).send(run, topic, value)

    async def publish(
        self,
        topic: str,
        data: object = None,
        *,
        subject: str | JobRef,
        id: str | None = None,
        source: str | None = None,
        time: datetime | None = None,
    ) -> Published:
        """Append an event to the log; asked again, with the same id, when the process dies before it answers."""
        chosen = id or f"event-{token(self._chance.getrandbits(64))}"
        while True:
            app = await self._alive()
            try:
                return await self._unless_it_dies(
                    app.publish(topic, data, subject=subject, id=chosen, source=source, time=time)
                )
            except (Crash, EngineUnavailable, StoreError):
                if not self._is_down(app):
                    raise

    async def cancel(self, run: Run[Any] | RunRef | str, *, force: bool = False) -> None:
        """Ask a run to stop."""
        await (await self._alive()).cancel(run, force=force)

    def told_of(self, run_id: str, state: str) -> None:
        if state in SET_ASIDE:
            self._told_of.add(run_id)

    # Looking

    def runs(self) -> list[RunView]:
        """All runs, the oldest first."""
        found = self.app.database.read(lambda reader: list_runs(reader, count=_ALL))
        return [RunView.of(record) for record in reversed(found)]

    def history(self, run: Run[Any] | RunRef | str) -> list[HistoryEntry]:
        """What entered a run, in order."""
        run_id, number = (run, None) if isinstance(run, str) else (run.id, run.number)
        found = self.app.database.read(lambda reader: history_of(reader, run_id, number, after=0, count=_ALL))
        return list(found.entries)

    async def events(self, topic: str = "#") -> list[Event[Any]]:
        """All events of a topic or pattern in the log, in order."""
        topics = self.app.registry.catalogue.topics
        found = self.app.database.read(lambda reader: events_after(reader, 0, count=_ALL))
        return [topics.event(record) for record in found if matches(topic, record.topic)]

    # Time

    async def settle(self) -> None:
        """Wait until everything waits or has ended; the clock stands still meanwhile."""
        settled: asyncio.Future[None] = self._loop.create_future()
        self._settling.append(settled)
        await settled

    async def advance(self, duration: timedelta) -> None:
        """Let so much time pass, and everything happen that falls due on the way."""
        target = self.clock.now() + to_micros(duration)
        while True:
            await self.settle()
            if self._death is not None:  # it came between the quiet moment and this one
                continue
            due = self._next_due()
            if due is None or due > target:
                break
            self.clock.go_to(due)
        self.clock.go_to(max(target, self.clock.now()))
        await self.settle()

    def _next_due(self) -> Instant | None:
        """The next moment at which something happens, in memory, on disk or in what the test has planned."""
        app, now = self.app, self.clock.now()
        timers = app.engine._timers
        on_disk = app.database.read(lambda reader: reader.one(QUERIES.next_due, {"now": now}))
        planned = self._next_planned()
        due = [timers.next_event(), on_disk[0] if on_disk else None, planned]
        return min((item for item in due if item is not None and item > now), default=None)

    def _next_planned(self) -> Instant | None:
        """What the test, or a service that goes by its clock, waits for."""
        own = self.app.engine._timers._handle
        return next((timer.due for timer in self.clock.waiting() if timer is not own), None)

    def when_idle(self) -> float | None:
        """The loop has nothing to do: let those go on who waited for that, or let the clock jump."""
        app = self._app
        if app is None or self._death is not None or self._revival is not None or app._engine is None:
            return None
        if app.engine.failure is not None:
            return self._settle_with(app.engine.failure)
        if not app.engine.is_quiet:
            return self._when_steps_are_under_way()
        if self._settling:
            return self._settle_with(None)
        if not self._awaited:
            return None
        if self._give_up_those_set_aside(app):
            return 0
        due = self._next_due()
        if due is None:
            # What the loop does not know of, such as a thread of the test, gets a moment to do something.
            return _PATIENCE
        self.clock.go_to(due)
        return 0

    def _when_steps_are_under_way(self) -> float | None:
        """A step may wait for an answer, a thread, or, within a service, for time to pass: then nothing comes unless the clock moves."""
        is_watched = self._settling or self._awaited
        return _MOMENT if is_watched and self._next_planned() is not None else None

    def when_silent(self) -> None:
        """The clock has nowhere to jump, and nothing has come from outside either."""
        if not self.app.engine.is_quiet:
            self._let_services_wait()
            return
        reason = "everything waits, and nothing that could happen is left\n" + self._open_runs()
        for awaited in self._awaited:
            if not awaited.stuck.done():
                awaited.stuck.set_exception(Stuck(awaited.run_id, reason))

    def _let_services_wait(self) -> None:
        if self._settling:
            self._settle_with(None)
        elif (due := self._next_due()) is not None:
            self.clock.go_to(due)

    def _settle_with(self, failure: BaseException | None) -> float | None:
        settling, self._settling = self._settling, []
        for settled in settling:
            if settled.done():
                continue
            if failure is None:
                settled.set_result(None)
            else:
                settled.set_exception(failure)
        return 0 if settling else None

    def _give_up_those_set_aside(self, app: Subject) -> bool:
        aside = {row[0]: row for row in app.database.read(_set_aside)}
        found = False
        for awaited in self._awaited:
            if awaited.run_id in aside and not awaited.stuck.done():
                _, _, state, reason = aside[awaited.run_id]
                self._told_of.add(awaited.run_id)
                awaited.stuck.set_exception(Stuck(awaited.run_id, f"it is {state}: {reason}"))
                found = True
        return found

    def _open_runs(self) -> str:
        runs = self.app.database.read(lambda reader: list_runs(reader, only_open=True, count=_ALL))
        return "\n".join(
            f"  {run.id} #{run.number} ({run.flow}) is {run.state}: {run.reason} {run.location}"
            for run in reversed(runs)
        )

    # Death

    def crash_once(
        self,
        *,
        after: Step[Any, Any] | None = None,
        before: Step[Any, Any] | None = None,
        at: str | None = None,
        at_commit: int | None = None,
        nth: int = 1,
    ) -> Fault:
        """Let the process die once and begin again; whoever waits for a result goes on waiting.

        ``after`` a step: its effect has happened and is not recorded, so that it runs again. ``before`` a step. ``at`` a
        point of ``FAULT_POINTS``. ``at_commit``: the so-manieth commit from now on is the last one that reaches the disk.
        """
        if [after, before, at, at_commit].count(None) != 3:
            raise ConfigurationError("crash_once(...) takes one of after=, before=, at= and at_commit=")
        if at_commit is not None:
            fault = Fault("store.after_commit", nth=at_commit)
        elif at is not None:
            fault = Fault(at, nth=nth)
        else:
            fault = Fault("step.after" if after is not None else "step.before", step=after or before, nth=nth)
        self._faults.append(fault)
        return fault

    async def crash(self, *, down_for: timedelta = timedelta(0)) -> None:
        """Die now, stay away for a while, and begin again."""
        await self._alive()
        self._down_for = down_for
        self._die("crash")
        await self._alive()

    async def restart(self, *, down_for: timedelta = timedelta(0)) -> None:
        """Stop gracefully and begin again, as for an upgrade."""
        app = await self._alive()
        self._down_for = down_for
        self._is_gone("restart")
        self._revival = self._loop.create_task(self._begin_again(app.leave()))
        await self._alive()

    def _strike(self, point: str, about: object) -> None:
        if self._death is not None or not any(fault.meets(point, about) for fault in self._faults):
            return
        self._faults = [fault for fault in self._faults if not fault.has_struck]
        if threading.get_ident() == self._thread:
            self._die(point)
            raise self._death or Crash(point)
        # The writer's thread: from here on nothing is committed and nobody is told; the loop learns of it as soon as it can.
        self._death = Crash(point)
        self.app.database.abandon()
        self._loop.call_soon_threadsafe(self._die, point)

    def _die(self, point: str) -> None:
        if self._revival is not None:
            return
        app = self.app
        log.info("test.crashed", point=point)
        self._death = Crash(point)
        app.engine.kill()
        self._is_gone(point)
        self._revival = self._loop.create_task(self._begin_again(app.bury()))

    def _is_gone(self, why: str) -> None:
        """From here on nobody gets an answer, and no fault strikes, until the process has begun again."""
        self._death = Crash(why)
        if self._dead is not None and not self._dead.done():
            self._dead.set_result(None)

    async def _begin_again(self, end: Coroutine[Any, Any, None]) -> None:
        await end
        self.clock.advance(self._down_for)
        self._down_for = timedelta(0)
        await self._live()
        self._revival = None

    def _is_down(self, app: Subject) -> bool:
        return self._death is not None or self._app is not app

    async def _alive(self) -> Subject:
        while self._death is not None:
            if self._revival is None:  # the writer's thread has died and the loop does not know yet
                turn: asyncio.Future[None] = self._loop.create_future()
                self._loop.call_soon(turn.set_result, None)
                await turn
            else:
                await asyncio.shield(self._revival)
        return self.app

    # The end

    async def _finish(self) -> None:
        app = await self._alive()
        problems = [] if app.engine.failure is not None or not app.engine.is_quiet else self._merely_going(app)
        aside = app.database.read(_set_aside)
        await self._close()
        problems += await asyncio.to_thread(check_invariants, self.location, self._keys)
        if problems:
            raise InvariantBroken(tuple(problems))
        if not self._replay_check:
            return
        for run_id, _, state, reason in aside:
            if run_id not in self._told_of:
                raise Stuck(run_id, f"it is {state}, and the test did not ask about it: {reason}")
        await self._check_replays(app.registry)

    async def _close(self) -> None:
        if self._death is not None:
            await self._alive()
        if self._app is not None:
            self._is_gone("the end")  # one that is leaving in good order does not die: nobody is left who would be told
            await self._app.leave()

    def _merely_going(self, app: Subject) -> list[str]:
        rows = app.database.read(lambda reader: reader.all(QUERIES.merely_going))
        busy = {attempt.run.pk for attempt in app.engine._attempts.under_way if isinstance(attempt, StepAttempt)}
        return [
            f"I9: run {id!r} #{number} is {state}, and nothing is under way for it"
            for pk, id, number, state in rows
            if pk not in busy
        ]

    async def _check_replays(self, registry: Registry) -> None:
        """In another process what it can import, here what it cannot."""
        store = self.location
        used = await asyncio.to_thread(_read, store, self._vault, flows_in)
        flows = {full: registry.flows[full] for full in sorted(used) if full in registry.flows}
        declared = await asyncio.to_thread(addresses_of, registry.catalogue)
        here = {full: reason for full, flow in flows.items() if (reason := why_not_elsewhere(flow)) is not None}
        if declared is None:
            here = dict.fromkeys(flows, "an event type or a lifecycle is not at the top of a module")
        elsewhere = {full: flow for full, flow in flows.items() if full not in here}
        found: list[Difference] = []
        if elsewhere:
            answer = await asyncio.to_thread(
                CHECKER.ask,
                store=store,
                flows=elsewhere,
                declared=declared or [],
                strict=self._strict,
                every=self._every,
                trusted=tuple(guard._trusted),
                keys=self._keys,
            )
            found += answer.differences
            here |= answer.unknown
        if here:
            only = frozenset(here)
            found += _read(
                store,
                self._vault,
                lambda reader: list(differences(reader, registry, strict=self._strict, every=self._every, only=only)),
            )
        for full, reason in here.items():
            log.info("replay.checked_here", flow=full, reason=reason)
        self.replays = ReplaySummary(
            elsewhere=tuple(full for full in elsewhere if full not in here), here=MappingProxyType(here)
        )
        if found:
            error = found[0].as_error()
            error.add_note(
                f"replayed after the test, with another hash seed:\n{outcome_lines(found)}\nto repeat: {self.command}"
            )
            raise error

    @property
    def command(self) -> str:
        """How to repeat the test that uses this harness."""
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        return (
            f"PYTHONHASHSEED={other_hash_seed()} pytest {test!r} --headrace-seed={self.seed}"
            if test
            else f"seed {self.seed}"
        )


def _read(store: Location, vault: Vault, query: Any) -> Any:
    with open_reader(store, vault=vault) as reader:
        return reader.read(query)


def _set_aside(reader: Reader) -> list[tuple[str, int, str, str]]:
    rows = reader.all(QUERIES.set_aside)
    return [(id, number, state, unseal_text(reader, reason)) for id, number, state, reason in rows]


def _as_pipelines(parts: Sequence[Pipeline | Flow[Any, Any]]) -> tuple[Pipeline, ...]:
    pipelines = [part for part in parts if isinstance(part, Pipeline)]
    flows = [part for part in parts if isinstance(part, Flow)]
    if flows:
        pipelines.append(Pipeline("test", flows=flows))
    if not pipelines:
        raise ConfigurationError("Harness(...) needs the pipelines or flows that it shall run")
    return tuple(pipelines)
