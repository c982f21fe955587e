"""A disk that fills up while runs are under way: nothing acknowledged is lost, nothing new is accepted, and all goes on when there is space."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import flow, receive, sleep, start, step, use
from headrace.errors import StoreFull
from headrace.testing import FakeDisk, Harness, check_invariants

MINUTE = timedelta(minutes=1)


@step
async def work(number: int) -> int:
    use(Counter)[step.key] += 1
    return number


@flow(id="busy-{number}")
async def busy(number: int) -> list[int]:
    async def branch(place: int) -> int:
        await sleep(place * MINUTE)
        return await work(place)

    found = await asyncio.gather(*(branch(place) for place in range(5)))
    return [*found, await follower(number)]


@flow(id="follower-{number}")
async def follower(number: int) -> int:
    await start(letter, number)
    return await work(5)


@flow(id="letter-{number}")
async def letter(number: int) -> str:
    return await receive("letter", str)


@pytest.fixture
def disk() -> Iterator[FakeDisk]:
    with FakeDisk() as disk:
        yield disk


async def refused(harness: Harness) -> None:
    """Give the disk time to refuse what is under way."""
    while not harness.app.engine._journal.is_held:
        await asyncio.to_thread(lambda: None)


async def test_runs_go_on_where_they_were_when_space_comes_back(disk: FakeDisk, tmp_path: Path) -> None:
    """Nobody has to restart anything, no step is lost and none is repeated."""
    ran: Counter[str] = Counter()
    async with Harness(busy, follower, letter, ports=ran, disk=disk, store=tmp_path / "kept.db") as harness:
        runs = [await harness.start(busy, number) for number in range(4)]
        await harness.settle()
        for _ in range(3):
            disk.fail("write", trouble="full")
            harness.clock.advance(MINUTE)
            await refused(harness)
            with pytest.raises(StoreFull):
                await harness.app.start(letter, 99)
            assert check_invariants(tmp_path / "kept.db") == []
            disk.heal()
            await harness.settle()

        assert [await run.result() for run in runs] == [[0, 1, 2, 3, 4, 5]] * 4

    assert set(ran.values()) == {1}
    assert len(ran) == 4 * 6


async def test_a_death_on_a_full_disk_loses_nothing_acknowledged(disk: FakeDisk, tmp_path: Path) -> None:
    """What waited in line for space was acknowledged to nobody, so it may be done again."""
    ran: Counter[str] = Counter()
    async with Harness(busy, follower, letter, ports=ran, disk=disk, store=tmp_path / "kept.db") as harness:
        run = await harness.start(busy, 1)
        await harness.settle()
        recorded = {entry.command for entry in harness.history(run)}
        disk.fail("write", trouble="full")
        harness.clock.advance(2 * MINUTE)
        await refused(harness)
        disk.heal()
        await harness.crash()

        assert await run.result() == [0, 1, 2, 3, 4, 5]
        assert recorded <= {entry.command for entry in harness.history(run)}
