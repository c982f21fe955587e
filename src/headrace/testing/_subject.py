"""Headrace as a harness runs it: with a clock, services and a death of the harness's choosing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

from headrace._app.app import Headrace, Run
from headrace._authoring.context import Policy, RunRef
from headrace._authoring.flow import Flow
from headrace._authoring.pipeline import Pipeline
from headrace._base.vault import Vault
from headrace._engine.commands import RunEnd, error_of
from headrace._engine.engine import NO_ANSWER, Limits
from headrace._ports.clock import Clock
from headrace._runs.model import RunState
from headrace._store.connection import Mode
from headrace._store.location import Location, PostgresUrl
from headrace._store.opening import OwnedDatabase
from headrace._store.sqlite import SqliteDatabase, _open
from headrace.errors import EngineUnavailable
from headrace.testing._mortal import MortalDatabase
from headrace.testing.faults import Crash

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Keeper(Protocol):
    """What runs and their handles ask of the harness."""

    @property
    def app(self) -> Subject: ...
    async def outcome(self, run_id: str, number: int) -> RunEnd: ...
    def told_of(self, run_id: str, state: str) -> None: ...
    async def begin(self, flow: Flow[Any, Any], arguments: bytes, run_id: str | None, policy: Policy) -> RunRef: ...


@dataclass(frozen=True, kw_only=True)
class Outfit:
    """What the runtime gets from the harness instead of the world."""

    clock: Clock
    strict: bool
    limits: Limits | None
    ports: tuple[object, ...] | None
    mode: Mode
    vfs: str | None
    vault: Vault
    seed: str


class MortalFile(MortalDatabase, SqliteDatabase):
    """A file."""

    @classmethod
    async def open(cls, path: Path, outfit: Outfit) -> Self:
        opened = await asyncio.to_thread(_open, path, outfit.mode, False, True, outfit.vfs, outfit.vault)
        return cls(opened, asyncio.get_running_loop())


async def _open_mortal(location: Location, outfit: Outfit) -> OwnedDatabase:
    if not isinstance(location, PostgresUrl):
        return await MortalFile.open(location, outfit)
    from headrace.testing._server import MortalServer

    return await MortalServer.open(location, outfit.vault)


class HarnessRun(Run[R]):
    """A handle on a run that stays valid when the process dies and comes back."""

    def __init__(self, keeper: Keeper, ref: RunRef, flow: Flow[Any, R] | None) -> None:
        super().__init__(keeper.app, ref, flow)
        self._keeper = keeper

    async def result(self) -> R:
        """Wait for the end of the run, letting the clock jump; raises as ``Run.result`` does, and ``Stuck`` when it cannot end."""
        end = await self._keeper.outcome(self.id, self.number)
        if end.state is not RunState.COMPLETED:
            raise error_of(end)
        flow = self._flow or self._keeper.app.registry.flows[end.flow]
        return cast(R, flow.shape.result.decode(end.result or b"null"))

    async def view(self) -> Any:
        self._app = self._keeper.app
        view = await super().view()
        self._keeper.told_of(view.id, view.state)
        return view

    async def send(self, topic: str, value: object = None) -> None:
        self._app = self._keeper.app
        await super().send(topic, value)

    async def cancel(self, *, force: bool = False) -> None:
        self._app = self._keeper.app
        await super().cancel(force=force)


@contextmanager
def _as_seen_from_outside() -> Iterator[None]:
    """Whoever talks to a process that dies sees no more than that there is no answer."""
    try:
        yield
    except Crash as crash:
        raise EngineUnavailable(NO_ANSWER) from crash


class Subject(Headrace):
    """Headrace under test."""

    def __init__(self, keeper: Keeper, pipelines: Sequence[Pipeline], *, store: Location, outfit: Outfit) -> None:
        super().__init__(pipelines, store=store, preflight="off", limits=outfit.limits)
        self._keeper = keeper
        self._outfit = outfit
        self._clock = outfit.clock
        self._strict = outfit.strict

    def _begin_watchers(self) -> None:
        """A harness plays the outside itself; nothing watches the real one."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        # Nothing of the engine has run yet: it begins when the loop turns.
        chance: Any = random.Random(self._outfit.seed)
        self.engine._chance = chance
        self.engine._dispatcher._chance = random.Random(f"{self._outfit.seed}/retries")
        return self

    async def _open_store(self) -> OwnedDatabase:
        return await _open_mortal(self._location, self._outfit)

    async def _wire(self, pipeline: Pipeline) -> tuple[object, ...]:
        return await super()._wire(pipeline) if self._outfit.ports is None else self._outfit.ports

    def _check_webhooks(self) -> None:
        # Who brings ports of their own has no need of settings, and may have none.
        if self._outfit.ports is None:
            super()._check_webhooks()

    async def start_as(
        self, flow: Flow[P, R], run_id: str | None, policy: Policy, *args: P.args, **kwargs: P.kwargs
    ) -> Run[R]:
        ref = await self._keeper.begin(flow, flow.shape.encode(args, kwargs), run_id, policy)
        return HarnessRun(self._keeper, ref, flow)

    async def send(self, run: Run[Any] | RunRef | str, topic: str, value: object = None) -> None:
        with _as_seen_from_outside():
            await super().send(run, topic, value)

    async def cancel(self, run: Run[Any] | RunRef | str, *, force: bool = False) -> None:
        with _as_seen_from_outside():
            await super().cancel(run, force=force)

    async def retry(self, run: Run[Any] | RunRef | str) -> RunRef:
        with _as_seen_from_outside():
            return await super().retry(run)

    def handle(self, run_id: str, number: int | None = None) -> Run[Any]:
        found = super().handle(run_id, number)
        return HarnessRun(self._keeper, RunRef(found.id, found.number), None)

    async def leave(self) -> None:
        """Close, without waiting for steps that wait for a clock which stands still."""
        if self._engine is not None and self._engine._attempts.are_asleep:
            self._engine.limits = replace(self._engine.limits, drain_seconds=0.0)
        await self.__aexit__(None, None, None)

    async def bury(self) -> None:
        """After a death: free the file, undo the wiring, stop the worker processes that a real death would have taken along."""
        engine = self._engine
        database: object = self._database
        if isinstance(database, MortalDatabase):
            await database.buried()
        await self.__aexit__(None, None, None)
        if engine is not None:
            await engine._attempts.close()
