"""Events through RabbitMQ, states and histories in Redis: this process publishes, another one consumes and writes.

With ``synced`` Redis syncs every write before it answers, and state and history are written together, so that nothing which was
acknowledged is lost or half there. Otherwise Redis has its default settings, and the two are written one after the other.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aio_pika
from redis.asyncio import Redis

from bench import servers
from bench.child import Child, serve
from bench.event_workload import EventSystem, Said

EXCHANGE, QUEUE = "subtitle.events", "subtitle.events.consumer"
_SYNCED = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")


class RabbitRedis(EventSystem):
    def __init__(self, folder: Path, stack: ExitStack, *, synced: bool) -> None:
        self._folder = folder
        self._stack = stack
        self._synced = synced
        self._exchange: aio_pika.abc.AbstractExchange
        self._redis: Redis
        self._consumer: Child

    async def open(self) -> str:
        """Start the servers and the consumer; their versions."""
        broker = self._stack.enter_context(servers.rabbitmq(self._folder))
        store = self._stack.enter_context(servers.redis(self._folder, _SYNCED if self._synced else ()))
        self._redis = Redis(host="127.0.0.1", port=store, decode_responses=True)
        connection = await aio_pika.connect(host="127.0.0.1", port=broker)
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        self._exchange = await channel.declare_exchange(EXCHANGE, aio_pika.ExchangeType.TOPIC, durable=True)
        queue = await channel.declare_queue(QUEUE, durable=True)
        await queue.bind(self._exchange, "subtitle.#")
        way = "together" if self._synced else "apart"
        module = "bench.peers.rabbit_redis_consumer"
        self._consumer = self._stack.enter_context(Child(module, str(broker), str(store), way))
        return await self._versions(connection)

    async def _versions(self, connection: aio_pika.abc.AbstractConnection) -> str:
        assert connection.transport is not None
        broker: Any = connection.transport.connection
        redis = await self._redis.info("server")
        return f"RabbitMQ {broker.server_properties['version']}, Redis {redis['redis_version']}"

    async def publish(self, said: Said) -> None:
        body = {
            "event_type": said.topic, "job_id": said.job, "timestamp": datetime.now(UTC).isoformat(), "source": "bench", "payload": said.data,
        }  # fmt: skip
        message = aio_pika.Message(
            json.dumps(body).encode(),
            content_type="application/json",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        )
        await self._exchange.publish(message, routing_key=said.topic)

    async def done(self, events: Sequence[Said]) -> list[float]:
        # One queue, one consumer, one message at a time: they are done in the order in which they were published.
        found: list[float] = await asyncio.to_thread(self._consumer.ask, "done", count=len(events))
        return found

    async def read(self, job: str) -> tuple[str, list[str]]:
        state = await self._redis.hget(f"job:{job}", "status")
        history = await self._redis.lrange(f"job:events:{job}", 0, -1)
        return str(state), [json.loads(event)["event_type"] for event in reversed(history)]


async def main(folder: str, *more: str) -> None:
    with ExitStack() as stack:
        measured = RabbitRedis(Path(folder), stack, synced="synced" in more)
        await serve({"open": measured.open, "throughput": measured.throughput, "latency": measured.latency})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
