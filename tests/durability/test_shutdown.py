"""A graceful end, which every upgrade begins with, must leave nothing that the next start would not find."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta

from headrace import Retry, Run, flow, step, use
from headrace.errors import ServiceUnavailable
from headrace.testing import Harness, faults

MINUTE = timedelta(minutes=1)


class Gates:
    """What steps wait for, in real time."""

    def __init__(self) -> None:
        self.first, self.long = asyncio.Event(), asyncio.Event()
        self.long_began = asyncio.Event()
        self.ran: Counter[str] = Counter()


@step
async def first() -> None:
    await use(Gates).first.wait()


@step
async def second() -> str:
    use(Gates).ran["second"] += 1
    return "done"


@step(at_most_once=True)
async def only_once() -> str:
    use(Gates).ran["only once"] += 1
    return "done"


@step(retry=Retry(attempts=2, first=MINUTE))
async def shaky() -> str:
    use(Gates).ran["shaky"] += 1
    if step.attempt == 1:
        raise ServiceUnavailable("not yet")
    return "done"


@step
async def long() -> None:
    use(Gates).long_began.set()
    await use(Gates).long.wait()


@flow(id="two-steps")
async def two_steps() -> str:
    await first()
    return await second()


@flow(id="careful")
async def careful() -> str:
    await first()
    return await only_once()


@flow(id="persistent")
async def persistent() -> str:
    return await shaky()


@flow(id="long")
async def holds_the_end_up() -> None:
    await long()


@asynccontextmanager
async def closing(harness: Harness, gates: Gates) -> AsyncIterator[None]:
    """The engine waits for a long step to end before it stops."""
    await harness.start(holds_the_end_up)
    await gates.long_began.wait()
    restarting = asyncio.create_task(harness.restart())
    await asyncio.sleep(0)
    yield
    gates.long.set()
    await restarting


@contextmanager
def noticed(point: str) -> Iterator[asyncio.Event]:
    """Set when a fault point is passed."""
    passed = asyncio.Event()

    def look(name: str, _about: object) -> None:
        if name == point:
            passed.set()

    faults.watch(look)
    try:
        yield passed
    finally:
        faults.unwatch(look)


async def asks_while_closing(harness: Harness, gates: Gates, run: Run[str]) -> str:
    async with closing(harness, gates):
        with noticed("delivery.before") as delivered:
            gates.first.set()
            await delivered.wait()
    return await run.result()


async def test_a_step_that_is_asked_for_while_the_engine_closes_runs_after_the_next_start() -> None:
    """It is not begun any more, so nothing of it would come back, and a file that says that its run waits is not looked at."""
    gates = Gates()
    async with Harness(two_steps, holds_the_end_up, ports=gates) as harness:
        run = await harness.start(two_steps)

        assert await asks_while_closing(harness, gates, run) == "done"

    assert gates.ran == {"second": 1}


async def test_an_at_most_once_step_is_not_spent_on_a_closing_engine() -> None:
    """Marked as begun and not begun, it could never run, and its run would be told that the outcome is unknown."""
    gates = Gates()
    async with Harness(careful, holds_the_end_up, ports=gates) as harness:
        run = await harness.start(careful)

        assert await asks_while_closing(harness, gates, run) == "done"

    assert gates.ran == {"only once": 1}


async def test_a_retry_that_falls_due_while_the_engine_closes_is_made_after_the_next_start() -> None:
    """Its timer has gone off and will not go off again."""
    gates = Gates()
    async with Harness(persistent, holds_the_end_up, ports=gates) as harness:
        run = await harness.start(persistent)
        await harness.settle()
        async with closing(harness, gates):
            harness.clock.advance(MINUTE)
            await asyncio.sleep(0)

        assert await run.result() == "done"

    assert gates.ran == {"shaky": 2}
