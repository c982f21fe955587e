"""Sending events to the exchange: many under way at once, each told of when the broker has confirmed it.

Whatever is not confirmed when the connection goes is sent again over the next one, so the broker may get an event twice, never not at all.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from aio_pika import DeliveryMode, Message
from aio_pika.exceptions import ChannelPreconditionFailed, DeliveryError, PublishError

from headrace._base import log
from headrace._base.clock import to_datetime
from headrace._bridge.declaration import RabbitMQ
from headrace._bridge.envelope import Parcel, pack
from headrace._events.model import EventRecord
from headrace._events.outlet import Taken
from headrace.errors import ServiceRefused, ServiceUnavailable, ValueRefused

if TYPE_CHECKING:
    from aio_pika.abc import AbstractExchange

WINDOW = 500
"""Messages that wait for the broker's confirmation at the same time."""
_LONGEST_TEXT = 255


@dataclass(frozen=True, slots=True)
class _Sending:
    event: EventRecord
    taken: Taken


_Place = tuple[int, int]
"""The position of an event, and how manieth call to send it was: a replay sends an event beside the ordinary work."""


def came_from(exchange: str) -> str:
    """What the log notes as the cause of events that an exchange has brought; they do not go back there."""
    return f"rabbitmq:{exchange}"


class Relay:
    """The outlet of one bridge."""

    def __init__(self, bridge: RabbitMQ, name: str, *, patience: float, window: int = WINDOW) -> None:
        self._bridge = bridge
        self._name = name
        self._patience = patience
        self._window = window
        self._waiting: dict[_Place, _Sending] = {}
        self._under_way: dict[_Place, _Sending] = {}
        self._calls = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._exchange: AbstractExchange | None = None
        self._broken: Callable[[BaseException], None] = _ignore
        self._one_by_one = 0
        self._highest = 0
        self._last: int | None = None
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._told_of: set[str] = set()
        self.confirmed = 0
        self.unroutable = 0

    @property
    def sending(self) -> int:
        return len(self._under_way)

    def send(self, event: EventRecord, taken: Taken) -> None:
        if event.cause == came_from(self._bridge.exchange):
            asyncio.get_running_loop().call_soon(taken, None)
            return
        self._calls += 1
        self._waiting[event.position, self._calls] = _Sending(event, taken)
        self._go()

    def connected(self, exchange: AbstractExchange, broken: Callable[[BaseException], None]) -> None:
        """Send what waits; ``broken`` is called when the broker does not answer any more."""
        self._exchange, self._broken = exchange, broken
        self._go()

    def disconnected(self, error: BaseException | None = None) -> None:
        """Nobody knows what became of what is under way: it waits to be sent again, before everything else.

        ``error``: why the broker closed the channel. Where it was for one message, those under way are sent again one by one to find it.
        """
        self._exchange = None
        for task in tuple(self._tasks):
            task.cancel()
        left, self._under_way = self._under_way, {}
        if isinstance(error, ChannelPreconditionFailed):
            if self._one_by_one and len(left) == 1:
                self._refuse(left.popitem()[1], error)
            else:
                self._one_by_one = len(left)
        self._waiting = dict(sorted((left | self._waiting).items()))
        self._idle.set()

    def _refuse(self, sending: _Sending, error: BaseException) -> None:
        self._one_by_one -= 1
        sending.taken(ValueRefused(f"the broker closes the channel over event {sending.event.id!r}: {error}"))

    async def settle(self) -> None:
        """Wait for what is under way, and send nothing more but what stands before it in the log.

        A position says "everything up to here": with holes before it, what is confirmed behind them would be sent once more after a restart.
        """
        self._last = self._highest
        self._go()
        await self._idle.wait()

    def _go(self) -> None:
        window = 1 if self._one_by_one else self._window
        while self._exchange is not None and len(self._under_way) < window and (place := self._next()) is not None:
            self._under_way[place] = self._waiting.pop(place)
            self._highest = max(self._highest, place[0])
            self._idle.clear()
            task = asyncio.create_task(self._deliver(self._exchange, place))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _next(self) -> _Place | None:
        last = self._last
        return next(iter(self._waiting) if last is None else (one for one in self._waiting if one[0] <= last), None)

    async def _deliver(self, exchange: AbstractExchange, place: _Place) -> None:
        event = self._under_way[place].event
        refusal: Exception | None = None
        try:
            async with asyncio.timeout(self._patience):
                await exchange.publish(_message(event, pack(event, self._bridge.envelope)), event.topic, mandatory=True)
        except PublishError:
            refusal = self._unroutable(event)
        except DeliveryError:
            refusal = ServiceUnavailable(f"the broker could not keep event {event.id!r}: a queue it goes to is full")
        except (TypeError, ValueError, struct.error) as error:
            refusal = ValueRefused(f"event {event.id!r} cannot be written as a message: {error}")
        except Exception as error:  # noqa: BLE001 - aio-pika raises what its transport raised; whatever it is, the connection is of no more use
            if self._exchange is exchange:
                self._broken(error)
            return
        if self._exchange is exchange:
            self._answered(place, refusal)

    def _answered(self, place: _Place, refusal: Exception | None) -> None:
        sending = self._under_way.pop(place)
        self._one_by_one = max(0, self._one_by_one - 1)
        if refusal is None:
            self.confirmed += 1
        sending.taken(refusal)
        self._go()
        if not self._under_way:
            self._idle.set()

    def _unroutable(self, event: EventRecord) -> Exception | None:
        is_optional = self._bridge.is_optional(event.topic)
        if event.topic not in self._told_of:
            self._told_of.add(event.topic)
            log.warning("bridge.unroutable", bridge=self._name, topic=event.topic, event=event.id, optional=is_optional)
        if is_optional:
            self.unroutable += 1
            return None
        return ServiceRefused(
            f"no queue is bound to exchange {self._bridge.exchange!r} for topic {event.topic!r}; bind one (RabbitMQ(queues=...)), or name the "
            "topic in optional= if nobody has to hear it, then try again"
        )


def _message(event: EventRecord, parcel: Parcel) -> Message:
    return Message(
        parcel.body,
        headers=dict(parcel.headers),
        content_type=parcel.content_type,
        content_encoding="utf-8",
        delivery_mode=DeliveryMode.PERSISTENT,
        message_id=_short(event.id),
        correlation_id=_short(event.subject.id),
        timestamp=to_datetime(event.time),
        type=event.topic,
        app_id="headrace",
    )


def _short(text: str) -> str:
    """AMQP has room for 255 octets; the whole of it stands in the body."""
    octets = text.encode()
    return text if len(octets) <= _LONGEST_TEXT else f"sha256:{sha256(octets).hexdigest()}"


def _ignore(_: BaseException) -> None:
    """Nobody listens before the first connection."""
