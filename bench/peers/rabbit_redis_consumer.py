"""Takes events from RabbitMQ one at a time and writes states and histories to Redis: the other process of ``rabbit_redis``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import traceback

import aio_pika
from redis.asyncio import Redis

from bench.child import serve
from bench.event_workload import STATES
from bench.peers.rabbit_redis import QUEUE


class Consumer:
    def __init__(self, redis: Redis, *, together: bool) -> None:
        self._redis = redis
        self._together = together
        self._moments: asyncio.Queue[float] = asyncio.Queue()

    async def consume(self, queue: aio_pika.abc.AbstractQueue) -> None:
        async with queue.iterator() as messages:
            async for message in messages:
                await self._write(message.body)
                self._moments.put_nowait(time.monotonic())
                await message.ack()

    async def _write(self, body: bytes) -> None:
        event = json.loads(body)
        job, history = f"job:{event['job_id']}", f"job:events:{event['job_id']}"
        state = {"status": STATES[event["event_type"]], "updated_at": event["timestamp"]}
        if self._together:
            async with self._redis.pipeline(transaction=True) as transaction:
                await transaction.hset(job, mapping=state).lpush(history, body).execute()
        else:
            await self._redis.hset(job, mapping=state)
            await self._redis.lpush(history, body)

    async def done(self, count: int) -> list[float]:
        """When so many more events were written."""
        return [await self._moments.get() for _ in range(count)]


async def main(broker: str, store: str, way: str) -> None:
    redis = Redis(host="127.0.0.1", port=int(store))
    async with await aio_pika.connect(host="127.0.0.1", port=int(broker)) as connection:
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=1)
        consumer = Consumer(redis, together=way == "together")
        consuming = asyncio.create_task(consumer.consume(await channel.get_queue(QUEUE)))
        consuming.add_done_callback(_end_if_it_failed)
        try:
            await serve({"done": consumer.done})
        finally:
            consuming.cancel()


def _end_if_it_failed(consuming: asyncio.Task[None]) -> None:
    if not consuming.cancelled():
        # Whoever waits for events that nobody consumes would wait for ever.
        traceback.print_exception(consuming.exception())
        os._exit(1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
