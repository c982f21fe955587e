"""A request to stop is kept like anything else that was acknowledged, and stops what it was meant for."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import Run, flow, receive, sleep, step, use
from headrace._engine.engine import Limits
from headrace.errors import RunAlreadyEnded, RunCancelled, RunTimedOut
from headrace.testing import Harness, faults
from tests.durability.one_transaction import gather_what_comes

MINUTE = timedelta(minutes=1)


@step
async def work(what: str) -> None:
    use(Counter)[what] += 1


@flow(id="tidy")
async def tidy() -> None:
    """Is cancelled in its third wait."""
    try:
        for number in range(10):
            await work(f"step {number}")
            await sleep(MINUTE)
    finally:
        await work("cleaned up")


@pytest.fixture
def ran() -> Counter[str]:
    return Counter()


async def test_a_cancelled_run_cleans_up_once_and_says_so(ran: Counter[str]) -> None:
    """A second request is harmless, one after the end gets a clear answer."""
    async with Harness(tidy, ports=ran) as harness:
        run = await harness.start(tidy)
        await harness.advance(2.5 * MINUTE)

        await asyncio.gather(harness.cancel(run), harness.cancel(run))
        with pytest.raises(RunCancelled):
            await run.result()
        with pytest.raises(RunAlreadyEnded, match="cancelled"):
            await harness.cancel(run)

        assert (await run.view()).state == "cancelled"
        assert [entry.name for entry in harness.history(run)][-1] == "work"
        assert harness.elapsed == 2.5 * MINUTE

    assert ran == {"step 0": 1, "step 1": 1, "step 2": 1, "cleaned up": 1}


@pytest.mark.parametrize("limits", [Limits(), Limits(idle_runs=0)], ids=["in memory", "on disk"])
@pytest.mark.parametrize("commit", range(1, 5))
async def test_an_acknowledged_cancellation_survives_a_death_at_any_commit(
    commit: int, limits: Limits, ran: Counter[str]
) -> None:
    """The caller was told that the run stops; the clean-up is made by whoever comes back."""
    async with Harness(tidy, ports=ran, limits=limits) as harness:
        run = await harness.start(tidy)
        await harness.advance(2.5 * MINUTE)
        await harness.cancel(run)
        harness.crash_once(at_commit=commit)

        with pytest.raises(RunCancelled):
            await run.result()

    assert ran["step 3"] == 0
    assert 1 <= ran["cleaned up"] <= 2


@flow(id="expects")
async def expects() -> str:
    try:
        await sleep(MINUTE)
        return await receive("never", str)
    finally:
        await work("cleaned up")


@pytest.mark.allow_blocking
async def test_a_cancellation_is_not_erased_by_a_run_that_settles_behind_it(ran: Counter[str]) -> None:
    """The run writes down that it waits in the transaction in which it is asked to stop, and all memory of it dies with the process."""
    async with Harness(expects, ports=ran) as harness:
        asked: list[str] = []

        def cancel_and_die(point: str, _about: object) -> None:
            if point == "delivery.before" and not asked:
                asked.append(point)
                gather_what_comes(harness)
                harness.crash_once(at_commit=2)
                cancelling = harness.app.engine.cancel("expects")
                with suppress(StopIteration):
                    cancelling.send(None)  # handed over now, ahead of what the run writes
                cancelling.close()

        faults.watch(cancel_and_die)
        run = await harness.start(expects)
        with pytest.raises(RunCancelled):
            await run.result()
        faults.unwatch(cancel_and_die)

        assert harness.crashes == 1
    assert ran == {"cleaned up": 1}


@flow(id="errand")
async def errand() -> str:
    return await receive("done", str)


@flow(id="asks-for-it")
async def asks_for_it() -> str:
    return await errand()


async def test_a_run_that_was_only_joined_is_left_alone() -> None:
    """It belongs to somebody else, and perhaps to many; one who loses interest must not stop it for all."""
    async with Harness(errand, asks_for_it) as harness:
        mine = await harness.start(errand)
        joined = await harness.start(asks_for_it)
        await harness.settle()
        await harness.cancel(joined)
        with pytest.raises(RunCancelled):
            await joined.result()
        await harness.send(mine, "done", "all the same")

        assert await mine.result() == "all the same"


async def test_a_child_is_stopped_with_its_parent() -> None:
    """A child that was begun for one run only works for nobody once that run is cancelled."""
    async with Harness(errand, asks_for_it) as harness:
        parent = await harness.start(asks_for_it)
        await harness.settle()
        await harness.cancel(parent)
        with pytest.raises(RunCancelled):
            await parent.result()

        assert (await harness.app.get("errand")).state == "cancelled"


@flow(id="punctual", timeout=30 * MINUTE)
async def punctual() -> str:
    try:
        return await receive("never", str)
    finally:
        await work("cleaned up")


@pytest.mark.parametrize("limits", [Limits(), Limits(idle_runs=0)], ids=["in memory", "on disk"])
@pytest.mark.parametrize("crashes", [0, 1, 2])
async def test_the_deadline_of_a_run_is_kept_to_the_minute(crashes: int, limits: Limits, ran: Counter[str]) -> None:
    """Whether it lies in memory or on disk, and whoever died in between."""
    async with Harness(punctual, ports=ran, limits=limits) as harness:
        run = await harness.start(punctual)
        for _ in range(crashes):
            await harness.advance(7 * MINUTE)
            await harness.crash()
        with pytest.raises(RunTimedOut):
            await run.result()

        assert harness.elapsed == 30 * MINUTE
    assert ran == {"cleaned up": 1}


async def test_a_deadline_that_passed_while_nobody_was_there_ends_the_run_at_once(ran: Counter[str]) -> None:
    """It does not get its half hour anew."""
    async with Harness(punctual, ports=ran) as harness:
        run = await harness.start(punctual)
        await harness.settle()
        await harness.crash(down_for=timedelta(hours=5))
        with pytest.raises(RunTimedOut):
            await run.result()

        assert harness.elapsed == timedelta(hours=5)


@flow(id="works-on")
async def works_on() -> str:
    await work("begun")
    return await receive("go", str)


async def test_a_run_that_ends_as_it_is_ended_by_force_has_one_outcome(tmp_path: Path, ran: Counter[str]) -> None:
    """Two ends on their way to the disk: the first one counts, for the file and for everybody who waits."""
    async with Harness(works_on, ports=ran, store=tmp_path / "kept.db") as harness:
        run: Run[str] = await harness.start(works_on)
        await harness.settle()

        def end_by_force(point: str, _about: object) -> None:
            if point == "run.before_end":
                ending = harness.app.engine.cancel("works-on", force=True)
                with suppress(StopIteration):
                    ending.send(None)  # ahead of the end that the flow came to
                ending.close()

        faults.watch(end_by_force)
        waiting = asyncio.ensure_future(run.result())
        await harness.send(run, "go", "on")
        with pytest.raises(RunCancelled):
            await waiting
        faults.unwatch(end_by_force)

        assert (await run.view()).state == "cancelled"
