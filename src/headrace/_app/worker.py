"""A process that handles events beside the owner of a store: any number of them, on any number of machines."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from headrace._app.tables import Tables
from headrace._app.wires import Wires
from headrace._authoring.pipeline import Pipeline, Registry
from headrace._base.clock import SystemClock
from headrace._base.vault import Vault
from headrace._engine.memory import Limits
from headrace._engine.subscriber import Subscriber
from headrace._events.sharing import Worker as Share
from headrace._store.location import Location, PostgresUrl
from headrace._store.opening import open_beside
from headrace._store.pipeline_tables import check
from headrace.errors import ConfigurationError, NotFound

if TYPE_CHECKING:
    from pydantic import BaseModel

NO_WORKERS = (
    "a file has one process, which handles its subscriptions itself: run it with `headrace up`. For several processes move the store to "
    "Postgres (HEADRACE_STORE__PATH=postgresql://...); docs/how-to/grow-onto-postgres.md says how"
)


def this_worker(name: str, parts: Mapping[str, int]) -> Share:
    return Share(name=name, host=socket.gethostname(), pid=os.getpid(), parts=dict(parts))


class Worker:
    """Takes its share of subscriptions for as long as it is entered; ``subscriptions`` are their names, None: all that the pipelines have."""

    def __init__(
        self,
        pipelines: Sequence[Pipeline],
        *,
        store: Location,
        subscriptions: Sequence[str] | None = None,
        limits: Limits | None = None,
        settings: Mapping[str, BaseModel] | None = None,
        stand_ins: bool = False,
        keys: Sequence[str | bytes] = (),
    ) -> None:
        if not isinstance(store, PostgresUrl):
            raise ConfigurationError(NO_WORKERS)
        self.pipelines = tuple(pipelines)
        self.registry = Registry.of(pipelines)
        self.location = store
        self.subscriptions = self._chosen(subscriptions)
        self._limits = limits or Limits()
        self._wires = Wires(settings, stand_ins=stand_ins)
        self._vault = Vault(keys)
        self._stack = AsyncExitStack()
        self._engine: Subscriber | None = None
        # Unique also on machines whose numbers of processes are the same, as in containers.
        self.name = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"

    def _chosen(self, names: Sequence[str] | None) -> dict[str, int]:
        """How many parts each of them has."""
        # Bridges are no work for workers: their connection is the owner's.
        triggers = self.registry.triggers.items()
        known = {name: trigger.parts for name, (_, trigger) in triggers if not trigger.leaves_for}
        if not known:
            raise ConfigurationError("these pipelines have no subscriptions, so there is nothing for a worker to do")
        for name in names or ():
            if name not in known:
                raise NotFound(f"there is no subscription {name!r} in these pipelines; known are {', '.join(known)}")
        return {name: parts for name, parts in known.items() if not names or name in names}

    async def __aenter__(self) -> Self:
        try:
            database = await open_beside(self.location, vault=self._vault)
            self._stack.push_async_callback(database.close)
            database.read(lambda reader: check(reader, [item.tables for item in self.pipelines if item.tables]))
            tables = Tables(database)
            wired = {
                item.name: (*await self._wires.build(item, self._stack, tables), tables) for item in self.pipelines
            }
            self._engine = Subscriber(
                registry=self.registry,
                database=database,
                clock=SystemClock(),
                share=this_worker(self.name, self.subscriptions),
                wired=wired,
                limits=self._limits,
            )
            self._engine.open()
            self._stack.push_async_callback(self._engine.close)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def engine(self) -> Subscriber:
        assert self._engine is not None
        return self._engine
