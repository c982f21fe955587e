"""A program with a bridge, to be killed: it publishes numbered events, and takes what others say, until both are complete."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from headrace import Feed, Headrace, Pipeline, RabbitMQ
from headrace.testing.faults import arm_from_environment

SUBJECTS = 20


def pipeline(name: str) -> Pipeline:
    bridge = RabbitMQ(
        f"{name}.events", topics=["thing.#"], queues={f"{name}.all": ["thing.#"]}, feeds=[Feed(f"{name}.in")]
    )
    return Pipeline("lab", bridges=[bridge])


async def main(folder: str, url: str, name: str, count: str, others: str) -> None:
    async with Headrace([pipeline(name)], store=Path(folder) / "store.db", rabbitmq=url) as app:
        while app.bridges[0].state != "connected":  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.01)
        print("begun", flush=True)
        with arm_from_environment():
            numbers = range(int(count))
            for begin in range(0, len(numbers), SUBJECTS):
                await asyncio.gather(
                    *(
                        app.publish("thing.moved", n, subject=f"s{n % SUBJECTS}", id=f"e{n}")
                        for n in numbers[begin : begin + SUBJECTS]
                    )
                )
            while app.bridges[0].behind or len(await app.events("other.#", count=10_000)) < int(others):  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.01)
    print("all done")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
