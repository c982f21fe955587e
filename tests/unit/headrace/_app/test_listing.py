"""Lists of runs, asked of the file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from headrace import Headrace, Pipeline, flow, receive, sleep, start
from headrace._app import listing
from headrace._app.listing import (
    RunFilter,
    counts_of,
    due_next,
    failures_since,
    general_reason,
    list_of_runs,
    newest_in,
    waiting_groups,
)
from headrace._base.clock import from_datetime
from headrace._runs.model import RunState
from headrace._store.connection import open_for_writing
from headrace._store.location import Location
from headrace._store.migrate import migrate
from headrace._store.statements import load

LISTING = load("headrace._runs", "listing.sql")


@flow(id="quick-{number}")
async def quick(number: int) -> int:
    return number


@flow(id="bad-{number}")
async def bad(number: int) -> None:
    raise ValueError("no")


@flow(id="mail-{who}")
async def mail(who: str) -> str:
    return await receive("letter", str)


@flow(id="nap-{number}")
async def nap(number: int) -> None:
    await sleep(timedelta(days=number))


@flow(id="above-{number}")
async def above(number: int) -> None:
    await start(nap, number)
    await nap(number)


PIPELINE = Pipeline("listed", flows=[quick, bad, mail, nap, above])


@pytest.fixture
async def app(each_place: Location) -> AsyncIterator[Headrace]:
    async with Headrace([PIPELINE], store=each_place) as running:
        for number in range(4):
            await running.run(quick, number)
            run = await running.start(bad, number)
            await running.engine.wait(run.id, run.number)
            await running.start(mail, f"{number}%_!")
        while running.counts().get("waiting", 0) < 4:
            await running.database.write(lambda tx: None)
        yield running


def ids(app: Headrace, *, before: int | None = None, count: int = 50, **wanted: object) -> list[str]:
    chosen = RunFilter(**wanted)  # type: ignore[arg-type]  # as the test says it
    found = app.database.read(lambda reader: list_of_runs(reader, chosen, before=before, count=count))
    return [run.id for run in found.runs]


async def test_filters_agree_with_each_other(app: Headrace) -> None:
    """Each is answered in its own way, by an index or by looking; the answers must fit together."""
    assert (
        ids(app, state=RunState.FAILED)
        == ids(app, flow="listed.bad")
        == ids(app, text="BAD")
        == ["bad-3", "bad-2", "bad-1", "bad-0"]
    )
    assert ids(app, state=RunState.FAILED, flow="listed.bad", text="2") == ["bad-2"]
    assert ids(app, state=RunState.FAILED, flow="listed.quick") == []
    assert ids(app, state=RunState.WAITING) == ids(app, text="letter") == ids(app, flow="listed.mail")
    assert ids(app, state=RunState.WAITING, flow="listed.bad") == []
    assert len(ids(app)) == 12


async def test_text_is_taken_as_it_is(app: Headrace) -> None:
    """Percent and underscore are wild cards in SQL, and letters to people."""
    assert ids(app, text="1%_!") == ["mail-1%_!"]
    assert ids(app, text="_1") == []


async def test_pages_follow_each_other_without_gap(app: Headrace) -> None:
    """New runs come while somebody pages."""
    seen: list[str] = []
    before: int | None = None
    while True:
        page = app.database.read(lambda reader: list_of_runs(reader, RunFilter(), before=before, count=5))  # noqa: B023
        seen += [run.id for run in page.runs]
        before = page.next
        if before is None:
            break

    assert seen == ids(app)


async def test_a_long_search_says_that_it_is_not_finished(app: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """'No run fits' would be a lie."""
    monkeypatch.setattr(listing, "REACH", 5)

    first = app.database.read(lambda reader: list_of_runs(reader, RunFilter(text="bad-0")))
    assert (first.unfinished, [run.id for run in first.runs]) == (True, ["bad-0"])  # a whole id is found at once

    part = app.database.read(lambda reader: list_of_runs(reader, RunFilter(text="ad-0")))
    assert (part.unfinished, part.runs) == (True, ())
    found: list[str] = []
    while part.next is not None:
        part = app.database.read(lambda reader: list_of_runs(reader, RunFilter(text="ad-0"), before=part.next))  # noqa: B023
        found += [run.id for run in part.runs]
    assert (part.unfinished, found) == (False, ["bad-0"])


async def test_counts_are_of_all_runs_of_the_flow(app: Headrace) -> None:
    """The page shows 50, and says how many there are."""
    assert app.database.read(counts_of) == {"completed": 4, "failed": 4, "waiting": 4}
    assert app.database.read(lambda reader: counts_of(reader, "listed.mail")) == {"waiting": 4}


async def test_runs_that_wait_for_the_same_are_one_line(app: Headrace) -> None:
    """A thousand lines that say the same hide the one that does not."""
    for number in (1, 2):
        await app.start(above, number)
    while app.counts().get("waiting", 0) < 8:
        await app.database.write(lambda tx: None)

    groups = app.database.read(waiting_groups)

    assert [(one.flow, one.reason, one.count) for one in groups] == [
        ("listed.mail", "message 'letter'", 4),
        ("listed.above", "child run", 2),
        ("listed.nap", "timer", 2),
    ]
    assert groups[0].location.endswith(f"test_listing.py:{mail.fn.__code__.co_firstlineno + 2}")


@pytest.mark.parametrize(
    "reason,general",
    [
        ("timer", "timer"),
        ("run 'a-1', run 'a-2'", "child run"),
        ("retry of step 'x', attempt 3", "retry of step 'x'"),
        ("timer, message 'a', run 'b'", "timer, message 'a', child run"),
        ("", ""),
    ],
)
def test_reasons_lose_what_differs_in_each_run(reason: str, general: str) -> None:
    """Otherwise every run would be a group of its own."""
    assert general_reason(reason) == general


async def test_failures_are_of_a_stretch_of_time(app: Headrace) -> None:
    """Yesterday's failures are known."""
    now = from_datetime(app.now())

    recent = app.database.read(lambda reader: failures_since(reader, now, timedelta(hours=1), 3))
    later = app.database.read(lambda reader: failures_since(reader, now + 7_200_000_000, timedelta(hours=1), 3))

    assert (recent.count, [run.id for run in recent.latest]) == (4, ["bad-3", "bad-2", "bad-1"])
    assert (later.count, later.latest) == (0, ())


