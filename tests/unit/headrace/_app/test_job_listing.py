"""Lists of jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from headrace import Lifecycle, Pipeline
from headrace._app import job_listing
from headrace._app.job_listing import JobFilter, JobList, list_of_jobs
from headrace._store.connection import open_for_writing
from headrace._store.migrate import migrate
from headrace._store.statements import load
from headrace.testing import Harness

doors: Lifecycle[Any] = Lifecycle(
    "door", moves=[("door.opened", None, "open"), ("door.closed", "open", "shut")], terminal=["shut"]
)
lamps: Lifecycle[Any] = Lifecycle(
    "lamp", moves=[("lamp.lit", None, "open"), ("lamp.broke", "open", "broken")], terminal=["broken"]
)


@pytest.fixture
async def house() -> AsyncIterator[Harness]:
    async with Harness(Pipeline("house", lifecycles=[doors, lamps])) as running:
        for number in range(1, 6):
            await running.publish("door.opened", subject=f"door-{number}")
        await running.publish("lamp.lit", subject="door-3")
        await running.publish("door.closed", subject="door-2")
        yield running


def look(house: Harness, before: int | None = None, count: int = 50, **wanted: Any) -> JobList:
    return house.app.database.read(
        lambda reader: list_of_jobs(reader, JobFilter(**wanted), declared=("door", "lamp"), before=before, count=count)
    )


def names(found: JobList) -> list[str]:
    return [f"{job.lifecycle}/{job.id}" for job in found.jobs]


@pytest.mark.parametrize(
    "wanted,expected",
    [
        ({}, ["door/door-2", "lamp/door-3", "door/door-5", "door/door-4", "door/door-3", "door/door-1"]),
        ({"lifecycle": "lamp"}, ["lamp/door-3"]),
        ({"lifecycle": "door", "state": "shut"}, ["door/door-2"]),
        ({"state": "open"}, ["lamp/door-3", "door/door-5", "door/door-4", "door/door-3", "door/door-1"]),
        ({"state": "open", "text": "3"}, ["lamp/door-3", "door/door-3"]),
        ({"text": "DOOR-5"}, ["door/door-5"]),
        ({"lifecycle": "gone"}, []),
    ],
)
async def test_a_filter_lets_through_what_fits(house: Harness, wanted: dict[str, Any], expected: list[str]) -> None:
    """Whichever index answers, the answer is the same."""
    assert names(look(house, **wanted)) == expected


@pytest.mark.parametrize("wanted", [{}, {"lifecycle": "door"}, {"state": "open"}, {"text": "door"}])
async def test_pages_follow_each_other_without_a_gap(house: Harness, wanted: dict[str, Any]) -> None:
    """A job that falls between two pages is a job that nobody finds."""
    whole = names(look(house, **wanted))

    found, before = [], None
    for _ in range(20):
        page = look(house, before=before, count=2, **wanted)
        found += names(page)
        before = page.next
        if before is None:
            break

    assert found == whole


async def test_states_are_counted_whatever_the_filter_of_states(house: Harness) -> None:
    """How many is asked before which."""
    assert look(house, state="shut").counts == {"door": {"open": 4, "shut": 1}, "lamp": {"open": 1}}
    assert look(house, lifecycle="lamp").counts == {"lamp": {"open": 1}}


async def test_a_whole_id_is_found_however_old(house: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who types a whole id knows what is meant."""
    monkeypatch.setattr(job_listing, "REACH", 2)
    found = look(house, text="door-1")

    assert (names(found), found.unfinished) == (["door/door-1"], True)


LISTING = load("headrace._jobs", "listing.sql")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    made = open_for_writing(tmp_path / "planned.db", mode="test")
    migrate(made, tmp_path / "planned.db")
    yield made
    made.close()


@pytest.mark.parametrize("name", list(LISTING))
def test_no_list_reads_the_whole_table(connection: apsw.Connection, name: str) -> None:
    """With a hundred thousand rows it would take the time of all of them."""
    numbers = ("before", "floor", "count", "reach", "after", "applied", "pos", "limit")
    words = dict.fromkeys(numbers, 1) | dict.fromkeys(
        ("kind", "subject", "topic", "part", "subscription", "state", "lifecycle"), "x"
    )
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {LISTING[name].sql}", words)]

    scans = [step for step in plan if step.startswith(("SCAN jobs",)) and "INDEX" not in step]
    assert scans == []
    assert [step for step in plan if "ORDER BY" in step and "TEMP" in step] == []
