"""Headrace on a store that is opened, left and opened again: what sleeps, what is replayed, what a restart takes up."""

from __future__ import annotations

import asyncio
import gc
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from bench import workload
from bench.child import serve
from bench.figures import percentile
from bench.machine import resident_bytes
from headrace import Headrace
from headrace._authoring.flow import Flow
from headrace._engine.preflight import check_run, preflight
from headrace._runs.store import journal_of, list_runs, run_by_id

_AT_ONCE = 1_000
_LOOK_EVERY = 0.02
_numbers = itertools.count(time.time_ns() // 1000)


class Stored:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._app: Headrace | None = None

    @property
    def app(self) -> Headrace:
        assert self._app is not None
        return self._app

    def memory(self) -> int:
        gc.collect()
        return resident_bytes()

    async def open(self, durability: Literal["safe", "fast"] = "safe") -> float:
        """Seconds until the store is open; its runs are taken up after that."""
        begun = time.perf_counter()
        self._app = await Headrace([workload.pipeline], store=self._path, durability=durability).__aenter__()
        return time.perf_counter() - begun

    async def close(self) -> None:
        await self.app.__aexit__(None, None, None)

    def waiting(self) -> int:
        return self.app.counts(only_open=True).get("waiting", 0)

    # Making runs

    async def _start(self, flow: Flow[Any, Any], arguments: Sequence[tuple[Any, ...]]) -> float:
        """Start these runs and wait until all that are open are parked; seconds."""
        begun = time.perf_counter()
        left = iter(arguments)

        async def starter() -> None:
            for each in left:
                await self.app.start(flow, *each)

        await asyncio.gather(*(starter() for _ in range(min(_AT_ONCE, len(arguments)))))
        await _until(lambda: not set(self.app.counts(only_open=True)) - {"waiting"})
        return time.perf_counter() - begun

    async def sleepers(self, count: int, due: int) -> float:
        return await self._start(workload.sleeper, [(next(_numbers), due) for _ in range(count)])

    async def long(self, count: int, steps: int) -> float:
        return await self._start(workload.long, [(next(_numbers), steps) for _ in range(count)])

    async def half_done(self) -> None:
        """One run that is held at its sixth step."""
        workload.held.append(True)
        run = await self.app.start(workload.half_done, next(_numbers))
        record = self.app.database.read(lambda reader: run_by_id(reader, run.id))
        assert record is not None
        await _until(lambda: len(self.app.database.read(lambda reader: journal_of(reader, record.pk))) == 5)

    # What happens to them

    async def first_wake(self) -> float:
        await _until(lambda: bool(workload.woken_at))
        return workload.woken_at[0]

    async def resumed(self) -> dict[str, float]:
        """When the first run went on, and when all had ended."""
        await _until(lambda: bool(workload.resumed_at))
        await _until(lambda: not self.app.counts(only_open=True))
        return {"first": min(workload.resumed_at), "last": time.time(), "runs": len(workload.resumed_at)}

    async def wakes(self, count: int, per_second: int) -> dict[str, float]:
        """Let runs wake at an even pace, beginning in a while; how late they are in milliseconds, and how many a second."""
        begin = time.time_ns() // 1000 + 3_000_000 + count * 400
        pause = 1_000_000 // per_second
        before = len(workload.lateness)
        await self._start(workload.sleeper, [(next(_numbers), begin + pause * number) for number in range(count)])
        spare = begin / 1_000_000 - time.time()
        await _until(lambda: len(workload.lateness) - before >= count)
        late = [seconds * 1000 for seconds in workload.lateness[before:]]
        woken = workload.woken_at[before:]
        return {
            "p50": percentile(late, 0.5),
            "p99": percentile(late, 0.99),
            "most": max(late),
            "rate": (count - 1) / (max(woken) - min(woken)),
            "spare_seconds": spare,
        }

    async def replay_one(self) -> list[float]:
        """Journal rows and seconds of the newest run."""
        pk = self.app.database.read(lambda reader: list_runs(reader, count=1))[0].pk
        begun = time.perf_counter()
        rows, problem = self.app.database.read(lambda reader: check_run(reader, self.app.registry, pk))
        taken = time.perf_counter() - begun
        assert problem is None, problem
        return [rows, taken]

    async def replay_all(self) -> list[float]:
        """Journal rows and seconds of the pre-flight of all open runs."""
        begun = time.perf_counter()
        found = self.app.database.read(lambda reader: preflight(reader, self.app.registry))
        taken = time.perf_counter() - begun
        assert not found.problems, found.problems
        return [found.rows, taken]


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - nobody tells the outside that all runs are parked
        await asyncio.sleep(_LOOK_EVERY)


async def main(path: str) -> None:
    stored = Stored(Path(path))
    names = "memory waiting open close sleepers long half_done first_wake resumed wakes replay_one replay_all"
    await serve({name: getattr(stored, name) for name in names.split()})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
