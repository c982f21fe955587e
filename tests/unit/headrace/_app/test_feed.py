"""``app.changes()``."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from headrace import Headrace, Pipeline, flow, sleep
from headrace._app.feed import RunChanges


@flow(id="nap-{number}")
async def nap(number: int, seconds: float = 0.05) -> None:
    await sleep(timedelta(seconds=seconds))


PIPELINE = Pipeline("feed", flows=[nap])


async def test_the_states_of_a_run_are_told(tmp_path: Path) -> None:
    """In order, and the last one always."""
    async with Headrace([PIPELINE], store=tmp_path / "a.db") as app:
        feed = app.changes()
        await app.start(nap, 1, 0.5)
        seen: list[str] = []
        async for changed in feed:
            seen += [run.state for run in changed.runs]
            if "completed" in seen:
                break
        feed.close()

    assert seen[-1] == "completed"
    assert "waiting" in seen


async def test_many_changes_are_few_batches(tmp_path: Path) -> None:
    """A thousand runs that end in a moment must not be a thousand reads."""
    batches: list[RunChanges] = []
    async with Headrace([PIPELINE], store=tmp_path / "a.db") as app:
        feed = app.changes()
        runs = [await app.start(nap, number, 0) for number in range(150)]
        for run in runs:
            await run.result()
        ended = 0
        async for changed in feed:
            batches.append(changed)
            ended += sum(not run.is_open for run in changed.runs)
            if ended == 150:
                break
        feed.close()

    assert len(batches) < 20
    assert batches[-1].position is not None
    assert not any(batch.missed for batch in batches)


async def test_it_ends_with_the_engine(tmp_path: Path) -> None:
    """Who listens must not wait for ever for what stands still."""
    async with Headrace([PIPELINE], store=tmp_path / "a.db") as app:
        feed = app.changes()

    assert [changed async for changed in feed] == []


async def test_a_feed_that_was_closed_ends(tmp_path: Path) -> None:
    """Also for somebody else who waits on it."""
    async with Headrace([PIPELINE], store=tmp_path / "a.db") as app:
        feed = app.changes()
        feed.close()

        assert [changed async for changed in feed] == []
