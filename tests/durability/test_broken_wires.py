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

from headrace import Headrace, Pipeline, flow, receive, sleep, step, use
from headrace._engine.engine import Limits
from headrace._store.location import PostgresUrl
from headrace._store.opening import OwnedDatabase
from headrace._store.postgres import open_postgres
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
