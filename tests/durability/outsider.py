"""A program on the other side of the broker, which knows nothing of Headrace: plain aio-pika."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from headrace import Headrace
from headrace._bridge.model import BridgeView


def new_name() -> str:
    """Tests share a broker, so each has names of its own."""
    return f"t{uuid.uuid4().hex[:10]}"


class Outsider:
    def __init__(self, channel: AbstractChannel) -> None:
        self.channel = channel

    async def collect(self, queue: str, count: int, *, distinct: bool = True) -> list[dict[str, Any]]:
        """Read so many messages of a queue, counted by their ids, as JSON; duplicates are in the list too."""
        found: list[dict[str, Any]] = []
        ids: set[str] = set()
        done = asyncio.Event()

        async def hear(message: AbstractIncomingMessage) -> None:
            body = json.loads(message.body)
            found.append(body | {"routing_key": message.routing_key})
            ids.add(str(message.message_id))
            await message.ack()
            if (len(ids) if distinct else len(found)) >= count:
                done.set()

        reading = await self.channel.get_queue(queue, ensure=False)
        await self.channel.set_qos(prefetch_count=500)
        tag = await reading.consume(hear)
        async with asyncio.timeout(150):
            await done.wait()
        await reading.cancel(tag)
        return found

    async def take(self, queue: str) -> AbstractIncomingMessage:
        """The next message of a queue, once there is one."""
        reading = await self.channel.get_queue(queue, ensure=False)
        async with asyncio.timeout(60):
            while (message := await reading.get(fail=False)) is None:  # noqa: ASYNC110 - a broker tells nobody here
                await asyncio.sleep(0.02)
        await message.ack()
        return message

    async def say(self, exchange: str, body: object, *, key: str = "", message_id: str | None = None) -> None:
        """Publish to an exchange, or with an empty one to the queue that the key names."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        message = aio_pika.Message(raw, delivery_mode=2, message_id=message_id)
        road = await self.channel.get_exchange(exchange, ensure=False) if exchange else self.channel.default_exchange
        await road.publish(message, key or (body["type"] if isinstance(body, dict) else ""))


@asynccontextmanager
async def outsider(url: str) -> AsyncIterator[Outsider]:
    connection = await aio_pika.connect(url)
    try:
        yield Outsider(await connection.channel(on_return_raises=True))
    finally:
        await connection.close()


def said(event_id: str, topic: str, subject: str, data: object = None, *, source: str = "outside") -> dict[str, object]:
    """A CloudEvent."""
    return {"specversion": "1.0", "id": event_id, "type": topic, "source": source, "subject": subject, "data": data}


async def until(app: Headrace, is_so: Callable[[BridgeView], bool], *, seconds: float = 120) -> BridgeView:
    """Wait for a state of the first bridge, which no event announces."""
    async with asyncio.timeout(seconds):
        while not is_so(view := app.bridges[0]):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.02)
    return view


def is_connected(view: BridgeView) -> bool:
    return view.state == "connected"


def first_of_each(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a reader keeps who looks at ids."""
    return list({message["id"]: message for message in reversed(messages)}.values())[::-1]


def check_order(messages: Sequence[dict[str, Any]]) -> None:
    """The events of each subject came in the order of the log."""
    reached: dict[str, int] = {}
    for message in first_of_each(messages):
        sequence = int(message["sequence"])
        before = reached.get(message["subject"], 0)
        assert sequence == before + 1, f"{message['subject']}: {sequence} came behind {before}"
        reached[message["subject"]] = sequence
