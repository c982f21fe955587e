"""A foreign worker: takes jobs from a queue that it shares with others of its kind, and says what happened in an order that is none."""

from __future__ import annotations

import asyncio
import json
import random
import sys

import aio_pika
from aio_pika.abc import AbstractIncomingMessage


async def main(url: str, queue: str, exchange: str, prefetch: str, seed: str) -> None:
    chance = random.Random(seed)
    connection = await aio_pika.connect(url)
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=int(prefetch))
    road = await channel.get_exchange(exchange, ensure=False)
    reading = await channel.get_queue(queue, ensure=False)

    async def say(kind: str, job: str) -> None:
        event = {"specversion": "1.0", "id": f"{job}/{kind}", "source": "worker", "subject": job, "type": f"subtitle.{kind}", "data": {}}  # fmt: skip
        await asyncio.sleep(chance.random() * 0.01)
        await road.publish(aio_pika.Message(json.dumps(event).encode(), delivery_mode=2), f"subtitle.{kind}")

    async def work(message: AbstractIncomingMessage) -> None:
        job = json.loads(message.body)["subject"]
        kinds = ["started", "ready", *chance.choices(["started", "ready"], k=chance.randrange(2))]
        chance.shuffle(kinds)
        await asyncio.gather(*(say(kind, job) for kind in kinds))
        await message.ack()

    await reading.consume(work)
    print("reads", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
