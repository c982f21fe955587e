from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from headrace.errors import RateLimited
from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.services.subtitle_provider.live.pace import Pace

SECOND = timedelta(seconds=1)


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)  # noqa: TID251  whoever can go on does


async def taken(pace: Pace, clock: VirtualClock, turns: int) -> list[float]:
    """When each of so many callers got its turn."""
    times: list[float] = []

    async def take() -> None:
        await pace.turn()
        times.append(clock.monotonic())

    tasks = [asyncio.create_task(take()) for _ in range(turns)]
    await settle()
    while timers := clock.waiting():
        clock.go_to(timers[0].due)
        await settle()
    await asyncio.gather(*tasks)
    return times


async def test_no_stretch_of_time_has_more_turns_than_agreed() -> None:
    """Counting by the full second would let ten through around its end."""
    clock = VirtualClock()
    times = await taken(Pace(clock, turns=5, window=SECOND), clock, 23)

    assert len(times) == 23
    assert all(later - earlier >= 1 for earlier, later in zip(times, times[5:], strict=False))
    assert times[-1] == 4


async def test_everybody_waits_when_patience_is_asked_for() -> None:
    """The next caller would be refused as well."""
    clock = VirtualClock()
    pace = Pace(clock, turns=5, window=SECOND)
    pace.hold(timedelta(seconds=7))

    assert await taken(pace, clock, 2) == [7, 7]


async def test_who_would_wait_too_long_is_told_instead() -> None:
    """An hour is for the flow, which can sleep; a step that hangs looks like a bug."""
    clock = VirtualClock()
    pace = Pace(clock, turns=1, window=timedelta(hours=1), patience=timedelta(seconds=5), of="the login")
    await pace.turn()

    with pytest.raises(RateLimited, match="the login") as caught:
        await pace.turn()

    assert caught.value.retry_after == timedelta(hours=1)


async def test_who_gives_up_waiting_takes_no_turn() -> None:
    """A cancelled job must not slow down the others."""
    clock = VirtualClock()
    pace = Pace(clock, turns=1, window=SECOND)
    await pace.turn()
    waiting = asyncio.create_task(pace.turn())
    await settle()
    waiting.cancel()
    await settle()

    assert await taken(pace, clock, 1) == [1]
