"""Runs that wait are rows: whatever memory holds of them, they wake when they are due, and nothing happens as they leave."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from headrace import flow, receive, send, sleep, start, step, use
from headrace._engine.engine import Limits
from headrace.testing import Harness, faults
from tests.durability.one_transaction import gather_what_comes

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
NOBODY_STAYS = Limits(idle_runs=0)


@step
async def work(what: str) -> None:
    use(Counter)[what] += 1


@pytest.fixture
def ran() -> Counter[str]:
    return Counter()


@flow(id="sleeps-{seconds}")
async def sleeps(seconds: int) -> int:
    await sleep(seconds * SECOND)
    return seconds


@pytest.mark.parametrize("seconds", [1, 59, 60, 61, 100, 3_600, 30 * 24 * 3_600])
@pytest.mark.parametrize("limits", [Limits(), NOBODY_STAYS], ids=["in memory", "on disk"])
async def test_a_sleep_ends_to_the_second(seconds: int, limits: Limits) -> None:
    """Thirty days as well as one second, and wherever the run lies meanwhile."""
    async with Harness(sleeps, limits=limits) as harness:
        assert await harness.run(sleeps, seconds) == seconds
        assert harness.elapsed == seconds * SECOND


@pytest.mark.parametrize("graceful", [False, True], ids=["crash", "restart"])
async def test_a_sleep_of_a_month_is_not_slept_again_after_a_restart(graceful: bool) -> None:
    """It ends at its moment if somebody is there, and at once if that has passed."""
    month = 30 * 24 * 3_600
    async with Harness(sleeps) as harness:
        run = await harness.start(sleeps, month)
        await harness.advance(10 * 24 * 60 * MINUTE)
        await (harness.restart() if graceful else harness.crash())

        assert await run.result() == month
        assert harness.elapsed == month * SECOND


@flow(id="crowd-{number}")
async def crowd(number: int) -> int:
    await sleep((number % 50 + 1) * MINUTE)
    return number


@pytest.mark.slow
async def test_memory_holds_few_of_very_many_sleeping_runs() -> None:
    """A million sleepers are a million rows; here it is a thousand, and memory for twenty."""
    async with Harness(crowd, limits=Limits(idle_runs=20), replay_check=False) as harness:
        runs = await asyncio.gather(*(harness.start(crowd, number) for number in range(1_000)))
        await harness.settle()
        assert len(harness.app.engine._memory.residents) == 20

        await harness.crash()
        await harness.settle()
        assert harness.app.engine._memory.residents == {}
        assert await asyncio.gather(*(run.result() for run in runs)) == list(range(1_000))
        assert harness.elapsed == 50 * MINUTE


async def test_a_run_on_disk_is_woken_by_its_message() -> None:
    """Any of them, at any time."""
    async with Harness(chat, limits=NOBODY_STAYS) as harness:
        runs = [await harness.start(chat, f"guest{number}", 3) for number in range(5)]
        for _ in range(3):
            await harness.settle()
            assert harness.app.engine._memory.residents == {}
            for run in reversed(runs):
                await harness.send(run, "word", run.id)

        assert [await run.result() for run in runs] == [3 * f"chat-guest{number}" for number in range(5)]


@flow(id="chat-{name}")
async def chat(name: str, words: int) -> str:
    return "".join([await receive("word", str) for _ in range(words)])


@flow(id="tidy")
async def tidy() -> str:
    try:
        return await receive("go", str)
    finally:
        await work("cleaned up")


@flow(id="tidy-in-tasks")
async def tidy_in_tasks() -> str:
    async def tidily() -> str:
        try:
            return await receive("go", str)
        finally:
            await asyncio.shield(work("cleaned up"))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(tidily())
    return task.result()


@pytest.mark.parametrize("kind", [tidy, tidy_in_tasks], ids=lambda kind: kind.name)
async def test_leaving_memory_is_no_end(kind: Any, ran: Counter[str]) -> None:
    """The clean-up of a run that is only put out must not be begun; it is made once, when the run ends."""
    async with Harness(kind, ports=ran, limits=NOBODY_STAYS) as harness:
        run = await harness.start(kind)
        await harness.settle()
        assert harness.app.engine._memory.residents == {}
        assert ran == {}

        await harness.send(run, "go", "on")
        assert await run.result() == "on"

    assert ran == {"cleaned up": 1}


@pytest.mark.allow_blocking
async def test_a_run_stays_while_something_is_on_its_way_to_it() -> None:
    """Its message is being written down as received; who has left memory by then is told of nothing more."""
    async with Harness(chat) as harness:
        run, other = [await harness.start(chat, name, 1) for name in ("one", "other")]
        await harness.settle()
        memory = harness.app.engine._memory
        memory._limits = NOBODY_STAYS
        crowded: list[str] = []

        def get_crowded(point: str, _about: object) -> None:
            if point == "record.before" and not crowded:
                crowded.append(point)
                gather_what_comes(harness)
                asyncio.get_running_loop().call_soon(memory.rest, memory.by_id[other.id])

        faults.watch(get_crowded)
        await harness.send(run, "word", "hello")
        faults.unwatch(get_crowded)

        assert await run.result() == "hello"
        assert memory.residents == {}
        await harness.send(other, "word", "bye")
        assert await other.result() == "bye"


@flow(id="ping-{number}")
async def ping(number: int, rounds: int) -> int:
    other = f"ping-{number ^ 1}"
    for turn in range(rounds):
        if number == turn % 2:
            await send(other, "ball", turn)
        else:
            await receive("ball", int)
        await work(f"{number} {turn}")
    return rounds


@flow(id="match")
async def match() -> None:
    await asyncio.gather(start(ping, 0, 10), start(ping, 1, 10))


@pytest.mark.parametrize("limits", [NOBODY_STAYS, Limits(idle_runs=1), Limits(idle_runs=1, active_runs=1)], ids=str)
async def test_runs_that_come_and_go_all_the_time_lose_nothing(limits: Limits, ran: Counter[str]) -> None:
    """Something is always on its way to a run that has just begun to wait."""
    async with Harness(match, ping, ports=ran, limits=limits) as harness:
        await harness.run(match)
        for number in (0, 1):
            assert await harness.app.handle(f"ping-{number}").result() == 10

    assert set(ran.values()) == {1}
    assert len(ran) == 20
