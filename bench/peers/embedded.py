"""Headrace, embedded."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from pathlib import Path

from bench import workload
from bench.child import serve
from bench.figures import percentile
from headrace import Headrace

_BEAT = 0.005
_numbers = itertools.count(1)


class Embedded:
    def __init__(self, app: Headrace) -> None:
        self.app = app

    async def throughput(self, concurrency: int, runs: int) -> float:
        """Durable steps per second."""
        slots = asyncio.Semaphore(concurrency)

        async def one() -> None:
            async with slots:
                await self.app.run(workload.ten, next(_numbers))

        begun = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(runs)))
        return runs * 10 / (time.perf_counter() - begun)

    async def sequence(self, runs: int) -> list[float]:
        """Milliseconds of each run, one after the other."""
        taken = []
        for _ in range(runs):
            begun = time.perf_counter()
            await self.app.run(workload.ten, next(_numbers))
            taken.append((time.perf_counter() - begun) * 1000)
        return taken

    async def first_step(self, runs: int) -> list[float]:
        """Milliseconds from the call of ``start`` to the first line of the step."""
        taken = []
        for _ in range(runs):
            workload.first_steps.clear()
            begun = time.perf_counter()
            run = await self.app.start(workload.one, next(_numbers))
            await run.result()
            taken.append((workload.first_steps[0] - begun) * 1000)
        return taken

    async def heartbeat(self, concurrency: int, runs: int) -> list[float]:
        """By how many milliseconds a timer of the same event loop is late while it works at full load."""
        late: list[float] = []

        async def beat() -> None:
            while True:
                due = time.perf_counter() + _BEAT
                await asyncio.sleep(_BEAT)
                late.append((time.perf_counter() - due) * 1000)

        beating = asyncio.create_task(beat())
        await self.throughput(concurrency, runs)
        beating.cancel()
        return [percentile(late, share) for share in (0.5, 0.99, 1.0)] + [len(late)]


async def main(folder: str) -> None:
    async with Headrace([workload.pipeline], store=Path(folder) / "embedded.db") as app:
        measured = Embedded(app)
        await serve(
            {
                "throughput": measured.throughput,
                "sequence": measured.sequence,
                "first_step": measured.first_step,
                "heartbeat": measured.heartbeat,
            }
        )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
