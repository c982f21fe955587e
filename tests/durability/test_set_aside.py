"""A run that is taken out of the middle of something: what it has begun goes on, and what it has not begun is not begun."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from headrace import flow, step, use
from headrace.errors import RunCancelled
from headrace.testing import Harness, faults


@step(at_most_once=True)
async def only_once() -> str:
    use(Counter)["only once"] += 1
    return "once"


@flow(id="known")
async def known() -> str:
    return "known"


@flow(id="unknown")
async def unknown() -> str:
    return "unknown"


@flow(id="parent")
async def parent() -> list[str]:
    return list(await asyncio.gather(known(), unknown()))


@flow(id="cautious")
async def cautious() -> list[str]:
    return list(await asyncio.gather(unknown(), only_once()))


async def test_a_child_begun_just_before_its_parent_is_set_aside_runs() -> None:
    """It is on disk and says that it is running; without its parent in memory nobody would do it."""
    async with Harness(parent, known) as harness:
        run = await harness.start(parent)
        await harness.settle()

        assert (await run.view()).state == "blocked"
        assert await harness.app.handle("known").result() == "known"


async def test_nothing_more_of_a_run_is_begun_once_it_is_set_aside(tmp_path: Path) -> None:
    """At each restart another trace of what was never done, such as the mark of a step that may run only once."""
    counted: Counter[str] = Counter()
    async with Harness(cautious, store=tmp_path / "kept.db", ports=counted) as harness:
        run = await harness.start(cautious)
        await harness.settle()
        await harness.restart()
        await harness.settle()
        assert (await run.view()).state == "blocked"
    async with Harness(cautious, unknown, store=tmp_path / "kept.db", ports=counted) as harness:
        assert await harness.app.handle("cautious").result() == ["unknown", "once"]

    assert counted == {"only once": 1}


@flow(id="calls-known")
async def calls_known() -> str:
    return await known()


async def test_a_child_begun_while_its_parent_is_ended_by_force_runs() -> None:
    """The parent is out of memory before it learns that its child is on disk."""
    async with Harness(calls_known, known) as harness:

        def end_the_parent(point: str, _about: object) -> None:
            if point == "child.before":
                with suppress(StopIteration):
                    ending = harness.app.engine.cancel("calls-known", force=True)
                    ending.send(None)  # handed over now, ahead of the child
                    ending.close()

        faults.watch(end_the_parent)
        run = await harness.start(calls_known)
        with pytest.raises(RunCancelled):
            await run.result()
        faults.unwatch(end_the_parent)

        assert await harness.app.handle("known").result() == "known"
