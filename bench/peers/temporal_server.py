"""Temporal's development server with a file for its database, and one worker of the Python SDK beside it."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from bench.child import serve
from bench.servers import temporal

_QUEUE = "bench"
_SECONDS_TO_START = 60.0
_numbers = itertools.count(1)


@activity.defn
async def add(left: int, right: int) -> int:
    return left + right


@workflow.defn
class Ten:
    @workflow.run
    async def run(self, number: int) -> int:
        total = number
        for summand in range(10):
            total = await workflow.execute_activity(
                add, args=[total, summand], start_to_close_timeout=timedelta(seconds=60)
            )
        return total


class TemporalServer:
    def __init__(self, client: Client) -> None:
        self._client = client

    async def _run(self) -> None:
        number = next(_numbers)
        await self._client.execute_workflow(Ten.run, number, id=f"ten-{number}", task_queue=_QUEUE)

    async def throughput(self, concurrency: int, runs: int) -> float:
        slots = asyncio.Semaphore(concurrency)

        async def one() -> None:
            async with slots:
                await self._run()

        begun = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(runs)))
        return runs * 10 / (time.perf_counter() - begun)

    async def sequence(self, runs: int) -> list[float]:
        taken = []
        for _ in range(runs):
            begun = time.perf_counter()
            await self._run()
            taken.append((time.perf_counter() - begun) * 1000)
        return taken


async def _connect(port: int) -> Client:
    until = time.monotonic() + _SECONDS_TO_START
    while True:
        try:
            return await Client.connect(f"127.0.0.1:{port}")
        except RuntimeError:  # it does not listen yet
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.2)


async def main(folder: str) -> None:
    with temporal(Path(folder)) as port:
        client = await _connect(port)
        async with Worker(
            client,
            task_queue=_QUEUE,
            workflows=[Ten],
            activities=[add],
            workflow_runner=UnsandboxedWorkflowRunner(),
        ):
            measured = TemporalServer(client)
            await serve({"throughput": measured.throughput, "sequence": measured.sequence})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
