"""The honest upper bound: the same rows through a group commit, with nothing that makes a runtime of it.

A thread commits whatever has gathered in one transaction; callers are tasks that wait for the answer. No flow, no codec, no retry, no recovery.
"""

from __future__ import annotations

import asyncio
import itertools
import queue
import sys
import threading
import time
from importlib import resources
from pathlib import Path
from typing import Any

import apsw

from bench.child import serve
from headrace._runs.store import SQL

_INSERT, _APPEND, _END = SQL.insert_run.sql, SQL.append_journal.sql, SQL.end_run.sql
_numbers = itertools.count(1)

_Work = tuple[str, dict[str, Any], asyncio.Future[None]]


def open_store(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 2000", "cache_size = -32000"):
        connection.execute(f"PRAGMA {pragma}")
    migrations = resources.files("headrace._store").joinpath("migrations").iterdir()
    for migration in sorted(migrations, key=lambda entry: entry.name):
        if migration.name.endswith(".sql"):
            connection.execute(migration.read_text(encoding="utf-8"))
    return connection


class BareLoop:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        cursor = self._connection.cursor()
        while True:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get_nowait())
            error: Exception | None = None
            try:
                cursor.execute("BEGIN IMMEDIATE")
                for sql, values, _ in batch:
                    cursor.execute(sql, values)
                cursor.execute("COMMIT")
            except Exception as wrong:  # noqa: BLE001 - whoever waits is told, or the measurement would wait for ever
                error = wrong
            self._loop.call_soon_threadsafe(_settle, batch, error)

    async def write(self, sql: str, values: dict[str, Any]) -> None:
        done = self._loop.create_future()
        self._queue.put((sql, values, done))
        await done

    async def run(self) -> None:
        """The rows of one run of ten steps."""
        number = next(_numbers)
        await self.write(_INSERT, run_row(number))
        for step in range(10):
            await self.write(_APPEND, step_row(number, step))
        await self.write(_END, end_row(number))

    async def throughput(self, concurrency: int, runs: int) -> float:
        slots = asyncio.Semaphore(concurrency)

        async def one() -> None:
            async with slots:
                await self.run()

        begun = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(runs)))
        return runs * 10 / (time.perf_counter() - begun)


def _settle(batch: list[_Work], error: Exception | None) -> None:
    for _, _, done in batch:
        if error is None:
            done.set_result(None)
        elif not done.done():
            done.set_exception(error)


def run_row(number: int) -> dict[str, Any]:
    return {
        "id": f"ten-{number}", "number": 1, "flow": "bench.ten", "state": "running", "at": time.time_ns() // 1000, "next_at": None,
        "input": b'{"number":%d}' % number, "seed": 2**60 + number, "parent": None, "deadline_at": None, "started_at": time.time_ns() // 1000,
        "begun_at_pos": 0, "job_kind": None, "job_id": None, "job_generation": None, "job_owner": 0,
    }  # fmt: skip


def step_row(number: int, step: int) -> dict[str, Any]:
    now = time.time_ns() // 1000
    return {
        "run": number, "seq": step + 1, "command": step, "kind": "step", "name": "add", "arguments": b'{"left":%d,"right":%d}' % (number, step),
        "outcome": "ok", "value": b"%d" % number, "attempt": 1, "started_at": now, "at": now,
    }  # fmt: skip


def end_row(number: int) -> dict[str, Any]:
    return {
        "pk": number, "state": "completed", "reason": "", "at": time.time_ns() // 1000, "result": b"%d" % number, "error": None, "continued_as": None,
    }  # fmt: skip


class BareCommits:
    """Ten commits in a row by the thread that wants them: what a run of ten steps cannot beat."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._cursor = connection.cursor()
        self._number = 0

    def sequence(self, runs: int) -> list[float]:
        taken = []
        for _ in range(runs):
            self._number += 1
            begun = time.perf_counter()
            for step in range(10):
                self._cursor.execute("BEGIN IMMEDIATE")
                self._cursor.execute(_APPEND, step_row(self._number, step))
                self._cursor.execute("COMMIT")
            taken.append((time.perf_counter() - begun) * 1000)
        return taken


async def main(folder: str) -> None:
    loop = BareLoop(open_store(Path(folder) / "bare_loop.db"))
    commits = BareCommits(open_store(Path(folder) / "bare_commits.db"))
    await serve({"throughput": loop.throughput, "sequence": commits.sequence})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
