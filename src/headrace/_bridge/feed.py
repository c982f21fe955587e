"""Messages of a queue become events of the log; each is acknowledged once its event is on disk."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from aio_pika import DeliveryMode, Message
from aio_pika.exceptions import AMQPError

from headrace._authoring.retry import Retry
from headrace._base import log
from headrace._base.clock import to_micros
from headrace._bridge import envelope
from headrace._bridge.declaration import Feed, RabbitMQ
from headrace._bridge.model import BrokerMessage, FeedView, OutsideEvent
from headrace._bridge.relay import came_from
from headrace._bridge.topology import dead_exchange
from headrace._events.model import EventRecord, Published
from headrace._events.topic import matches_any
from headrace.errors import EngineUnavailable, StoreError, ValueRefused

if TYPE_CHECKING:
    from aio_pika.abc import AbstractChannel, AbstractExchange, AbstractIncomingMessage, AbstractQueue

_STORE_RETRY = Retry(attempts=None, first=0.2, factor=2, ceiling=timedelta(seconds=10), jitter=0.2)
_LONGEST_REASON = 1_000


class Log(Protocol):
    """What a feed asks of Headrace."""

    def event(self, event_id: str) -> EventRecord | None:
        """What the log has under an id."""
        ...

    async def append(self, event: OutsideEvent, *, cause: str) -> Published:
        """Publish; on disk when it returns. Its first part, up to handing over, is done before anybody else has a turn."""
        ...

    async def wait(self, micros: int) -> None: ...


class FeedIn:
    """One queue that is read."""

    def __init__(self, bridge: RabbitMQ, feed: Feed, name: str, log_: Log, *, patience: float) -> None:
        self._bridge = bridge
        self._feed = feed
        self._name = name
        self._log = log_
        self._patience = patience
        self._read = feed.read or envelope.read
        self._queue: AbstractQueue | None = None
        self._dead: AbstractExchange | None = None
        self._tag: str | None = None
        self._broken: Callable[[BaseException], None] = _ignore
        self._chance = random.Random()
        self._busy = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._taken = self._known = self._refused = 0

    def view(self) -> FeedView:
        return FeedView(queue=self._feed.queue, taken=self._taken, known=self._known, refused=self._refused)

    async def begin(self, channel: AbstractChannel, broken: Callable[[BaseException], None]) -> None:
        """Read from the queue over a channel of its own; ``broken`` is called when there is nothing more to come."""
        self._broken = broken
        await channel.set_qos(prefetch_count=self._feed.prefetch)
        self._dead = await channel.get_exchange(dead_exchange(self._bridge.exchange), ensure=False)
        self._queue = await channel.get_queue(self._feed.queue, ensure=False)
        below = await channel.get_underlay_channel()
        below.on_consumer_cancel_callbacks.add(lambda *_: broken(ConnectionError("the broker took the queue away")))
        self._tag = await self._queue.consume(self._on_message)

    async def settle(self) -> None:
        """Take nothing more, and wait until what was taken is on disk and acknowledged."""
        if self._queue is not None and self._tag is not None:
            await self._queue.cancel(self._tag)
        await self._idle.wait()

    async def _on_message(self, message: AbstractIncomingMessage) -> None:
        self._busy += 1
        self._idle.clear()
        try:
            await self._take(message)
        except EngineUnavailable:
            pass  # the next owner of the store gets it
        except (AMQPError, OSError, RuntimeError) as error:
            self._broken(error)  # the broker gives the message again, and then it is known
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    async def _take(self, message: AbstractIncomingMessage) -> None:
        try:
            event = self._read(_plain(message))
            if not isinstance(event, OutsideEvent):
                raise TypeError(f"read= of the feed returned {type(event).__name__}, not an OutsideEvent")
            self._check_topic(event.topic)
            known = await self._append(event, came_from(message.exchange or ""))
        except (StoreError, EngineUnavailable, AMQPError):
            raise
        except Exception as error:  # noqa: BLE001 - data that do not fit, `read=` or the fold of a lifecycle: the message is put aside with the reason
            await self._refuse(message, error)
            return
        self._known += known
        self._taken += not known
        await message.ack()

    def _check_topic(self, topic: str) -> None:
        # A routing key is what the broker has looked at; the topic in the body is what the log would believe.
        feed = self._feed
        if feed.read is None and feed.topics and not matches_any(feed.topics, topic):
            raise ValueRefused(f"its topic {topic!r} is none of this feed's: {', '.join(feed.topics)}")

    async def _append(self, event: OutsideEvent, cause: str) -> bool:
        """Put an event into the log; whether it was there."""
        found = self._log.event(event.id)
        if found is not None and _is_same(event, found.topic, found.subject.id, found.source):
            return True
        if found is None:
            published = await self._publish(event, cause)
            if not published.duplicate:
                return False
            found = self._log.event(event.id)
            assert found is not None
            if _is_same(event, found.topic, found.subject.id, found.source):
                return True
        # Ids are unique per source, and another source has used this one.
        return (await self._publish(replace(event, id=f"{event.source}/{event.id}"), cause)).duplicate

    async def _publish(self, event: OutsideEvent, cause: str) -> Published:
        attempt = 0
        while True:
            try:
                return await self._log.append(event, cause=cause)
            except StoreError as error:
                attempt += 1
                wait = _STORE_RETRY.wait_after(attempt, error, timedelta(0), self._chance) or timedelta(seconds=10)
                log.warning(
                    "feed.store_failed",
                    bridge=self._name,
                    queue=self._feed.queue,
                    error=str(error),
                    wait=wait.total_seconds(),
                )
                await self._log.wait(to_micros(wait))

    async def _refuse(self, message: AbstractIncomingMessage, error: Exception) -> None:
        """Put a message aside, with the reason, and only then let go of it."""
        assert self._dead is not None
        reason = f"{type(error).__name__}: {error}"[:_LONGEST_REASON]
        self._refused += 1
        log.error(
            "feed.refused",
            bridge=self._name,
            queue=self._feed.queue,
            routing_key=message.routing_key,
            message=message.message_id,
            reason=reason,
        )
        headers = dict(message.headers) | {
            "headrace-reason": reason,
            "headrace-exchange": message.exchange or "",
            "headrace-routing-key": message.routing_key or "",
        }
        letter = Message(
            message.body,
            headers=headers,
            content_type=message.content_type,
            delivery_mode=DeliveryMode.PERSISTENT,
            message_id=message.message_id,
            correlation_id=message.correlation_id,
            type=message.type,
        )
        async with asyncio.timeout(self._patience):
            await self._dead.publish(letter, self._feed.queue, mandatory=True)
        await message.ack()


def _is_same(event: OutsideEvent, topic: str, subject: str, source: str) -> bool:
    return (event.topic, event.subject) == (topic, subject) and envelope.is_same_source(event.source, source)


def _ignore(_: BaseException) -> None:
    """Nothing is read before the first connection."""


def _plain(message: AbstractIncomingMessage) -> BrokerMessage:
    return BrokerMessage(
        body=message.body,
        routing_key=message.routing_key or "",
        exchange=message.exchange or "",
        headers=dict(message.headers),
        content_type=message.content_type,
        message_id=message.message_id,
        correlation_id=message.correlation_id,
        redelivered=bool(message.redelivered),
    )