async def test_what_is_due_and_what_is_newest(app: Headrace) -> None:
    """The two ends of a queue."""
    for number in (3, 1, 2):
        await app.start(nap, number)
    while app.counts().get("waiting", 0) < 7:
        await app.database.write(lambda tx: None)

    found = app.database.read(lambda reader: due_next(reader, 2))
    assert [run.id for run in found] == ["nap-1", "nap-2"]
    newest = app.database.read(lambda reader: newest_in(reader, RunState.WAITING, 1))
    assert [run.id for run in newest] == ["nap-2"]


@pytest.fixture
def connection(tmp_path: Path) -> apsw.Connection:
    made = open_for_writing(tmp_path / "planned.db", mode="test")
    migrate(made, tmp_path / "planned.db")
    return made


@pytest.mark.parametrize("name", list(LISTING))
def test_no_list_reads_the_whole_table(connection: apsw.Connection, name: str) -> None:
    """With a hundred thousand runs it would take the time of all of them."""
    words = dict.fromkeys(("before", "floor", "count", "reach", "since", "pk"), 1) | dict.fromkeys(
        ("flow", "state", "pattern", "id"), "x"
    )
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {LISTING[name].sql}", words)]
    connection.close()

    assert [step for step in plan if step.startswith("SCAN runs") and "INDEX" not in step] == []
    assert [step for step in plan if "ORDER BY" in step and "TEMP" in step] == [] or name == "failed_since"
