"""Headrace with a bridge, and aio-pika without anything: the same messages to the same quorum queue, so many under way at a time."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import aio_pika

from bench import servers
from bench.child import serve
from headrace import Feed, Headrace, Pipeline, RabbitMQ
from headrace._bridge.relay import WINDOW

_LOOK_EVERY = 0.005
_SUBJECTS = 1_000
_DATA = {"video_title": "Some Show - S01E02 - The One That Was Translated", "language": "he", "season": 1, "episode": 2}


class Bridged:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._stores = 0

    async def open(self) -> str:
        port = self._stack.enter_context(servers.rabbitmq(self._folder))
        self._url = f"amqp://127.0.0.1:{port}/"
        self._connection = await aio_pika.connect(self._url)
        self._channel = await self._connection.channel(on_return_raises=True)
        return "RabbitMQ, one quorum queue"

    def _pipeline(self) -> Pipeline:
        bridge = RabbitMQ("bench", topics="#", queues={"sent": ["#"]}, feeds=[Feed("came")], since="beginning")
        return Pipeline("bench", bridges=[bridge])

    def _new_store(self) -> Path:
        self._stores += 1
        return self._folder / f"bridged{self._stores}.db"

    async def relay(self, events: int) -> float:
        """Events per second of a backlog, until the broker has confirmed the last one."""
        store = self._new_store()
        async with Headrace([self._pipeline()], store=store) as app:
            for begin in range(0, events, 500):
                numbers = range(begin, min(events, begin + 500))
                await asyncio.gather(*(app.publish("a.b", _DATA, subject=f"s{n % _SUBJECTS}") for n in numbers))
        async with Headrace([self._pipeline()], store=store, rabbitmq=self._url) as app:
            while app.bridges[0].state != "connected":  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(_LOOK_EVERY)
            begun, first = time.monotonic(), app.bridges[0].confirmed
            while app.bridges[0].confirmed < events:  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_EVERY)
            taken = time.monotonic() - begun
        await self._empty("sent")
        return (events - first) / taken

    async def feed(self, events: int) -> float:
        """Messages per second of a backlog, until the last one is in the log."""
        await self._send("came", events)
        async with Headrace([self._pipeline()], store=self._new_store(), rabbitmq=self._url) as app:
            begun = time.monotonic()
            while app.bridges[0].feeds[0].taken < events:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(_LOOK_EVERY)
            return events / (time.monotonic() - begun)

    async def bare(self, events: int) -> float:
        """Messages per second that aio-pika alone gets confirmed."""
        begun = time.monotonic()
        await self._send("sent", events)
        taken = time.monotonic() - begun
        await self._empty("sent")
        return events / taken

    async def _send(self, queue: str, events: int) -> None:
        left = iter(range(events))

        async def sender() -> None:
            for n in left:
                event = {"specversion": "1.0", "id": f"x{n}", "source": "bench", "type": "c.d", "subject": f"s{n % _SUBJECTS}", "data": _DATA}  # fmt: skip
                body = json.dumps(event).encode()
                message = aio_pika.Message(body, delivery_mode=2, message_id=f"x{n}")
                await self._channel.default_exchange.publish(message, queue)

        await asyncio.gather(*(sender() for _ in range(WINDOW)))

    async def _empty(self, queue: str) -> None:
        await (await self._channel.get_queue(queue, ensure=False)).purge()


async def main(folder: str) -> None:
    with ExitStack() as stack:
        bridged = Bridged(Path(folder), stack)
        handlers = {"open": bridged.open, "relay": bridged.relay, "feed": bridged.feed, "bare": bridged.bare}
        await serve(handlers)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
