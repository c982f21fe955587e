"""Nothing that comes for a run is forgotten, whatever the run, its neighbours and the file are doing at that moment."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from headrace import flow, receive, send, sleep, start
from headrace.errors import EngineUnavailable
from headrace.testing import Harness, faults
from tests.durability.one_transaction import gather_what_comes, gathered_at

MINUTE = timedelta(minutes=1)


@flow(id="reader")
async def reader(count: int = 1) -> list[str]:
    return [await receive("letter", str) for _ in range(count)]


@flow(id="opener")
async def opener() -> None:
    await asyncio.gather(start(reader), send("reader", "letter", "early"))


async def test_a_message_that_comes_together_with_its_run_is_received() -> None:
    """A run that was begun a moment ago is not read back from the file; what came for it meanwhile would wait for the next restart."""
    async with Harness(opener, reader) as harness:
        await harness.run(opener)

        assert await harness.app.handle("reader").result() == ["early"]


@flow(id="writer")
async def writer() -> None:
    await send("reader", "letter", "from a flow")


@pytest.mark.allow_blocking
async def test_messages_from_within_and_without_may_come_together() -> None:
    """A caller gets its turn later than a flow; what was stored for it first would be taken for something that was known."""
    async with Harness(reader, writer) as harness:
        run = await harness.start(reader, 2)
        await harness.settle()
        sent: list[asyncio.Future[None]] = []

        def send_too(point: str, _about: object) -> None:
            """From outside, just before the writer's first slice; so both messages go into the same transaction."""
            if point == "start.after":
                gather_what_comes(harness)
                sent.append(asyncio.ensure_future(harness.send(run, "letter", "from outside")))

        faults.watch(send_too)
        await harness.run(writer)
        faults.unwatch(send_too)
        await sent[0]

        assert sorted(await run.result()) == ["from a flow", "from outside"]


async def test_a_message_arrives_though_its_sender_has_gone() -> None:
    """A client that hangs up has sent its message all the same: it is on disk, and its receiver would not hear of it."""
    async with Harness(reader) as harness:
        run = await harness.start(reader)
        await harness.settle()
        sending = asyncio.create_task(harness.app.send(run, "letter", "in passing"))
        await asyncio.sleep(0)
        sending.cancel()

        assert await run.result() == ["in passing"]


@flow(id="brief")
async def brief() -> str:
    return "brief"


@flow(id="patient")
async def patient() -> str:
    return await brief()


@flow(id="calls-sleeper")
async def calls_sleeper() -> str:
    return await sleeper()


@flow(id="sleeper")
async def sleeper() -> str:
    await sleep(MINUTE)
    return "slept"


async def test_the_end_of_a_child_is_found_after_a_crash() -> None:
    """The parent waits, its child's end is on disk, and whoever was to tell it is dead."""
    async with Harness(calls_sleeper, sleeper) as harness:
        run = await harness.start(calls_sleeper)
        await harness.settle()
        harness.crash_once(at="run.after_end")

        assert await run.result() == "slept"
        assert harness.crashes == 1


@pytest.mark.allow_blocking
async def test_a_parent_that_begins_to_wait_as_its_child_ends_is_found_after_a_crash() -> None:
    """It writes down that it waits for ever, right behind the end that makes it due: the later must not erase the earlier."""
    async with Harness(patient, brief) as harness:
        with gathered_at(harness, "run.before_end", dies=True):
            assert await harness.run(patient) == "brief"

        assert harness.crashes == 1


@flow(id="sleepy-reader")
async def sleepy_reader() -> str:
    await sleep(MINUTE)
    return await receive("letter", str)


@flow(id="sleepy-writer")
async def sleepy_writer() -> None:
    await sleep(MINUTE)
    await send("sleepy-reader", "letter", "good morning")


async def test_a_message_is_found_after_a_crash() -> None:
    """The receiver waits, the message is on disk, and whoever was to tell it is dead."""
    async with Harness(reader) as harness:
        run = await harness.start(reader)
        await harness.settle()
        harness.crash_once(at="message.after")
        with pytest.raises(EngineUnavailable):
            await harness.send(run, "letter", "unconfirmed")

        assert await run.result() == ["unconfirmed"]


@pytest.mark.allow_blocking
async def test_a_reader_that_begins_to_wait_as_its_message_comes_is_found_after_a_crash() -> None:
    """As with children: both wake at the same moment, one writes, and the other writes down that it waits."""
    async with Harness(sleepy_writer, sleepy_reader) as harness:
        await harness.start(sleepy_writer)
        run = await harness.start(sleepy_reader)
        with gathered_at(harness, "message.before", dies=True):
            assert await run.result() == "good morning"

        assert harness.crashes == 1
