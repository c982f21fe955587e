"""Sending: how much at once, and what becomes of what the broker does not want. The broker here is a few lines; the real one is asked elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from aio_pika.exceptions import ChannelPreconditionFailed, DeliveryError, PublishError
from aiormq.abc import DeliveredMessage
from pamqp.commands import Basic
from pamqp.header import ContentHeader

from headrace import RabbitMQ
from headrace._bridge.relay import Relay, came_from
from headrace._events.model import EventRecord
from headrace.errors import ServiceRefused, ServiceUnavailable, ValueRefused
from tests.unit.headrace._bridge.test_envelope import EVENT


class FewLines:
    """An exchange that does what it is told to do with each message."""

    def __init__(self, on_publish: Callable[[Any], Any] | None = None) -> None:
        self.asked: list[str] = []
        self.messages: list[Any] = []
        self.under_way = 0
        self.most = 0
        self.answers = asyncio.Event()
        self._on_publish = on_publish

    async def publish(self, message: Any, routing_key: str, *, mandatory: bool) -> None:
        assert mandatory
        self.asked.append(message.message_id)
        self.messages.append(message)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.answers.wait()
            if self._on_publish is not None:
                self._on_publish(message)
        finally:
            self.under_way -= 1


def numbered(count: int) -> list[EventRecord]:
    return [replace(EVENT, position=number, id=f"e-{number}", cause="") for number in range(1, count + 1)]


async def a_turn() -> None:
    """Let everybody else have one."""
    passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(passed.set_result, None)
    await passed


class Told:
    """What the log was told of each event."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self.of: dict[str, BaseException | None] = {}
        self.more = asyncio.Event()

    def send(self, *events: EventRecord) -> None:
        for event in events:
            self._relay.send(event, lambda error, event=event: self._hear(event, error))  # type: ignore[misc]  # mypy cannot infer a lambda with a default

    def _hear(self, event: EventRecord, error: BaseException | None) -> None:
        self.of[event.id] = error
        self.more.set()

    async def until(self, count: int) -> None:
        while len(self.of) < count:
            self.more.clear()
            await self.more.wait()


def relay_of(window: int = 500, patience: float = 30, **more: Any) -> Relay:
    return Relay(RabbitMQ("e", topics="#", **more), "p.rabbitmq", patience=patience, window=window)


def connect(relay: Relay, exchange: FewLines) -> asyncio.Future[BaseException]:
    broken: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
    relay.connected(cast(Any, exchange), lambda error: broken.done() or broken.set_result(error))  # type: ignore[arg-type,func-returns-value]  # a bool is not looked at
    return broken


async def test_no_more_is_under_way_than_the_window_lets() -> None:
    """Otherwise a backlog of a day stands in memory and in the socket."""
    relay, exchange = relay_of(window=3), FewLines()
    told = Told(relay)
    told.send(*numbered(10))
    connect(relay, exchange)
    await a_turn()
    exchange.answers.set()

    await told.until(10)

    assert exchange.most == 3
    assert (relay.confirmed, relay.sending) == (10, 0)
    assert set(told.of.values()) == {None}


async def test_what_was_not_confirmed_is_sent_again_first() -> None:
    """A lost connection says nothing about what was on it."""
    relay, first, second = relay_of(window=2), FewLines(), FewLines()
    told = Told(relay)
    told.send(*numbered(4))
    connect(relay, first)
    await a_turn()
    relay.disconnected()
    second.answers.set()
    connect(relay, second)

    await told.until(4)

    assert first.asked == ["e-1", "e-2"]
    assert second.asked == ["e-1", "e-2", "e-3", "e-4"]


async def test_an_answer_of_a_lost_connection_counts_for_nothing() -> None:
    """It would let the position pass an event that is being sent again."""
    relay, first = relay_of(), FewLines()
    told = Told(relay)
    told.send(*numbered(1))
    connect(relay, first)
    await a_turn()
    relay.disconnected()
    first.answers.set()
    for _ in range(5):
        await a_turn()

    assert told.of == {}


async def test_a_broker_that_does_not_answer_is_left() -> None:
    """A connection may be lost without anybody noticing."""
    relay, silent = relay_of(patience=0.01), FewLines()
    Told(relay).send(*numbered(1))

    assert isinstance(await connect(relay, silent), TimeoutError)


def _returned(_: Any) -> None:
    delivery = Basic.Return(reply_code=312, reply_text="NO_ROUTE", exchange="e", routing_key="subtitle.ready")
    message = DeliveredMessage(delivery=delivery, header=ContentHeader(), body=b"", channel=cast(Any, None))
    raise PublishError(message, delivery)


async def test_an_event_that_no_queue_takes_is_refused_with_the_way_out(caplog: pytest.LogCaptureFixture) -> None:
    """The broker would confirm it and throw it away."""
    relay, exchange = relay_of(), FewLines(_returned)
    exchange.answers.set()
    told = Told(relay)
    connect(relay, exchange)
    told.send(*numbered(2))
    await told.until(2)

    refusal = told.of["e-1"]
    assert isinstance(refusal, ServiceRefused)
    assert "no queue is bound to exchange 'e' for topic 'subtitle.ready'" in str(refusal)
    assert "optional=" in str(refusal)
    assert caplog.text.count("bridge.unroutable") == 1  # once for each topic, or the log is full of it
    assert (relay.confirmed, relay.unroutable) == (0, 0)


