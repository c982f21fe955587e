"""Nothing that comes for a run is forgotten, whatever the run, its neighbours and the file are doing at that moment."""

from __future__ import annotations

import asyncio
import threading

from headrace import flow, receive, send, start
from headrace.testing import Harness, faults


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


async def test_messages_from_within_and_without_may_come_together() -> None:
    """A caller gets its turn later than a flow; what was stored for it first would be taken for something that was known."""
    async with Harness(reader, writer) as harness:
        run = await harness.start(reader, 2)
        await harness.settle()
        loop, held, sent = asyncio.get_running_loop(), threading.Event(), list[asyncio.Task[None]]()

        def send_too(point: str, _about: object) -> None:
            """From outside, just before the writer's first slice; both messages go into the same transaction."""
            if point == "start.after":
                harness.app.database.submit(lambda tx: held.wait(10))
                sent.append(loop.create_task(harness.send(run, "letter", "from outside")))
                loop.call_soon(loop.call_soon, loop.call_soon, held.set)

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
        await asyncio.sleep(0)  # noqa: TID251  one turn, in which it is handed over
        sending.cancel()

        assert await run.result() == ["in passing"]
