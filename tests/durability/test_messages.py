"""Messages: stored before anyone waits, received in order, once, and by somebody."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from headrace import flow, receive, send, sleep, start, step
from headrace.testing import Harness
from tests.durability.one_transaction import gather_what_comes

MINUTE = timedelta(minutes=1)


@flow(id="late-riser")
async def late_riser(count: int) -> list[int]:
    await sleep(MINUTE)
    return [await receive("number", int) for _ in range(count)]


@pytest.mark.parametrize("commit", [None, *range(1, 9)])
async def test_messages_sent_before_anyone_waits_are_received_in_order(commit: int | None) -> None:
    """Also when the process dies on the way; the sender repeats what was not confirmed, which may come twice."""
    async with Harness(late_riser) as harness:
        run = await harness.start(late_riser, 3)
        for number in range(3):
            await harness.send(run, "number", number)
        if commit is not None:
            harness.crash_once(at_commit=commit)

        assert await run.result() == [0, 1, 2]


@flow(id="announces")
async def announces() -> list[int]:
    """Starts a run and sends to it in the same breath, before it can have waited."""
    await asyncio.gather(start(late_riser, 3), *(send("late-riser", "number", number) for number in range(3)))
    return await late_riser(3)


@pytest.mark.parametrize("commit", range(1, 10))
async def test_a_run_that_is_started_with_messages_receives_them_whatever_dies(commit: int) -> None:
    """Start and messages are rows of the flow that does both, so a restart neither forgets nor repeats them."""
    async with Harness(announces, late_riser) as harness:
        harness.crash_once(at_commit=commit)

        assert await harness.run(announces) == [0, 1, 2]


@step
async def note() -> None: ...


@flow(id="once-only")
async def once_only() -> list[str]:
    found = [await receive("letter", str)]
    await note()
    try:
        async with asyncio.timeout(60):
            found.append(await receive("letter", str))
    except TimeoutError:
        pass
    return found


@pytest.mark.parametrize("commit", range(1, 6))
async def test_a_message_is_received_once_whatever_dies(commit: int) -> None:
    """It leaves the inbox in the transaction in which it enters the journal."""
    async with Harness(once_only) as harness:
        run = await harness.start(once_only)
        await harness.send(run, "letter", "only")
        harness.crash_once(at_commit=commit)

        assert await run.result() == ["only"]


@flow(id="impatient")
async def impatient() -> tuple[str, str]:
    """Gives up a receive, and receives later."""
    try:
        async with asyncio.timeout(60):
            return "in time", await receive("letter", str)
    except TimeoutError:
        await note()
        return "later", await receive("letter", str)


@pytest.mark.allow_blocking
async def test_a_message_that_comes_as_its_receive_is_given_up_is_received_later() -> None:
    """It had been taken from the inbox for a flow that no longer wanted it; it must not be lost on the way back."""
    async with Harness(impatient, replay_prefixes=True) as harness:
        sending: list[asyncio.Future[None]] = []

        def send_at_the_last_moment() -> None:
            gather_what_comes(harness)
            sending.append(asyncio.ensure_future(run.send("letter", "hello")))

        harness.clock.call_after(MINUTE, send_at_the_last_moment)
        run = await harness.start(impatient)

        assert await run.result() == ("later", "hello")


@flow(id="two-topics")
async def two_topics() -> list[str]:
    return [await receive("second", str), await receive("first", str)]


async def test_topics_do_not_stand_in_each_others_way() -> None:
    """Whoever waits for one kind of message is not given another, and the other is kept."""
    async with Harness(two_topics) as harness:
        run = await harness.start(two_topics)
        await harness.send(run, "first", "1")
        await harness.settle()
        await harness.crash()
        await harness.send(run, "second", "2")

        assert await run.result() == ["2", "1"]
