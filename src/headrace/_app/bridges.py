"""The bridges of the loaded pipelines: begun with the engine, stopped before it, looked at by people."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from headrace._authoring.pipeline import Pipeline
from headrace._base import log
from headrace._base.clock import Instant, to_datetime
from headrace._bridge.declaration import RabbitMQ
from headrace._bridge.model import BridgeView, FeedView, OutsideEvent
from headrace._engine.engine import EmbeddedEngine
from headrace._events.model import EventRecord, Published
from headrace._events.outlet import Outlet
from headrace._events.store import cursors_of, event_at, event_by_id, last_position
from headrace._events.topic import matches, matches_any
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Reader
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    from headrace._bridge.link import Link

OFF = "off"


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A bridge under its full name."""

    name: str
    pipeline: Pipeline
    bridge: RabbitMQ


class Bridges:
    """``url`` None: all of them are off."""

    def __init__(self, pipelines: Sequence[Pipeline], *, url: str | None, clock: Clock, database: Database) -> None:
        self._clock = clock
        self._database = database
        self._log = _Log(clock, database)
        self._began = clock.now()
        self._placed = [
            _Placed(name=f"{pipeline.name}.{bridge.name}", pipeline=pipeline, bridge=bridge)
            for pipeline in pipelines
            for bridge in pipeline.bridges
            if isinstance(bridge, RabbitMQ)
        ]
        self._links: dict[str, Link] = {} if url is None else self._connected_to(url)
        self._reached: Callable[[str], int | None] = lambda _: None

    def _connected_to(self, url: str) -> dict[str, Link]:
        if not self._placed:
            return {}
        try:
            from headrace._bridge.link import Link
        except ImportError as error:
            raise ConfigurationError(
                f"a bridge to RabbitMQ needs a package that is not here ({error.name}); pip install 'headrace[rabbitmq]'"
            ) from error
        return {
            item.name: Link(item.bridge, item.name, url, clock=self._clock, log_=self._log) for item in self._placed
        }

    @property
    def outlets(self) -> Mapping[str, Outlet]:
        return {name: link.relay for name, link in self._links.items() if link.bridge.relay is not None}

    def begin(self, engine: EmbeddedEngine) -> None:
        """Connect; from now on events leave and come in."""
        self._log.engine = engine
        self._reached = engine.delivery.position_of
        for item in self._placed:
            _look_at_bindings(item)
            if item.name not in self._links:
                log.warning("bridge.off", bridge=item.name, hint="set HEADRACE_RABBITMQ__URL")
        for link in self._links.values():
            link.begin()

    async def stop(self) -> None:
        await asyncio.gather(*(link.stop() for link in self._links.values()))

    def troubles(self) -> dict[str, str]:
        """What keeps events from leaving, by the name of the bridge."""
        found = {
            item.name: "the bridge is off; set HEADRACE_RABBITMQ__URL and restart"
            for item in self._placed
            if item.name not in self._links
        }
        for name, link in self._links.items():
            if link.state.state != "connected":
                found[name] = f"no connection to {link.broker}: {link.state.error or 'trying'}"
        return found

    def views(self) -> tuple[BridgeView, ...]:
        return self._database.read(lambda reader: tuple(self._view(reader, item) for item in self._placed))

    def _view(self, reader: Reader, item: _Placed) -> BridgeView:
        link = self._links.get(item.name)
        behind, lag = self._distance(reader, item)
        if link is None:
            return BridgeView(
                name=item.name, exchange=item.bridge.exchange, broker="", state=OFF, since=to_datetime(self._began), error="", next_at=None,
                sending=0, confirmed=0, unroutable=0, behind=behind, lag=lag,
                feeds=tuple(FeedView(queue=feed.queue, taken=0, known=0, refused=0) for feed in item.bridge.feeds),
            )  # fmt: skip
        state = link.state
        return BridgeView(
            name=item.name, exchange=item.bridge.exchange, broker=link.broker, state=state.state, since=state.since, error=state.error,
            next_at=state.next_at, sending=link.relay.sending, confirmed=link.relay.confirmed, unroutable=link.relay.unroutable,
            behind=behind, lag=lag, feeds=tuple(feed.view() for feed in link.feeds),
        )  # fmt: skip

    def _distance(self, reader: Reader, item: _Placed) -> tuple[int, float]:
        """How many positions a relay is behind, and for how long."""
        cursors = cursors_of(reader, item.name)
        if not cursors:
            return 0, 0.0
        position = max(min(cursor.position for cursor in cursors), self._reached(item.name) or 0)
        behind = max(0, last_position(reader) - position)
        following = event_at(reader, position + 1) if behind else None
        return behind, 0.0 if following is None else max(0, self._clock.now() - following.at) / 1_000_000


def _look_at_bindings(item: _Placed) -> None:
    """A star is one word: say so where somebody seems to have meant more."""
    declared = sorted(
        {event.topic for event in item.pipeline.events}.union(*(life.topics for life in item.pipeline.lifecycles))
    )
    bindings = {f"queue {queue}": topics for queue, topics in item.bridge.queues.items()}
    bindings |= {f"queue {feed.queue}": feed.topics for feed in item.bridge.feeds}
    bindings["topics"] = item.bridge.topics
    for where, patterns in bindings.items():
        for pattern in (one for one in patterns if one.endswith(".*")):
            wider = pattern[:-1] + "#"
            missed = [topic for topic in declared if matches(wider, topic) and not matches_any(patterns, topic)]
            if missed:
                log.warning(
                    "bridge.pattern_misses",
                    bridge=item.name,
                    where=where,
                    pattern=pattern,
                    missed=", ".join(missed),
                    use=wider,
                )


class _Log:
    """What feeds ask of Headrace."""

    def __init__(self, clock: Clock, database: Database) -> None:
        self._clock = clock
        self._database = database
        self.engine: EmbeddedEngine | None = None

    def event(self, event_id: str) -> EventRecord | None:
        return self._database.read(lambda reader: event_by_id(reader, event_id))

    async def append(self, event: OutsideEvent, *, cause: str) -> Published:
        assert self.engine is not None
        time: datetime | None = event.time
        new = self.engine.log.new_event(
            event.topic, event.data, subject=event.subject, event_id=event.id, source=event.source, time=time, cause=cause,
            at=self._clock.now(), plain=True,
        )  # fmt: skip
        return await self.engine.publish(replace(new, generation=event.generation))

    async def wait(self, micros: int) -> None:
        due: Instant = self._clock.now() + micros
        while self._clock.now() < due:
            called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            timer = self._clock.call_at(due, lambda called=called: called.done() or called.set_result(None))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            try:
                await called
            finally:
                timer.cancel()
