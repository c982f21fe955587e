"""Runs that harm the process they run in are set aside, and only they."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from headrace import flow, receive
from headrace.testing import Harness
from tests.durability.cpu_steps import die_once_then_fail_once, die_until_mended


@flow(id="deadly")
async def deadly(folder: str) -> str:
    return await die_until_mended(folder)


@flow(id="shaken")
async def shaken(folder: str) -> int:
    return await die_once_then_fail_once(folder)


@flow(id="innocent")
async def innocent() -> str:
    return await receive("go", str)


def deaths(folder: Path) -> list[str]:
    return (folder / "deaths").read_text().splitlines()


@pytest.mark.slow
async def test_a_step_that_kills_three_processes_puts_its_run_in_quarantine(tmp_path: Path) -> None:
    """Otherwise it kills one process after the other, and at each start begins with the next one."""
    async with Harness(deadly, innocent) as harness:
        run = await harness.start(deadly, str(tmp_path))
        await harness.settle()
        view = await run.view()
        assert (view.state, deaths(tmp_path)) == ("quarantined", ["1", "2", "3"])
        assert "die_until_mended" in view.reason

        await harness.crash()
        await harness.settle()
        assert deaths(tmp_path) == ["1", "2", "3"]

        (tmp_path / "mended").touch()
        await harness.app.retry(run)
        assert await run.result() == "well"


@pytest.mark.slow
async def test_deaths_survive_a_restart_and_are_counted_together(tmp_path: Path) -> None:
    """A process that dies with its workers would start counting again each time."""
    async with Harness(deadly) as harness:
        harness.crash_once(at="retry.after", nth=2)
        run = await harness.start(deadly, str(tmp_path))
        while (await run.view()).state != "quarantined":
            await harness.settle()

        assert harness.crashes == 1
        assert deaths(tmp_path) == ["1", "2", "3"]


@pytest.mark.slow
async def test_the_death_of_a_process_is_no_failure_of_the_step(tmp_path: Path) -> None:
    """A machine short of memory kills what it likes; the step keeps both attempts that its policy gives it."""
    async with Harness(shaken) as harness:
        assert await harness.run(shaken, str(tmp_path)) == 3

    assert deaths(tmp_path) == ["1", "2", "3"]


async def test_a_flow_that_never_yields_is_set_aside_at_the_next_start() -> None:
    """Whoever kills the process because it answers nothing any more must not find the next one in the same loop."""
    async with Harness(innocent) as harness:
        run = await harness.start(innocent)
        await harness.settle()
        resident = harness.app.engine._memory.by_id[run.id]
        watchdog = threading.Thread(target=harness.app.engine._runner._never_yields, args=[resident, "its stack"])
        watchdog.start()
        await asyncio.to_thread(watchdog.join)
        await harness.app.database.write(lambda tx: None)
        await harness.crash()
        await harness.settle()

        view = await run.view()
        assert view.state == "quarantined"
        assert "its stack" in view.reason
        await harness.send(run, "stop", "please")
        await harness.settle()
        assert (await run.view()).state == "quarantined"
        await harness.app.retry(run)
        await harness.send(run, "go", "on")
        assert await run.result() == "on"


async def test_a_flow_that_yields_after_all_is_left_in_peace() -> None:
    """It was reported and came back: the file must not go on saying that it is in quarantine."""
    async with Harness(innocent) as harness:
        run = await harness.start(innocent)
        await harness.settle()
        runner = harness.app.engine._runner
        resident = harness.app.engine._memory.by_id[run.id]
        runner._watchdog.enter(resident)
        runner._watchdog._warned = runner._watchdog._reported = True
        await asyncio.to_thread(runner._never_yields, resident, "its stack")
        runner._step(resident)
        await harness.settle()

        assert (await run.view()).state == "waiting"
        await harness.send(run, "go", "on")
        assert await run.result() == "on"
