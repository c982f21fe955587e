"""One id, many starts: what each policy gives while the run is open, after its end, and through a death."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Literal

import pytest

from headrace import flow, receive, step, use
from headrace.errors import EngineUnavailable, RunAlreadyExists, RunCancelled, RunFailed
from headrace.testing import Crash, Harness, HarnessRun

Policy = Literal["join", "reject", "replace"]
Ending = Literal["open", "completed", "failed", "cancelled"]


@step
async def work(what: str) -> str:
    use(Counter)[what] += 1
    return what


@flow(id="order-{number}")
async def order(number: int, how: str) -> str:
    await work(how)
    if how == "failed":
        raise LookupError("as planned")
    return how if how == "completed" else await receive("go", str)


@pytest.fixture
def ran() -> Counter[str]:
    return Counter()


async def begun(harness: Harness, ending: Ending) -> HarnessRun[str]:
    """The first run of the id, brought to where the test wants it."""
    run = await harness.start(order, 7, ending)
    assert isinstance(run, HarnessRun)
    await harness.settle()
    if ending == "cancelled":
        await harness.cancel(run)
        with pytest.raises(RunCancelled):
            await run.result()
    return run


@pytest.mark.parametrize(
    "ending, policy, number",
    [
        ("open", "join", 1), ("open", "reject", None), ("open", "replace", 2),
        ("completed", "join", 1), ("completed", "reject", None), ("completed", "replace", 2),
        ("failed", "join", 2), ("failed", "reject", 2), ("failed", "replace", 2),
        ("cancelled", "join", 2), ("cancelled", "reject", 2), ("cancelled", "replace", 2),
    ],
)  # fmt: skip
async def test_a_start_of_an_id_that_is_taken_does_what_its_policy_says(
    ending: Ending, policy: Policy, number: int | None, ran: Counter[str]
) -> None:
    """An open run and a completed one stand for the work; a failed or cancelled one does not."""
    async with Harness(order, ports=ran) as harness:
        first = await begun(harness, ending)
        if number is None:
            with pytest.raises(RunAlreadyExists, match=str((await first.view()).state)):
                await harness.app.start_as(order, None, policy, 7, "completed")
            assert (await harness.app.get("order-7")).number == 1
            return
        again = await harness.app.start_as(order, None, policy, 7, "completed")
        await harness.settle()

        assert again.number == number
        assert (await first.view()).state == (
            ending if ending != "open" else ("waiting" if number == 1 else "replaced")
        )
        assert ran["completed"] == (number == 2) + (ending == "completed")


async def test_whoever_waits_for_a_replaced_run_is_told(ran: Counter[str]) -> None:
    """Its result will never come."""
    async with Harness(order, ports=ran) as harness:
        first = await begun(harness, "open")
        waiting = asyncio.ensure_future(first.result())
        await harness.settle()
        await harness.app.start_as(order, None, "replace", 7, "completed")

        with pytest.raises(RunCancelled):
            await waiting


@pytest.mark.parametrize("point", ["start.before", "start.after", "store.before_commit", "store.after_commit"])
async def test_a_start_that_dies_is_there_once_or_not_at_all(point: str, ran: Counter[str]) -> None:
    """Whoever got no answer asks again, and gets the same run."""
    async with Harness(order, ports=ran) as harness:
        harness.crash_once(at=point)
        engine = harness.app.engine
        with pytest.raises((Crash, EngineUnavailable)):
            await engine.start("order", order.shape.encode((7, "completed"), {}))
        runs = await asyncio.gather(*(harness.start(order, 7, "completed") for _ in range(50)))

        assert {(run.id, run.number) for run in runs} == {("order-7", 1)}
        assert await runs[0].result() == "completed"

    assert ran == {"completed": 1}


async def test_a_failed_run_is_tried_again_with_its_own_input(ran: Counter[str]) -> None:
    """By a person, who need not know what it was started with."""
    async with Harness(order, ports=ran) as harness:
        first = await begun(harness, "failed")
        with pytest.raises(RunFailed):
            await first.result()
        again = await harness.app.retry(first)
        with pytest.raises(RunFailed, match="as planned"):
            await harness.app.handle(again.id, again.number).result()

        assert again.number == 2
    assert ran == {"failed": 2}
