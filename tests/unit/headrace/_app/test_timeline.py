"""What a run did, in rows."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from headrace import Retry, flow, receive, send, sleep, start, step
from headrace._app.timeline import Timeline, command_of, timeline_of
from headrace.testing import Harness


@step
async def work(seconds: float) -> float:
    await sleep(timedelta(seconds=seconds))
    return seconds


@step(retry=Retry(attempts=3, first=10, factor=1))
async def shaky(fails: int) -> str:
    await sleep(timedelta(seconds=1))
    if step.attempt <= fails:
        raise OSError(f"no answer {step.attempt}")
    return "done"


@flow(id="child-{seconds}")
async def child(seconds: float) -> float:
    return await work(seconds)


@flow(id="story")
async def story() -> str:
    await asyncio.gather(work(2), sleep(timedelta(seconds=5)))
    await shaky(2)
    await child(4)
    await start(child, 7)
    await send("listener", "hello", 1)
    return "told"


@flow(id="listener")
async def listener() -> object:
    return await receive("hello")


@flow(id="hopeless")
async def hopeless() -> None:
    await shaky(9)


@flow(id="waits")
async def waits() -> None:
    async with asyncio.timeout(60):
        await asyncio.gather(receive("never"), work(1000), shaky(9), child(500))


def seconds(timeline: Timeline) -> list[tuple[Any, ...]]:
    """Each row with the seconds at which its spans begin and end."""
    zero = timeline.run.created_at
    return [
        (row.kind, row.name, row.how, *(
            (round((span.started_at - zero).total_seconds(), 3), None if span.ended_at is None else round((span.ended_at - zero).total_seconds(), 3), span.how)
            for span in row.spans
        ))
        for row in timeline.rows
    ]  # fmt: skip


def shown(harness: Harness, run_id: str, **more: Any) -> Timeline:
    under_way = harness.app.engine.under_way(run_id)
    return harness.app.database.read(lambda reader: timeline_of(reader, run_id, under_way=under_way, **more))


async def test_each_row_says_when_it_began_and_ended() -> None:
    """A timer or a child that seems to take no time explains nothing."""
    async with Harness(story, child, listener) as harness:
        await harness.start(listener)
        await harness.run(story)

        told = seconds(shown(harness, "story"))

    assert told == [
        ("step", "work", "ok", (0, 2, "ok")),
        ("timer", "", "ok", (0, 5, "ok")),
        ("step", "shaky", "ok", (5, 6, "failed"), (6, 16, "waiting"), (16, 17, "failed"), (17, 27, "waiting"), (27, 28, "ok")),
        ("child", "child", "ok", (28, 32, "ok")),
        ("start", "child", "ok", (32, 32, "ok")),
        ("send", "hello", "ok", (32, 32, "ok")),
    ]  # fmt: skip


async def test_children_are_named() -> None:
    """From the bar to the run behind it."""
    async with Harness(story, child, listener) as harness:
        await harness.start(listener)
        await harness.run(story)

        rows = shown(harness, "story").rows

    assert [(row.target, row.target_number) for row in rows if row.target] == [("child-4.0", 1), ("child-7.0", 1)]


async def test_the_attempt_that_ended_a_step_is_there_once() -> None:
    """It stands in the journal and may stand among the failed ones."""
    async with Harness(hopeless) as harness:
        run = await harness.start(hopeless)
        with pytest.raises(Exception, match="no answer"):
            await run.result()

        (row,) = shown(harness, "hopeless").rows
        detail = harness.app.database.read(lambda reader: command_of(reader, "hopeless", None, 0))

    assert [span.attempt for span in row.spans if not span.is_wait] == [1, 2, 3]
    assert (row.how, row.tries) == ("failed", 3)
    assert [failure.attempt for failure in detail.failures] == [1, 2]
    assert detail.entry is not None
    assert detail.entry.error is not None


async def test_what_is_under_way_is_there_too() -> None:
    """The journal knows only what is over."""
    async with Harness(waits, child, replay_check=False) as harness:
        await harness.start(waits)
        await harness.advance(timedelta(seconds=3))

        told = seconds(shown(harness, "waits"))

    assert told == [
        ("timer", "", "waiting", (0, None, "waiting")),
        ("receive", "never", "waiting", (0, None, "waiting")),
        ("step", "work", "running", (0, None, "running")),
        ("step", "shaky", "waiting", (0, 1, "failed"), (1, None, "waiting")),
        ("child", "child", "waiting", (0, None, "waiting")),
    ]


async def test_of_a_run_on_disk_the_file_tells_what_it_can() -> None:
    """A reader without an engine, or a run that rests outside of memory."""
    async with Harness(waits, child, replay_check=False) as harness:
        await harness.start(waits)
        await harness.advance(timedelta(seconds=3))

        told = harness.app.database.read(lambda reader: timeline_of(reader, "waits"))

    assert [(row.kind, row.name, row.how) for row in told.rows] == [
        ("step", "shaky", "waiting"),
        ("child", "child", "waiting"),
    ] or {row.kind for row in told.rows} == {"step", "child"}


async def test_a_long_story_comes_in_parts() -> None:
    """A journal may have fifty thousand rows."""
    async with Harness(story, child, listener) as harness:
        await harness.start(listener)
        await harness.run(story)
        whole = shown(harness, "story")

        last = shown(harness, "story", count=3)
        first = shown(harness, "story", after=last.earlier, count=3)

    assert whole.length == 7
    assert (last.earlier, last.later) == (1, None)
    assert first.later == 4
    assert len(first.rows) + len(last.rows) >= 5
