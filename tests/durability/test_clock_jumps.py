"""A wall clock that jumps by a day, either way, as administrators and bad batteries make it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

import pytest

from headrace import Retry, flow, now, receive, sleep, step, use
from headrace._engine.engine import Limits
from headrace.errors import ServiceUnavailable
from headrace.testing import Harness

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@step(retry=Retry(attempts=3, first=HOUR, factor=1, ceiling=HOUR))
async def work(number: int) -> int:
    use(Counter)[step.key] += 1
    if number == 2 and step.attempt == 1:
        raise ServiceUnavailable("not yet")
    return number


@flow(id="four-hours")
async def four_hours() -> list[int]:
    moments = [now()]
    for number in range(4):
        await work(number)
        await sleep(HOUR)
        moments.append(now())
    assert moments == sorted(moments), "time ran backward in a flow"
    return list(range(4))


@flow(id="takes-letters")
async def takes_letters() -> list[datetime]:
    moments = [now()]
    for _ in range(2):
        await receive("letter", str)
        moments.append(now())
    return moments


async def test_what_comes_after_the_clock_was_put_back_does_not_come_earlier() -> None:
    """In a run time stands still until the clock has caught up; rows that went backward would mean another order to whoever sorts by time."""
    async with Harness(takes_letters) as harness:
        run = await harness.start(takes_letters)
        await harness.advance(HOUR)
        await harness.send(run, "letter", "on time")
        await harness.settle()
        harness.clock.set(harness.clock.moment - DAY)
        await harness.send(run, "letter", "yesterday")
        began, first, second = await run.result()

    assert (first - began, second - first) == (HOUR, timedelta(0))


@pytest.mark.parametrize("limits", [Limits(), Limits(idle_runs=0)], ids=["in memory", "on disk"])
@pytest.mark.parametrize("jump", [-DAY, DAY], ids=["back", "forward"])
@pytest.mark.parametrize("at", [0.5, 2.5])
@pytest.mark.parametrize("crashes", [False, True], ids=["alive", "after a crash"])
async def test_a_clock_that_jumps_repeats_nothing_and_forgets_nothing(
    jump: timedelta, at: float, limits: Limits, crashes: bool
) -> None:
    """Due times are moments of the wall clock; what is due fires once, and in a run time never goes backward."""
    ran: Counter[str] = Counter()
    async with Harness(four_hours, ports=ran, limits=limits) as harness:
        run = await harness.start(four_hours)
        await harness.advance(at * HOUR)
        harness.clock.set(harness.clock.moment + jump)
        if crashes:
            await harness.crash()
        await harness.settle()

        assert await run.result() == [0, 1, 2, 3]

    assert sorted(ran.values()) == [1, 1, 1, 2]
