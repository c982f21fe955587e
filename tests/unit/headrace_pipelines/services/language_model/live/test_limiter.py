from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from headrace.errors import RateLimited
from headrace.testing import VirtualClock
from headrace_pipelines.services.language_model.live.limiter import Limiter, Limits
from headrace_pipelines.services.language_model.port import QuotaUsedUp

Through = Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]


async def starts(limiter: Limiter, clock: VirtualClock, *tokens: int) -> list[float]:
    """When each of these requests gets its turn."""
    begun: list[float] = []

    async def one(size: int) -> None:
        async with limiter.turn(size):
            begun.append(clock.monotonic())

    await asyncio.gather(*(one(size) for size in tokens))
    return begun


async def test_no_minute_has_more_requests_than_agreed(clock: VirtualClock, through: Through) -> None:
    """Whoever is over the limit gets errors, and later none at all."""
    limiter = Limiter(Limits(requests_per_minute=3), clock)

    begun = await through(starts(limiter, clock, *[1] * 10))

    assert all(later - earlier > 60 for earlier, later in zip(begun, begun[3:], strict=False))
    assert begun[:3] == [0, 0, 0]
    assert begun[-1] < 200


async def test_no_minute_has_more_tokens_than_agreed(clock: VirtualClock, through: Through) -> None:
    """Services count tokens too, and large chunks reach that limit first."""
    limiter = Limiter(Limits(tokens_per_minute=100), clock)

    begun = await through(starts(limiter, clock, 60, 40, 30, 80))

    assert begun == pytest.approx([0, 0, 60.5, 121], abs=0.1)


async def test_what_is_larger_than_a_minute_goes_alone(clock: VirtualClock, through: Through) -> None:
    """It would otherwise wait for ever."""
    limiter = Limiter(Limits(tokens_per_minute=100), clock)

    begun = await through(starts(limiter, clock, 10, 500, 10))

    assert begun == pytest.approx([0, 60.5, 121], abs=0.1)


async def test_the_true_size_replaces_the_estimate(clock: VirtualClock) -> None:
    """Estimates are too high on purpose; kept, they would halve the throughput."""
    limiter = Limiter(Limits(tokens_per_minute=100), clock)
    async with limiter.turn(90) as turn:
        turn.used(20)

    begun = await starts(limiter, clock, 80)

    assert begun == [0]


async def test_not_more_at_once_than_agreed(clock: VirtualClock) -> None:
    """A local server queues in silence what it has no slot for, and then times out."""
    limiter = Limiter(Limits(at_once=2), clock)
    inside = most = 0

    async def one() -> None:
        nonlocal inside, most
        async with limiter.turn(1):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)  # noqa: TID251  others get their chance
            inside -= 1

    await asyncio.gather(*(one() for _ in range(8)))

    assert most == 2


async def test_a_short_pause_is_waited_out(clock: VirtualClock, through: Through) -> None:
    """For two seconds no step has to fail."""
    limiter = Limiter(Limits(), clock)
    limiter.hold(timedelta(seconds=2))

    assert await through(starts(limiter, clock, 1)) == [2]


async def test_a_long_pause_is_handed_to_the_caller(clock: VirtualClock) -> None:
    """A durable sleep costs nothing and survives a restart; a waiting step does neither."""
    limiter = Limiter(Limits(), clock)
    limiter.hold(timedelta(seconds=34))
    clock.advance(timedelta(seconds=4))

    with pytest.raises(RateLimited, match="30 s of it are left") as caught:
        await starts(limiter, clock, 1)

    assert caught.value.retry_after == timedelta(seconds=30)


async def test_a_closed_service_is_not_asked_until_it_opens(clock: VirtualClock) -> None:
    """Each call after the daily quota is an error more on the account."""
    limiter = Limiter(Limits(), clock)
    limiter.close(QuotaUsedUp("all gone"), timedelta(hours=1))

    for _ in range(2):
        with pytest.raises(QuotaUsedUp, match="all gone"):
            await starts(limiter, clock, 1)

    clock.advance(timedelta(hours=1))
    assert await starts(limiter, clock, 1) == [3600]


async def test_tokens_that_the_service_has_left_are_obeyed(clock: VirtualClock, through: Through) -> None:
    """The service knows of its other callers, we do not."""
    limiter = Limiter(Limits(), clock)
    limiter.tokens_left(100, timedelta(seconds=5))

    assert await through(starts(limiter, clock, 60, 60, 60)) == [0, 5, 5]


async def test_who_gives_up_while_waiting_lets_the_next_one_go(clock: VirtualClock, through: Through) -> None:
    """A cancelled step must not hold the line for ever."""
    limiter = Limiter(Limits(requests_per_minute=1, at_once=2), clock)
    await starts(limiter, clock, 1)
    given_up = asyncio.create_task(starts(limiter, clock, 1))
    await asyncio.sleep(0)  # noqa: TID251  it waits for its turn
    given_up.cancel()

    assert await through(starts(limiter, clock, 1)) == pytest.approx([60.5])