async def test_nobody_has_to_hear_an_optional_topic() -> None:
    """And yet it can be seen that nobody did."""
    relay, exchange = relay_of(optional="subtitle.#"), FewLines(_returned)
    exchange.answers.set()
    told = Told(relay)
    connect(relay, exchange)
    told.send(*numbered(2))
    await told.until(2)

    assert set(told.of.values()) == {None}
    assert relay.unroutable == 2


async def test_an_event_that_the_broker_does_not_keep_is_tried_again() -> None:
    """A queue that is full for a moment."""

    def nacked(_: Any) -> None:
        raise DeliveryError(None, Basic.Nack(delivery_tag=1))

    relay, exchange = relay_of(), FewLines(nacked)
    exchange.answers.set()
    told = Told(relay)
    connect(relay, exchange)
    told.send(*numbered(1))
    await told.until(1)

    assert isinstance(told.of["e-1"], ServiceUnavailable)


async def test_the_one_message_that_closes_the_channel_is_found() -> None:
    """It would otherwise take all others down again and again."""
    relay, told = relay_of(), None
    told = Told(relay)
    told.send(*numbered(5))
    closed = ChannelPreconditionFailed(406, "message size 999 is larger than configured max size 500")

    def too_large(message: Any) -> None:
        if message.message_id == "e-3":
            raise closed

    sessions = 0
    while len(told.of) < 5:
        exchange = FewLines(too_large)
        broken = connect(relay, exchange)
        if not sessions:
            await a_turn()
            broken.cancel()
            relay.disconnected(closed)  # all five were under way, so nobody knows which
        else:
            exchange.answers.set()
            everything = asyncio.ensure_future(told.until(5))
            await asyncio.wait((broken, everything), return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                relay.disconnected(broken.result())
            everything.cancel()
        sessions += 1

    assert isinstance(told.of.pop("e-3"), ValueRefused)  # which nobody tries again
    assert set(told.of.values()) == {None}
    assert sessions == 3


async def test_what_an_exchange_has_brought_does_not_go_back_there() -> None:
    """Its readers have had it already."""
    relay, exchange = relay_of(), FewLines()
    exchange.answers.set()
    told = Told(relay)
    connect(relay, exchange)
    mine, other = (replace(EVENT, position=n, id=f"e-{n}", cause=came_from(e)) for n, e in ((1, "e"), (2, "another")))
    told.send(mine, other)
    await told.until(2)

    assert exchange.asked == ["e-2"]


async def test_ids_that_are_too_long_for_a_message_stand_in_its_body() -> None:
    """AMQP has room for 255 octets, and an event's id may have 500 characters."""
    relay, exchange = relay_of(), FewLines()
    exchange.answers.set()
    told = Told(relay)
    connect(relay, exchange)
    told.send(replace(EVENT, id="ö" * 200))
    await told.until(1)

    (message,) = exchange.messages
    assert message.message_id.startswith("sha256:")
    assert ("ö" * 200).encode() in message.body


async def test_settling_waits_for_what_is_under_way_and_fills_the_holes_before_it() -> None:
    """So that a stop in order leaves nothing to be sent twice: a position has no holes."""
    relay, exchange = relay_of(window=2), FewLines()
    told = Told(relay)
    first, second, third, fourth = numbered(4)
    told.send(first, third)
    connect(relay, exchange)
    await a_turn()
    settling = asyncio.ensure_future(relay.settle())
    told.send(fourth, second)
    await a_turn()
    exchange.answers.set()
    await settling

    assert sorted(told.of) == ["e-1", "e-2", "e-3"]


async def test_an_event_that_is_sent_twice_at_once_is_answered_twice() -> None:
    """A replay gives it once more while the first is under way; both parts of the log wait for their answer."""
    relay, exchange = relay_of(), FewLines()
    answers: list[str] = []
    (event,) = numbered(1)
    relay.send(event, lambda _: answers.append("work"))
    connect(relay, exchange)
    await a_turn()
    relay.send(event, lambda _: answers.append("replay"))
    relay.disconnected()
    exchange.answers.set()
    connect(relay, exchange)
    while len(answers) < 2:
        await a_turn()

    assert answers == ["work", "replay"]


async def test_what_cannot_be_written_as_a_message_is_refused_for_good() -> None:
    """It would be sent for ever, and take the connection for broken each time."""

    def unwritable(_: Any) -> None:
        raise ValueError("surrogates not allowed")

    relay, exchange = relay_of(), FewLines(unwritable)
    exchange.answers.set()
    told = Told(relay)
    connect(relay, exchange)
    told.send(*numbered(1))
    await told.until(1)

    assert isinstance(told.of["e-1"], ValueRefused)
