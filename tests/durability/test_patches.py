"""A patch that is crossed just before a death; what edits of the code do otherwise stands in the corpus of code edits."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from headrace import flow, patched, sleep, step
from headrace.testing import Harness
from tests.durability.one_transaction import gather_what_comes

MINUTE = timedelta(minutes=1)


@step
async def work(text: str) -> str:
    return text


@flow(id="two-branches")
async def two_branches() -> list[str]:
    async def modern() -> str:
        await sleep(MINUTE)
        return await work("new way" if patched("modern") else "old way")

    async def plain() -> str:
        await sleep(MINUTE)
        return await work("plain")

    return list(await asyncio.gather(modern(), plain()))


@pytest.mark.allow_blocking
async def test_a_run_of_the_newest_code_goes_the_new_way_after_a_death() -> None:
    """Two timers are on disk, one leads to the patch and the other to nothing; a row that is left is no sign of old code."""
    async with Harness(two_branches, replay_prefixes=True) as harness:

        def die_with_both_timers() -> None:
            gather_what_comes(harness)
            harness.crash_once(at_commit=2)

        harness.clock.call_after(MINUTE, die_with_both_timers)

        assert await harness.run(two_branches) == ["new way", "plain"]
        assert harness.crashes == 1
