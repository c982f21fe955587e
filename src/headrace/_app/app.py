"""``Headrace``: the calls that programs, the server and the CLI share."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Self, TypeVar, cast

from headrace._app.bridges import Bridges
from headrace._app.endpoints import Endpoints, Outgoing
from headrace._app.event_calls import EventCalls
from headrace._app.examination import size_of_store, sizes_of_file
from headrace._app.feed import RunFeed
from headrace._app.incoming import Incoming, WebhookAnswer
from headrace._app.inspection import detail_of, history_of
from headrace._app.tables import Tables
from headrace._app.view import History, RunDetail, RunView
from headrace._app.watchers import Watchers, WatcherView
from headrace._app.wires import Wires
from headrace._app.worker import NO_WORKERS, this_worker
from headrace._authoring import guard
from headrace._authoring.context import Policy, RunRef, message_shape
from headrace._authoring.flow import Flow
from headrace._authoring.pipeline import Pipeline, Registry
from headrace._base import log
from headrace._base.clock import SystemClock, from_datetime, to_datetime
from headrace._base.vault import Vault
from headrace._bridge.model import BridgeView
from headrace._engine.commands import error_of
from headrace._engine.engine import EmbeddedEngine, Limits
from headrace._engine.preflight import Preflight, preflight
from headrace._events.sharing import OWNER, Worker
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Reader
from headrace._runs.model import RunState
from headrace._runs.store import counts, list_runs, run_by_id
from headrace._store.group_commit import CommitCounts
from headrace._store.location import SCHEMA, Location, PostgresUrl, locate
from headrace._store.opening import OwnedDatabase, open_store
from headrace._store.pipeline_tables import upgrade
from headrace.errors import ConfigurationError, EngineUnavailable, RunNotFound, ValueRefused

if TYPE_CHECKING:
    from pydantic import BaseModel

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

PreflightMode = Literal["warn", "refuse", "off"]
_PREFLIGHT_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Started:
    """What a start by name has led to; ``joined`` says that the run was there before."""

    run: RunView
    joined: bool


class Run(Generic[R]):
    """A handle on one run. ``id`` is what people call it, ``number`` counts the runs of that id."""

    def __init__(self, app: Headrace, ref: RunRef, flow: Flow[Any, R] | None) -> None:
        self._app = app
        self._flow = flow
        self.id = ref.id
        self.number = ref.number

    async def result(self) -> R:
        """Wait for the end of the run and return what its flow returned; raises RunFailed, RunCancelled or RunTimedOut otherwise."""
        end = await self._app.engine.wait(self.id, self.number)
        if end.state is not RunState.COMPLETED:
            raise error_of(end)
        flow = self._flow or self._app.registry.flows[end.flow]
        return cast(R, flow.shape.result.decode(end.result or b"null"))

    async def view(self) -> RunView:
        return await self._app.get(self.id, self.number)

    async def send(self, topic: str, value: object = None) -> None:
        await self._app.send(self.id, topic, value)

    async def cancel(self, *, force: bool = False) -> None:
        await self._app.cancel(self.id, force=force)

    def __repr__(self) -> str:
        return f"<run {self.id} #{self.number}>"


class Headrace(EventCalls):
    """Runs pipelines on one store; use it with ``async with``.

    ``preflight``: before work begins, replay the open runs for a moment against this code, and ``warn`` or ``refuse`` to start where it does not fit.
    ``watch``: let the pipelines' watchers run.
    ``store``: the path of a file, or the URL of a Postgres database (``postgresql://user@host/database``) and the schema in it.
    ``unguarded``: modules that flows may call though they read the clock or touch files; their author answers for equal replays.
    ``outgoing``: how webhooks are sent to the endpoints in ``app.webhooks``.
    ``keys``: the first encrypts all values that are stored from now on, all of them decrypt; `headrace keys new` prints one.
    ``rabbitmq``: the URL of the broker that the bridges of the pipelines lead to; without one they are off, and with ``stand_ins`` too.
    ``subscriptions``: on a database, whether this process takes its share of them (``here``) or leaves them to `headrace worker` (``workers``).
    """

    def __init__(
        self,
        pipelines: Sequence[Pipeline],
        *,
        store: str | os.PathLike[str] | PostgresUrl,
        postgres_schema: str = SCHEMA,
        durability: Literal["safe", "fast"] = "safe",
        preflight: PreflightMode = "warn",
        limits: Limits | None = None,
        unguarded: tuple[str, ...] = (),
        settings: Mapping[str, BaseModel] | None = None,
        stand_ins: bool = False,
        watch: bool = True,
        keys: Sequence[str | bytes] = (),
        subscriptions: Literal["here", "workers"] = "here",
        outgoing: Outgoing | None = None,
        rabbitmq: str | None = None,
    ) -> None:
        self.pipelines = tuple(pipelines)
        self.registry = Registry.of(pipelines)
        self._location = locate(store, schema=postgres_schema)
        self._durability: Literal["safe", "fast"] = durability
        self._preflight: PreflightMode = preflight
        self._vault = Vault(keys)
        self._limits = limits
        self._clock: Clock = SystemClock()
        self._strict = False
        self._leaves_subscriptions = subscriptions == "workers"
        if self._leaves_subscriptions and not isinstance(self._location, PostgresUrl):
            raise ConfigurationError(NO_WORKERS)
        self._wires = Wires(settings, stand_ins=stand_ins)
        self.stand_ins = stand_ins
        self._watch = watch
        self._stack = AsyncExitStack()
        self._engine: EmbeddedEngine | None = None
        self._database: OwnedDatabase | None = None
        self._outgoing = outgoing or Outgoing()
        self._webhooks: Endpoints | None = None
        self.incoming = Incoming(self.registry, self._wires.settings_of)
        self._conditions: list[Callable[[Reader], None]] = []
        self._wired: dict[str, tuple[object, ...]] = {}
        self._watchers: Watchers | None = None
        self._rabbitmq = None if stand_ins else rabbitmq
        self._bridges: Bridges | None = None
        self.fit: Preflight | None = None
        guard.trust(unguarded)

    async def __aenter__(self) -> Self:
        try:
            database = await self._open_store()
            self._database = database
            self._stack.push_async_callback(database.close)
            for condition in self._conditions:
                database.read(condition)
            sets = [pipeline.tables for pipeline in self.pipelines if pipeline.tables is not None]
            if sets:
                await database.write(lambda tx: upgrade(tx, sets))
            self._check_fit()
            self._check_webhooks()
            for pipeline in self.pipelines:
                self._wired[pipeline.name] = (*await self._wire(pipeline), self.tables)
            self._bridges = bridges = Bridges(self.pipelines, url=self._rabbitmq, clock=self._clock, database=database)
            self._engine = EmbeddedEngine(
                registry=self.registry,
                database=database,
                clock=self._clock,
                wired=self._wired,
                limits=self._limits,
                strict=self._strict,
                outlets=bridges.outlets,
                share=self._share(database),
                leaves_subscriptions=self._leaves_subscriptions,
            )
            self._webhooks = Endpoints(database, self._clock, self._engine.delivery, self._outgoing)
            self._webhooks.open()
            self._stack.push_async_callback(self._webhooks.close)
            await self._engine.open()
            self._stack.push_async_callback(self._engine.close)
            self._stack.push_async_callback(bridges.stop)
            bridges.begin(self._engine)
            self._watchers = Watchers(self, self._clock, self.pipelines, self._wired)
            self._stack.push_async_callback(self._watchers.stop)
            self._begin_watchers()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()
        self._engine = self._webhooks = None

    def _begin_watchers(self) -> None:
        assert self._watchers is not None
        if self._watch:
            self._watchers.begin()

    @property
    def watchers(self) -> tuple[WatcherView, ...]:
        """What the pipelines keep running beside their flows, and how it is."""
        return () if self._watchers is None else self._watchers.views()

    @property
    def bridges(self) -> tuple[BridgeView, ...]:
        """The bridges to a broker that the pipelines declare, and how they are."""
        return () if self._bridges is None or self._engine is None else self._bridges.views()

    def _troubles(self) -> Mapping[str, str]:
        return {} if self._bridges is None else self._bridges.troubles()

    def _share(self, database: OwnedDatabase) -> Worker | None:
        if not database.is_shared:
            return None
        return this_worker(f"{OWNER}{database.epoch}", {})

    def require(self, condition: Callable[[Reader], None]) -> None:
        """Look at the store before anything is begun; what ``condition`` raises keeps this from starting."""
        self._conditions.append(condition)

    async def _open_store(self) -> OwnedDatabase:
        return await open_store(self._location, durability=self._durability, vault=self._vault)

    def _check_webhooks(self) -> None:
        self.incoming.check()

    def _check_fit(self) -> None:
        if self._preflight == "off":
            return
        found = self.database.read(lambda reader: preflight(reader, self.registry, seconds=_PREFLIGHT_SECONDS))
        if found.problems and self._preflight == "refuse":
            raise ConfigurationError(
                "this code does not fit open runs:\n"
                + "\n".join(f"  {item.run_id}: {item.reason}" for item in found.problems)
            )
        self.fit = found
        _report(found)

    async def _wire(self, pipeline: Pipeline) -> tuple[object, ...]:
        return await self._wires.build(pipeline, self._stack, self.tables)

    def use(self, kind: type[T], *, pipeline: str | None = None) -> T:
        """What a wiring built, by its type, for routes and programs; name the pipeline where several built such a thing."""
        names = [pipeline] if pipeline is not None else list(self._wired)
        found = [thing for name in names for thing in self._wired.get(name, ()) if isinstance(thing, kind)]
        if len(found) == 1:
            return found[0]
        trouble = "more than one wiring built such a thing; say pipeline=" if found else "no wiring built such a thing"
        raise ConfigurationError(f"use({kind.__name__}): {trouble}; see Pipeline(wire=...)")

    @property
    def tables(self) -> Tables:
        """The store, for tables that pipelines bring along."""
        return Tables(self.database)

    @property
    def location(self) -> Location:
        """Where the store is: an absolute path, or a URL that shows no password as text."""
        return self._location if isinstance(self._location, PostgresUrl) else self._location.absolute()

    def now(self) -> datetime:
        """The time on the clock that the runs go by."""
        return to_datetime(self._clock.now())

    @property
    def revision(self) -> str:
        """Another text after each commit to the store, and after each start."""
        if self._database is None:
            return ""
        return f"{self._database.epoch}-{self._database.counts().transactions + self._database.heard}"

    @property
    def failure(self) -> str | None:
        """Why runs do not go on, or None when they do."""
        if self._engine is None:
            return "not running"
        return None if self._engine.failure is None else str(self._engine.failure)

    @property
    def clock(self) -> Clock:
        """What the runs here go by."""
        return self._clock

    @property
    def engine(self) -> EmbeddedEngine:
        if self._engine is None:
            raise EngineUnavailable("Headrace is not running; use it inside 'async with Headrace(...) as app:'")
        return self._engine

    @property
    def webhooks(self) -> Endpoints:
        """Where events go as webhooks: endpoints can be added, disabled and removed while it runs."""
        if self._webhooks is None:
            raise EngineUnavailable("Headrace is not running; use it inside 'async with Headrace(...) as app:'")
        return self._webhooks

    @property
    def database(self) -> Database:
        if self._database is None:
            raise EngineUnavailable("Headrace is not running; use it inside 'async with Headrace(...) as app:'")
        return self._database

    async def start(self, flow: Flow[P, R], *args: P.args, **kwargs: P.kwargs) -> Run[R]:
        """Start a run, or join the one that has the same id; it is on disk when this returns."""
        return await self.start_as(flow, None, "join", *args, **kwargs)

    async def start_as(
        self, flow: Flow[P, R], run_id: str | None, policy: Policy, *args: P.args, **kwargs: P.kwargs
    ) -> Run[R]:
        """``start`` with an id of your own, and what to do if it is taken: join, reject or replace."""
        ref = await self.engine.start(
            self.registry.name_of(flow), flow.shape.encode(args, kwargs), run_id=run_id, policy=policy
        )
        return Run(self, ref, flow)

    async def run(self, flow: Flow[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """``start`` and wait for the result."""
        started = await self.start(flow, *args, **kwargs)
        return await started.result()

    async def get(self, run_id: str, number: int | None = None) -> RunView:
        record = self.database.read(lambda reader: run_by_id(reader, run_id, number))
        if record is None:
            raise RunNotFound(run_id)
        return RunView.of(record)

    async def runs(
        self, *, flow: str | None = None, state: str | None = None, search: str | None = None, count: int = 100
    ) -> list[RunView]:
        """Runs, the newest first."""
        full = None if flow is None else self.registry.find(flow)
        found = self.database.read(lambda reader: list_runs(reader, flow=full, state=state, search=search, count=count))
        return [RunView.of(record) for record in found]

    async def start_named(
        self, flow: str, arguments: Mapping[str, object], *, run_id: str | None = None, policy: Policy = "join"
    ) -> Started:
        """``start`` for callers that have no Python values: the name of a flow, and its arguments by name as plain JSON."""
        full = self.registry.find(flow)
        definition = self.registry.flows[full]
        _check_names(definition, arguments)
        args, kwargs = definition.shape.decode(json.dumps(arguments).encode())
        before = self._clock.now()
        ref = await self.engine.start(full, definition.shape.encode(args, kwargs), run_id=run_id, policy=policy)
        view = await self.get(ref.id, ref.number)
        return Started(run=view, joined=from_datetime(view.created_at) < before)

    async def detail(self, run_id: str, number: int | None = None) -> RunDetail:
        """All that is known of a run, but its history."""
        return self.database.read(lambda reader: detail_of(reader, run_id, number))

    async def history(self, run_id: str, number: int | None = None, *, after: int = 0, count: int = 1_000) -> History:
        """What entered a run, in order, with the failed attempts of its steps."""
        return self.database.read(lambda reader: history_of(reader, run_id, number, after=after, count=count))

    def counts(self, *, only_open: bool = False) -> Mapping[str, int]:
        """How many runs are in each state."""
        return self.database.read(lambda reader: counts(reader, only_open=only_open))

    def changes(self, *, since: str | None = None) -> RunFeed:
        """Hear which runs of this process change, from this moment on, until it stops; ``since`` is the position of an earlier feed."""
        return RunFeed(self.engine.changes, self.database, since=since)

    def commits(self) -> CommitCounts:
        """How much was written, and how much of it together."""
        if self._database is None:
            return CommitCounts(operations=0, transactions=0, repeated=0)
        return self._database.counts()

    def sizes(self) -> Mapping[str, int]:
        """Bytes of the store: the file itself and the log of what waits to move into it, or the tables of a database."""
        location = self.location
        if isinstance(location, PostgresUrl):
            return {"tables": self.database.read(lambda reader: size_of_store(reader, location))}
        return sizes_of_file(location)

    def announce(self, *, address: str | None, token_file: str | None = None) -> None:
        """Tell other processes where this one answers for its store."""
        if self._database is not None:
            self._database.announce(address=address, token_file=token_file)

    async def resume_subscription(self, name: str) -> None:
        """Let a paused subscription go on where it stopped."""
        self.webhooks.check_may_resume(name)
        await super().resume_subscription(name)

    async def receive_webhook(self, name: str, body: bytes, headers: Mapping[str, str]) -> WebhookAnswer:
        """What ``POST /webhooks/NAME`` does, for programs with a server of their own: check the sender, publish what the webhook becomes.

        ``body`` is what came over the wire, byte for byte. The event is on disk when this returns; the same webhook gets the first answer
        again. A webhook without ``secret`` and ``token`` is not guarded here.
        """
        full = self.registry.find_webhook(name)
        told = self.incoming.read(full, headers, body, self._clock.now())
        if told.draft is None:
            log.info("webhook.ignored", webhook=full, id=told.id)
            return WebhookAnswer(webhook=full, accepted=False, event=None, position=None)
        draft = told.draft
        published = await self.publish(
            draft.topic, told.plain_data, subject=draft.subject, id=told.event_id, source=f"webhooks/{full}", time=draft.time, plain=True,
        )  # fmt: skip
        return WebhookAnswer(webhook=full, accepted=True, event=published.id, position=published.position)

    async def send(self, run: Run[Any] | RunRef | str, topic: str, value: object = None) -> None:
        """Leave a message for an open run; it is stored before anyone waits for it."""
        run_id = run if isinstance(run, str) else run.id
        await self.engine.send(run_id, topic, message_shape(topic, Any).encode(value))

    async def cancel(self, run: Run[Any] | RunRef | str, *, force: bool = False) -> None:
        """Ask a run to stop; its flow sees CancelledError and may clean up. ``force`` ends it at once."""
        await self.engine.cancel(run if isinstance(run, str) else run.id, force=force)

    async def retry(self, run: Run[Any] | RunRef | str) -> RunRef:
        """Let a blocked or quarantined run go on; start a failed one again with the same input."""
        return await self.engine.retry(run if isinstance(run, str) else run.id)

    def handle(self, run_id: str, number: int | None = None) -> Run[Any]:
        """A handle on a run that was started earlier or elsewhere."""
        record = self.database.read(lambda reader: run_by_id(reader, run_id, number))
        if record is None:
            raise RunNotFound(run_id)
        return Run(self, RunRef(record.id, record.number), None)


def _check_names(flow: Flow[Any, Any], arguments: Mapping[str, object]) -> None:
    parameters = inspect.signature(flow.fn).parameters.values()
    takes = [item.name for item in parameters]
    known = f"it takes {', '.join(takes)}" if takes else "it takes none"
    for name in arguments:
        if name not in takes:
            raise ValueRefused(f"flow {flow.name!r} has no argument {name!r}; {known}")
    for item in parameters:
        is_optional = item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD) or item.default is not item.empty
        if not is_optional and item.name not in arguments:
            raise ValueRefused(f"flow {flow.name!r} needs the argument {item.name!r}; {known}")


def _report(found: Preflight) -> None:
    for item in found.problems:
        log.warning("preflight.does_not_fit", run_id=item.run_id, flow=item.flow, reason=item.reason)
    if found.skipped:
        log.info(
            "preflight.skipped",
            checked=found.checked,
            skipped=found.skipped,
            hint="`headrace preflight` checks them all",
        )
