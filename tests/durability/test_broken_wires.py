"""An engine whose database comes and goes: every run ends as it would have, and nothing is done twice."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import TypeVar

import pytest

from headrace import Event, Headrace, Pipeline, Statement, Transaction, flow, on, receive, sleep, step, use, wait_event
from headrace._app.worker import Worker
from headrace._engine.engine import Limits
from headrace._store.location import PostgresUrl
from headrace._store.opening import OwnedDatabase
from headrace._store.postgres import open_postgres
from headrace._store.postgres_text import definitions_rewritten
from headrace.errors import StoreBusy
from headrace.testing.invariants import check_invariants
from tests.servers import PostgresServer
from tests.wire import Wire

T = TypeVar("T")
COMMIT = b"COMMIT\x00"


class Counts:
    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()


@step
async def effect(run: int, number: int) -> int:
    use(Counts).effects[f"{run}/{number}"] += 1
    return number


@flow(id="half-{run}-{half}")
async def part(run: int, half: int) -> int:
    return await effect(run, 10 + half)


@flow(id="story-{run}")
async def story(run: int) -> int:
    total = sum(await asyncio.gather(*(effect(run, number) for number in range(3))))
    await sleep(timedelta(milliseconds=20))
    total += await part(run, 0) + await part(run, 1)
    return total + await receive("last", int)


class OnWire(Headrace):
    """With a database whose patience is short, so that being refused is part of the story."""

    async def _open_store(self) -> OwnedDatabase:
        assert isinstance(self._location, PostgresUrl)
        return await open_postgres(self._location, patience=0.05)


@pytest.fixture
def wire(postgres_server: PostgresServer) -> Iterator[Wire]:
    with Wire(postgres_server.port) as wire:
        yield wire


def troubles(wire: Wire) -> list[Callable[[], None]]:
    return [
        wire.cut,
        wire.cut_unnoticed,
        lambda: wire.lose(COMMIT, "answer"),
        lambda: wire.lose(COMMIT, "request"),
        lambda: wire.lose(b"INSERT", "request"),
        wire.go_down,
    ]


async def break_it(wire: Wire, chance: random.Random) -> None:
    """One trouble after the other, with little time between them."""
    while True:
        chance.choice(troubles(wire))()
        await asyncio.to_thread(time.sleep, chance.uniform(0.005, 0.1))
        wire.come_up()
        await asyncio.to_thread(time.sleep, chance.uniform(0.01, 0.2))


async def insist(call: Callable[[], Awaitable[T]]) -> T:
    """What a caller does who is told that the store is busy."""
    while True:
        try:
            return await call()
        except StoreBusy:
            await asyncio.to_thread(time.sleep, 0.01)


async def tell(app: Headrace, number: int) -> int:
    run = await insist(lambda: app.start(story, number))
    await insist(lambda: run.send("last", number))
    return await insist(run.result)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_runs_end_as_if_nothing_had_happened(
    seed: int, wire: Wire, postgres: PostgresUrl, postgres_server: PostgresServer
) -> None:
    """As long as the process lives, a broken connection is nobody's business but the store's."""
    place = PostgresUrl(postgres_server.url_at(wire.port), postgres.schema)
    counts = Counts()
    pipeline = Pipeline("stories", flows=[story, part], wire=lambda: counts)
    numbers = range(30)

    # Few may stay in memory, so that runs are read back while the database is away.
    async with OnWire([pipeline], store=place, limits=Limits(idle_runs=3)) as app:
        breaking = asyncio.create_task(break_it(wire, random.Random(seed)))
        totals = await asyncio.gather(*(tell(app, number) for number in numbers))
        breaking.cancel()
        wire.come_up()
        problems = await asyncio.to_thread(check_invariants, postgres)

    assert totals == [3 + 10 + 11 + number for number in numbers]
    assert set(counts.effects.values()) == {1}
    assert problems == []


TABLE = "CREATE TABLE IF NOT EXISTS written (pk INTEGER PRIMARY KEY, subject TEXT NOT NULL, number INTEGER NOT NULL)"
MAKE = Statement("make", TABLE, definitions_rewritten(TABLE))
WRITE = Statement("write", "INSERT INTO written (subject, number) VALUES (:subject, :number)")
WRITTEN = Statement("written", "SELECT subject, number FROM written ORDER BY pk")
SUBJECTS, NUMBERS = 6, 8


@step(transactional=True)
def write(tx: Transaction, event: Event[int]) -> None:
    tx.run(WRITE, {"subject": event.subject, "number": event.data})


async def look(event: Event[int]) -> None:
    use(Counts).effects[f"{event.subject}/{event.data}"] += 1


@flow(id="listener-{subject}")
async def listener(subject: str) -> list[int]:
    return [(await wait_event("said", subject=subject)).data for _ in range(NUMBERS)]


def listening(counts: Counts) -> Pipeline:
    triggers = [on("said", look, parts=3), on("said", write, parts=3)]
    return Pipeline("ears", flows=[listener], triggers=triggers, wire=lambda: counts)


async def speak(app: Headrace, subject: str) -> None:
    for number in range(NUMBERS):
        await insist(lambda: app.publish("said", number, subject=subject, id=f"{subject}/{number}"))  # noqa: B023


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_events_reach_handlers_and_runs_as_if_nothing_had_happened(
    seed: int, wire: Wire, postgres: PostgresUrl, postgres_server: PostgresServer
) -> None:
    """An owner and a worker, whose connections break one by one and together: no event is skipped, and none counts twice."""
    place = PostgresUrl(postgres_server.url_at(wire.port), postgres.schema)
    counts = Counts()
    limits = Limits(idle_runs=2, lease_seconds=1)
    subjects = [f"s{number}" for number in range(SUBJECTS)]
    said = sorted((subject, number) for subject in subjects for number in range(NUMBERS))

    async with (
        OnWire([listening(counts)], store=place, limits=limits) as app,
        Worker([listening(counts)], store=place, limits=limits),
    ):
        await app.database.write(lambda tx: tx.run(MAKE))
        runs = [await app.start(listener, subject) for subject in subjects]
        breaking = asyncio.create_task(break_it(wire, random.Random(seed)))
        await asyncio.gather(*(speak(app, subject) for subject in subjects))
        heard = await asyncio.gather(*(insist(run.result) for run in runs))
        breaking.cancel()
        wire.come_up()
        while len(written := await insist(lambda: app.database.write(lambda tx: tx.all(WRITTEN)))) < len(said):
            continue
        while len(counts.effects) < len(said):
            await insist(lambda: app.database.write(lambda tx: None))

    assert heard == [list(range(NUMBERS))] * SUBJECTS
    assert sorted(written) == said
    assert sorted(counts.effects) == [f"{subject}/{number}" for subject, number in said]
    assert await asyncio.to_thread(check_invariants, postgres) == []
