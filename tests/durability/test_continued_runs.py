"""What comes for a run in the very moment in which it goes on as a new one reaches the new one."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from headrace import continue_as_new, flow, receive, sleep, step
from headrace.errors import RunCancelled
from headrace.testing import Harness
from tests.durability.one_transaction import gather_what_comes

MINUTE = timedelta(minutes=1)


@flow(id="clerk")
async def clerk(wanted: int, got: list[str], minutes: int = 0) -> list[str]:
    """Takes letters, and starts afresh after each minute without one."""
    assert minutes < 5, f"only these letters came: {got}"
    while len(got) < wanted:
        try:
            async with asyncio.timeout(60):
                got = [*got, await receive("letter", str)]
        except TimeoutError:
            continue_as_new(wanted, got, minutes + 1)
    return got


@step
async def note() -> None: ...


@flow(id="slow-clerk")
async def slow_clerk(wanted: int, got: list[str], minutes: int = 0) -> list[str]:
    """As the clerk, and takes note of it before it starts afresh."""
    assert minutes < 5, f"only these letters came: {got}"
    while len(got) < wanted:
        try:
            async with asyncio.timeout(60):
                got = [*got, await receive("letter", str)]
        except TimeoutError:
            await note()
            continue_as_new(wanted, got, minutes + 1)
    return got


@pytest.mark.allow_blocking
@pytest.mark.parametrize("kind", [clerk, slow_clerk], ids=lambda kind: kind.name)
async def test_a_message_at_the_end_of_patience_goes_to_the_next_run(kind: Any) -> None:
    """It was taken for a flow that no longer looked; its sender was told that it is stored, and would see it vanish."""
    async with Harness(kind) as harness:
        sending: list[asyncio.Future[None]] = []

        def send_in_time() -> None:
            gather_what_comes(harness)
            sending.append(asyncio.ensure_future(run.send("letter", "on time")))

        harness.clock.call_after(MINUTE, send_in_time)
        run = await harness.start(kind, 3, [])
        await harness.advance(MINUTE)
        for letter in ("second", "third"):
            await harness.send(run, "letter", letter)

        assert await run.result() == ["on time", "second", "third"]
        assert run.number < (await harness.app.get(run.id)).number


@flow(id="rounds")
async def rounds(number: int = 1) -> None:
    await sleep(MINUTE)
    if number < 5:
        continue_as_new(number + 1)


@pytest.mark.allow_blocking
async def test_a_cancellation_at_the_moment_of_a_new_run_stops_that_one() -> None:
    """Whoever was told that the run stops would find it running for ever."""
    async with Harness(rounds) as harness:
        cancelling: list[asyncio.Future[None]] = []

        def cancel_in_time() -> None:
            gather_what_comes(harness)
            cancelling.append(asyncio.ensure_future(run.cancel()))

        harness.clock.call_after(MINUTE, cancel_in_time)
        run = await harness.start(rounds)

        with pytest.raises(RunCancelled):
            await run.result()

        assert (await harness.app.get("rounds")).number == 2


@flow(id="deaf")
async def deaf(number: int = 1) -> int:
    try:
        await sleep(MINUTE)
    except asyncio.CancelledError:
        continue_as_new(number + 1)
    return number


async def test_a_run_that_goes_on_in_spite_of_a_cancellation_is_not_cancelled_again() -> None:
    """A flow may catch CancelledError, as anywhere in asyncio; starting afresh is then its own decision."""
    async with Harness(deaf) as harness:
        run = await harness.start(deaf)
        await harness.settle()
        await harness.cancel(run)

        assert await run.result() == 2
