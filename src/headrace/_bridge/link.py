"""The connection of one bridge: made, declared, watched, made again.

aio-pika's robust connections restore themselves in the background, and whoever publishes meanwhile may wait for ever. Here a connection
that breaks is thrown away, everything under way is taken back, and the next one begins from nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aio_pika
from aio_pika.exceptions import AMQPError, ProbableAuthenticationError

from headrace._authoring.retry import Retry
from headrace._base import log
from headrace._base.clock import to_datetime, to_micros
from headrace._bridge import topology
from headrace._bridge.declaration import RabbitMQ
from headrace._bridge.feed import FeedIn, Log
from headrace._bridge.relay import WINDOW, Relay
from headrace._ports.clock import Clock
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    from aio_pika.abc import AbstractChannel, AbstractConnection

AGAIN = Retry(attempts=None, first=0.5, factor=2, ceiling=timedelta(seconds=10), jitter=0.2)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How many seconds the broker gets for what."""

    connect: float = 10.0
    answer: float = 10.0
    confirm: float = 30.0
    settle: float = 5.0


@dataclass(frozen=True, kw_only=True)
class LinkState:
    """``state`` is connecting, connected or waiting."""

    state: str
    since: datetime
    error: str
    next_at: datetime | None


class Link:
    def __init__(
        self,
        bridge: RabbitMQ,
        name: str,
        url: str,
        *,
        clock: Clock,
        log_: Log,
        patience: Patience | None = None,
        window: int = WINDOW,
    ) -> None:
        self.bridge = bridge
        self.name = name
        self.broker = broker_of(url)
        self._url = url
        self._clock = clock
        self._log = log_
        self._patience = patience or Patience()
        self._chance = random.Random()
        self.relay = Relay(bridge, name, patience=self._patience.confirm, window=window)
        self.feeds = [FeedIn(bridge, feed, name, log_, patience=self._patience.confirm) for feed in bridge.feeds]
        self._state, self._since = "connecting", clock.now()
        self._failures, self._error, self._next_at = 0, "", 0
        self._task: asyncio.Task[None] | None = None

    # Life

    def begin(self) -> None:
        self._task = asyncio.create_task(self._run(), name=self.name)

    async def stop(self) -> None:
        """Let what is under way come to its end, for a moment, then leave."""
        if self._state == "connected":
            try:
                async with asyncio.timeout(self._patience.settle):
                    for feed in self.feeds:
                        await feed.settle()
                    await self.relay.settle()
            except (AMQPError, OSError, RuntimeError) as error:
                log.warning("bridge.left_early", bridge=self.name, error=_told(error))
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while True:
            self._enter("connecting")
            try:
                await self._session()
            except Exception as error:  # noqa: BLE001 - aio-pika raises what its transport raised; a bridge that has ended in silence is the worst
                await self._wait_after(error)

    async def _session(self) -> None:
        """From the connection to its end, which is always an error."""
        broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # It may break while nobody waits for that yet, or any more.
        broken.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

        def end(error: BaseException) -> None:
            if not broken.done():
                broken.set_exception(error if isinstance(error, Exception) else ConnectionError(str(error)))

        def end_for_relay(error: BaseException) -> None:
            relays.append(error)
            end(error)

        relays: list[BaseException] = []
        async with self._connected(end) as connection:
            try:
                async with asyncio.timeout(self._patience.answer):
                    channel = await self._channel(connection, end_for_relay)
                    exchange = await topology.declare(channel, self.bridge)
                    for feed in self.feeds:
                        await feed.begin(await self._channel(connection, end), end)
                self.relay.connected(exchange, end_for_relay)
                self._failures = 0
                self._enter("connected")
                log.info("bridge.connected", bridge=self.name, broker=self.broker, exchange=self.bridge.exchange)
                await broken
            finally:
                self.relay.disconnected(relays[0] if relays else None)

    @asynccontextmanager
    async def _connected(self, end: Callable[[BaseException], None]) -> AsyncIterator[AbstractConnection]:
        properties: dict[str, Any] = {"connection_name": f"headrace {self.name}"}
        async with asyncio.timeout(self._patience.connect):
            connection = await aio_pika.connect(self._url, client_properties=properties)
        connection.close_callbacks.add(lambda _, error: end(error or ConnectionError("the connection was closed")))
        try:
            yield connection
        finally:
            try:
                async with asyncio.timeout(self._patience.answer):
                    await connection.close()
            except (AMQPError, OSError, RuntimeError) as error:
                log.debug("bridge.closed_badly", bridge=self.name, error=_told(error))

    async def _channel(self, connection: AbstractConnection, end: Callable[[BaseException], None]) -> AbstractChannel:
        channel = connection.channel(publisher_confirms=True, on_return_raises=True)
        await channel.initialize()
        channel.close_callbacks.add(lambda _, error: end(error or ConnectionError("the channel was closed")))
        return channel

    async def _wait_after(self, error: Exception) -> None:
        was_connected = self._state == "connected"
        self._failures += 1
        self._error = _told(error)
        wait = AGAIN.wait_after(self._failures, error, timedelta(0), self._chance) or timedelta(seconds=10)
        self._next_at = self._clock.now() + to_micros(wait)
        self._enter("waiting")
        seconds, why = wait.total_seconds(), self._error
        if isinstance(error, ConfigurationError | ProbableAuthenticationError):
            log.error("bridge.refused", bridge=self.name, broker=self.broker, error=why, wait=seconds)
        elif was_connected:
            log.warning("bridge.lost", bridge=self.name, broker=self.broker, error=why, wait=seconds)
        else:
            log.warning("bridge.unreachable", bridge=self.name, broker=self.broker, error=why, wait=seconds)
        await self._log.wait(to_micros(wait))

    def _enter(self, state: str) -> None:
        self._state, self._since = state, self._clock.now()

    # Looking at it

    @property
    def state(self) -> LinkState:
        return LinkState(
            state=self._state,
            since=to_datetime(self._since),
            error="" if self._state == "connected" else self._error,
            next_at=to_datetime(self._next_at) if self._state == "waiting" else None,
        )


def broker_of(url: str) -> str:
    """Where a URL leads, without who goes there; raises ConfigurationError for one that leads nowhere."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("amqp", "amqps") or not parts.hostname:
        raise ConfigurationError(
            "HEADRACE_RABBITMQ__URL is no URL of a broker; write amqp://HOST:5672/VHOST with USER:PASSWORD@ before the host, or amqps:// for TLS"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return (
        f"{host}:{port or (5671 if parts.scheme == 'amqps' else 5672)}{'' if parts.path in ('', '/') else parts.path}"
    )


def _told(error: BaseException) -> str:
    if isinstance(error, ConfigurationError):
        return str(error)
    if isinstance(error, ProbableAuthenticationError):
        return f"the broker does not let this user in; look at HEADRACE_RABBITMQ__URL ({_said(error)})"
    if isinstance(error, TimeoutError):
        return "the broker does not answer"
    return f"{type(error).__name__}: {_said(error)}"


def _said(error: BaseException) -> str:
    return str(error) or repr(error)
