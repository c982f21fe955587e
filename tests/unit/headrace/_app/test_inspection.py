"""Questions about runs, asked of the file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import Headrace, Pipeline, Retry, continue_as_new, flow, patched, sleep, start, step
from headrace._app.inspection import detail_of, history_of, page_of_runs, result_of
from headrace.errors import FlowNotFound, RunNotFound


@step
async def double(number: int) -> int:
    return 2 * number


@step(retry=Retry(attempts=2, first=600))
async def failing() -> None:
    raise OSError("no answer")


@flow(id="child-{number}")
async def child(number: int) -> int:
    return await double(number)


@flow(id="parent-{number}")
async def parent(number: int) -> int:
    await start(child, 100 + number)
    return await child(number)


@flow(id="countdown")
async def countdown(number: int) -> str:
    if number:
        await continue_as_new(number - 1)
    return "done"


@flow(id="retrying")
async def retrying() -> None:
    await failing()


@flow(id="changed")
async def changed() -> bool:
    return patched("new way")


@flow(id="asleep#2")
async def asleep() -> None:
    await sleep(timedelta(days=1))


PIPELINE = Pipeline("asked", flows=[child, parent, countdown, retrying, changed, asleep])


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Headrace]:
    async with Headrace([PIPELINE], store=tmp_path / "asked.db") as running:
        yield running


async def test_relatives_are_named(app: Headrace) -> None:
    """What started a run, and what it started, is how a person finds the way."""
    await app.run(parent, 1)

    above = await app.detail("parent-1")
    below = await app.detail("child-1")

    assert [one.id for one in above.children] == ["child-101", "child-1"]
    assert below.parent is not None
    assert (below.parent.id, below.parent.flow) == ("parent-1", "asked.parent")


async def test_result_follows_what_continued_as_new(app: Headrace) -> None:
    """Who waits for the first run means the last one."""
    await app.run(countdown, 2)

    found = app.database.read(lambda reader: result_of(reader, "countdown", 1))

    assert (found.run.number, found.ended, found.result) == (3, True, "done")


async def test_number_after_the_id(app: Headrace) -> None:
    """`countdown#1` is what `runs ls` prints, so it must be understood; an id that looks so goes first."""
    await app.run(countdown, 1)
    await app.start(asleep)

    first = app.database.read(lambda reader: detail_of(reader, "countdown#1"))
    literal = app.database.read(lambda reader: detail_of(reader, "asleep#2"))

    assert (first.run.number, first.continued_as) == (1, 2)
    assert (literal.run.id, literal.run.number) == ("asleep#2", 1)
    with pytest.raises(RunNotFound):
        app.database.read(lambda reader: detail_of(reader, "countdown#9"))


async def test_history_comes_in_pages(app: Headrace) -> None:
    """A journal of fifty thousand rows does not fit one answer."""
    await app.run(parent, 2)

    whole = await app.history("parent-2")
    first = await app.history("parent-2", count=2)
    assert first.next is not None
    rest = app.database.read(lambda reader: history_of(reader, "parent-2", after=first.next or 0))

    assert first.entries + rest.entries == whole.entries
    assert rest.next is None
    assert [(entry.kind, entry.outcome) for entry in whole.entries] == [
        ("start", "ok"),
        ("child", "begun"),
        ("child", "ok"),
    ]


async def test_attempts_without_outcome_are_shown(app: Headrace) -> None:
    """The next attempt is in ten minutes; until then the failed ones are all there is to see."""
    await app.start(retrying)
    while not (attempts := (await app.detail("retrying")).retrying):
        await app.database.write(lambda tx: None)

    assert [(one.step, one.attempt, one.error.short) for one in attempts] == [("failing", 1, "OSError: no answer")]
    assert attempts[0].next_at is not None


async def test_what_is_no_completion_has_no_command(app: Headrace) -> None:
    """The row of a patch is nothing that the flow waits for."""
    await app.run(changed)

    (entry,) = (await app.history("changed")).entries

    assert (entry.kind, entry.name, entry.command, entry.outcome) == ("patch", "new way", None, "begun")


async def test_flow_may_be_named_in_short(app: Headrace) -> None:
    """Nobody types the pipeline where it is clear; a name that is unknown must not look like an empty list."""
    await app.run(child, 1)

    found = app.database.read(lambda reader: page_of_runs(reader, flow="child"))

    assert [run.id for run in found.runs] == ["child-1"]
    with pytest.raises(FlowNotFound, match=r"asked\.child"):
        app.database.read(lambda reader: page_of_runs(reader, flow="nope"))
