from __future__ import annotations

import asyncio
from datetime import timedelta

from headrace.testing import VirtualClock
from headrace_pipelines.services.clock import LoopClock, wait


async def test_waiting_ends_when_the_clock_says_so() -> None:
    """Live clients wait by this; on a virtual clock an hour is nothing."""
    clock = VirtualClock()
    waiting = asyncio.create_task(wait(clock, 3600))
    await asyncio.sleep(0)  # noqa: TID251  it begins to wait

    clock.advance(timedelta(minutes=59))
    await asyncio.sleep(0)  # noqa: TID251  nothing is due
    assert not waiting.done()

    clock.advance(timedelta(minutes=1))
    await waiting


async def test_who_stops_waiting_leaves_no_timer() -> None:
    """A cancelled step must not keep a virtual clock jumping."""
    clock = VirtualClock()
    waiting = asyncio.create_task(wait(clock, 3600))
    await asyncio.sleep(0)  # noqa: TID251  it begins to wait

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert clock.waiting() == []


async def test_nothing_to_wait_for_returns_at_once() -> None:
    """A pause that is over already needs no timer."""
    clock = VirtualClock()

    await wait(clock, -1)

    assert clock.waiting() == []


async def test_the_loop_clock_goes_by_itself() -> None:
    """Outside of tests nobody moves the clock."""
    clock = LoopClock()
    before = clock.monotonic()

    await wait(clock, 0.002)

    assert clock.monotonic() - before >= 0.001
