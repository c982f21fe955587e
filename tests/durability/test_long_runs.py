"""Runs that go on for very long: told in time, stopped at the limit without a loss, and endless when they start afresh."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from headrace import RunRef, continue_as_new, flow, step, use
from headrace._app.app import Headrace
from headrace._engine.engine import Limits
from headrace.testing import Harness

TIGHT = Limits(history_warning=10, history=30)
ROOMY = Limits(history_warning=10, history=1_000)


@step
async def count(number: int) -> int:
    use(Counter)[step.key] += 1
    return number


@flow(id="adds")
async def adds(rounds: int) -> int:
    total = 0
    for _ in range(rounds):
        total += sum(await asyncio.gather(count(1), count(1), count(1), count(1)))
    return total


@flow(id="endless")
async def endless(rounds: int, total: int = 0) -> int:
    total += await count(1)
    if rounds > 1:
        continue_as_new(rounds - 1, total)
    return total


async def reported(app: Headrace, run_id: str) -> list[str]:
    return [incident.name for incident in (await app.detail(run_id)).incidents]


async def test_a_run_with_too_many_rows_is_told_once_and_then_blocked(tmp_path: Path) -> None:
    """A flow that forgot to start afresh would grow until its replay takes minutes; ending it would lose its work."""
    counted: Counter[str] = Counter()
    async with Harness(adds, store=tmp_path / "kept.db", ports=counted, limits=TIGHT) as harness:
        run = await harness.start(adds, 20)
        await harness.settle()
        for _ in range(2):
            assert (await run.view()).state == "blocked"
            assert "continue_as_new" in (await run.view()).reason
            await harness.restart()
            await harness.settle()

        assert await reported(harness.app, "adds") == ["run.history_large"]
        assert len(counted) == 32  # eight rounds, and no further one begun at any restart

    async with Harness(adds, store=tmp_path / "kept.db", ports=counted, limits=ROOMY) as harness:
        assert await harness.app.handle("adds").result() == 80

    assert set(counted.values()) == {1}


async def test_a_run_that_starts_afresh_goes_on_for_ever_in_the_same_memory() -> None:
    """A service that has run for a year must be restarted as quickly as on its first day."""
    async with Harness(endless, ports=Counter[str](), limits=TIGHT) as harness:
        assert await harness.run(endless, 500) == 500

        assert (await harness.app.get("endless")).number == 500
        assert max(len(harness.history(RunRef(view.id, view.number))) for view in harness.runs()) == 1
        assert harness.app.engine._memory.residents == {}
