"""DBOS with its system database on SQLite, as it sets itself up."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
import uuid
from pathlib import Path

from dbos import DBOS, SetWorkflowID

from bench.child import serve

_session = uuid.uuid4().hex[:8]
_numbers = itertools.count(1)


@DBOS.step()
async def add(left: int, right: int) -> int:
    return left + right


@DBOS.workflow()
async def ten(number: int) -> int:
    total = number
    for summand in range(10):
        total = await add(total, summand)
    return total


async def _run() -> None:
    number = next(_numbers)
    with SetWorkflowID(f"ten-{_session}-{number}"):
        handle = await DBOS.start_workflow_async(ten, number)
    await handle.get_result()


async def throughput(concurrency: int, runs: int) -> float:
    slots = asyncio.Semaphore(concurrency)

    async def one() -> None:
        async with slots:
            await _run()

    begun = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(runs)))
    return runs * 10 / (time.perf_counter() - begun)


async def sequence(runs: int) -> list[float]:
    taken = []
    for _ in range(runs):
        number = next(_numbers)
        begun = time.perf_counter()
        with SetWorkflowID(f"ten-{_session}-{number}"):
            await ten(number)
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


async def main(folder: str) -> None:
    url = f"sqlite:///{Path(folder) / 'dbos.sqlite'}"
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
    DBOS.launch()
    try:
        await serve({"throughput": throughput, "sequence": sequence})
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
