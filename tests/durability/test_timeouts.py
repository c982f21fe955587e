"""Steps that take too long: their time limit reaches them wherever they run, and those that do not listen hold up nobody."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from headrace import Retry, flow, step, use
from headrace._app.view import Incident
from headrace.errors import RunFailed
from headrace.testing import Harness
from tests.durability.cpu_steps import listen_at_the_second_attempt

MINUTE = timedelta(minutes=1)
TWICE = Retry(attempts=2, first=0)


class Deafness:
    """Steps that have begun and do not listen; they go on when the test lets them."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.begun: asyncio.Queue[int] = asyncio.Queue()
        self.open = threading.Event()
        self.opened = asyncio.Event()

    def begin(self) -> None:
        attempt = step.attempt
        self.loop.call_soon_threadsafe(self.begun.put_nowait, attempt)

    def let_go(self) -> None:
        self.open.set()
        self.opened.set()


@step(timeout=MINUTE, retry=TWICE)
async def deaf_on_the_loop() -> str:
    world = use(Deafness)
    world.begin()
    if step.attempt == 1:
        try:
            await world.opened.wait()
        except asyncio.CancelledError:
            await world.opened.wait()
    return f"attempt {step.attempt}"


@step(timeout=MINUTE, retry=TWICE)
def deaf_in_a_thread() -> str:
    world = use(Deafness)
    world.begin()
    if step.attempt == 1:
        world.open.wait(30)
    return f"attempt {step.attempt}"


DEAF: dict[str, Any] = {"loop": deaf_on_the_loop, "thread": deaf_in_a_thread}


@flow(id="deaf-{kind}")
async def calls_the_deaf(kind: str) -> str:
    result: str = await DEAF[kind]()
    return result


async def incidents(harness: Harness, run_id: str) -> list[Incident]:
    return list((await harness.app.detail(run_id)).incidents)


@pytest.mark.allow_blocking
@pytest.mark.parametrize("kind", DEAF)
async def test_a_step_that_does_not_listen_is_left_behind_and_tried_again(kind: str) -> None:
    """Its run goes on without it; what it still returns is dropped, and somebody can read that it was."""
    world = Deafness()
    async with Harness(calls_the_deaf, ports=world) as harness:
        run = await harness.start(calls_the_deaf, kind)
        assert await world.begun.get() == 1
        harness.clock.advance(MINUTE)
        result = await run.result()
        left = [incident.name for incident in await incidents(harness, run.id)]
        world.let_go()
        while len(found := await incidents(harness, run.id)) < 2:
            await asyncio.to_thread(lambda: None)

        assert result == "attempt 2"
        assert left == ["step.left_behind"]
        assert [incident.name for incident in found] == ["step.left_behind", "step.late_result"]
        assert [entry.attempt for entry in harness.history(run)] == [2]


@flow(id="in-a-process")
async def calls_a_process() -> int:
    return await listen_at_the_second_attempt()


@pytest.mark.slow
async def test_the_time_limit_of_a_step_in_a_process_reaches_it() -> None:
    """It is asked to stop, its process goes on with the next attempt, and its run has the result of that one."""
    async with Harness(calls_a_process) as harness:
        run = await harness.start(calls_a_process)
        while harness.app.engine.doing(run.id) != "step 'listen_at_the_second_attempt', attempt 1":
            await asyncio.to_thread(lambda: None)
        harness.clock.advance(MINUTE)

        assert await run.result() == 2


@step(timeout=MINUTE, retry=Retry(attempts=3, first=0))
async def always_late() -> None:
    use(Deafness).begin()
    await asyncio.Event().wait()


@flow(id="always-late")
async def calls_always_late() -> None:
    await always_late()


async def test_each_attempt_has_its_own_time_limit() -> None:
    """A step that hangs at its second attempt must not hang its run."""
    world = Deafness()
    async with Harness(calls_always_late, ports=world) as harness:
        run = await harness.start(calls_always_late)
        for attempt in (1, 2, 3):
            assert await world.begun.get() == attempt
            harness.clock.advance(MINUTE)
        with pytest.raises(RunFailed, match="StepTimedOut"):
            await run.result()

        assert harness.elapsed == 3 * MINUTE
