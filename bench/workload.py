"""The flows that are measured."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

from headrace import Pipeline, flow, receive, sleep_until, step

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

first_steps: list[float] = []
"""When ``touch`` began, by the performance counter."""

lateness: list[float] = []
"""By how many seconds the wake-ups of ``sleeper`` were late."""

woken_at: list[float] = []

resumed_at: list[float] = []
"""When the sixth step of ``half_done`` began."""

held: list[bool] = []
"""Holds the runs of ``half_done`` at their sixth step as long as it is not empty."""


@step
async def add(left: int, right: int) -> int:
    return left + right


@step
async def touch() -> None:
    first_steps.append(time.perf_counter())


@step
async def wake(due: int) -> None:
    now = time.time()
    lateness.append(now - due / 1_000_000)
    woken_at.append(now)


@step
async def resume(number: int) -> int:
    if held:
        await asyncio.Event().wait()
    resumed_at.append(time.time())
    return number


@flow(id="ten-{number}")
async def ten(number: int) -> int:
    """Ten steps, one after the other."""
    total = number
    for summand in range(10):
        total = await add(total, summand)
    return total


@flow(id="one-{number}")
async def one(number: int) -> None:
    await touch()


@flow(id="sleeper-{number}")
async def sleeper(number: int, due: int) -> None:
    """Sleep until ``due``, in microseconds since 1970."""
    await sleep_until(_EPOCH + timedelta(microseconds=due))
    await wake(due)


@flow(id="half-{number}")
async def half_done(number: int) -> int:
    """Ten steps; at the sixth it may be held."""
    total = number
    for summand in range(5):
        total = await add(total, summand)
    total = await resume(total)
    for summand in range(4):
        total = await add(total, summand)
    return total


@flow(id="long-{number}")
async def long(number: int, steps: int) -> None:
    """As many steps as asked for, then a message that never comes."""
    for summand in range(steps):
        await add(number, summand)
    await receive("never", str)


pipeline = Pipeline("bench", flows=[ten, one, sleeper, half_done, long])
