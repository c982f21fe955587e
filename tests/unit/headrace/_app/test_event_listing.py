"""Lists of events: what fits, in pages, and not more work than there is for one page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from headrace import Lifecycle, Pipeline
from headrace._app import event_listing
from headrace._app.event_listing import EventFilter, EventList, list_of_events, topics_in
from headrace._store.connection import open_for_writing
from headrace._store.migrate import migrate
from headrace._store.statements import load
from headrace.errors import ValueRefused
from headrace.testing import Harness

doors: Lifecycle[Any] = Lifecycle(
    "door", moves=[("door.opened", None, "open"), ("door.closed", "open", "shut")], terminal=["shut"]
)


@pytest.fixture
async def house() -> AsyncIterator[Harness]:
    async with Harness(Pipeline("house", lifecycles=[doors])) as running:
        for number in range(1, 7):
            await running.publish("bell.rung", {"times": number}, subject=f"bell-{number}")
        await running.publish("door.closed", subject="front")
        await running.publish("door.opened", subject="front")
        await running.publish("door.closed", subject="front")
        await running.publish("bell.rung.twice", subject="front")
        yield running


def look(house: Harness, before: int | None = None, count: int = 50, **wanted: Any) -> EventList:
    return house.app.database.read(
        lambda reader: list_of_events(reader, EventFilter(**wanted), before=before, count=count)
    )


def positions(found: EventList) -> list[int]:
    return [event.position for event in found.events]


@pytest.mark.parametrize(
    "wanted,expected",
    [
        ({}, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
        ({"topic": "bell.rung"}, [6, 5, 4, 3, 2, 1]),
        ({"topic": "bell.*"}, [6, 5, 4, 3, 2, 1]),
        ({"topic": "bell.#"}, [10, 6, 5, 4, 3, 2, 1]),
        ({"topic": "nothing.#"}, []),
        ({"subject": "front"}, [10, 9, 8, 7]),
        ({"subject": "front", "job": "door"}, [9, 8, 7]),
        ({"subject": "front", "topic": "door.closed"}, [9, 7]),
        ({"subject": "BELL-"}, [6, 5, 4, 3, 2, 1]),
        ({"subject": "bell-3", "topic": "door.#"}, []),
        ({"job": "door"}, [9, 8, 7]),
        ({"applied": False}, [7]),
        ({"applied": True, "topic": "door.*"}, [9, 8]),
        ({"where": "data.times > 4"}, [6, 5]),
        ({"where": "topic == 'door.closed' and not applied"}, [7]),
    ],
)
async def test_a_filter_lets_through_what_fits(house: Harness, wanted: dict[str, Any], expected: list[int]) -> None:
    """Whichever index answers, the answer is the same."""
    assert positions(look(house, **wanted)) == expected


@pytest.mark.parametrize(
    "wanted", [{}, {"topic": "#"}, {"topic": "bell.#"}, {"where": "position > 0"}, {"subject": "-"}]
)
async def test_pages_follow_each_other_without_a_gap(house: Harness, wanted: dict[str, Any]) -> None:
    """An event that falls between two pages is an event that nobody finds."""
    whole = positions(look(house, **wanted))

    found, before = [], None
    for _ in range(20):
        page = look(house, before=before, count=2, **wanted)
        found += positions(page)
        before = page.next
        if before is None:
            break

    assert found == whole


async def test_a_search_ends_before_it_has_looked_at_everything(
    house: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rare filter on a long log would hold the page for seconds; it goes on where it stopped."""
    monkeypatch.setattr(event_listing, "REACH", 4)
    first = look(house, subject="bell-")
    second = look(house, before=first.next, subject="bell-")

    assert (positions(first), first.unfinished) == ([6], True)
    assert positions(second) == [5, 4, 3, 2, 1]


async def test_an_expression_is_asked_of_so_many_events(house: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has to be read and decoded for it."""
    monkeypatch.setattr(event_listing, "READ", 5)
    first = look(house, where="data.times < 3")
    second = look(house, before=first.next, where="data.times < 3")

    assert (positions(first), first.unfinished) == ([], True)
    assert (positions(second), second.next) == ([2, 1], None)


async def test_patterns_of_many_topics_are_searched_in_the_log(house: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question for each of a thousand topics would take longer than looking."""
    monkeypatch.setattr(event_listing, "_MOST_TOPICS", 1)

    assert positions(look(house, topic="bell.#")) == [10, 6, 5, 4, 3, 2, 1]


async def test_a_whole_subject_is_told_from_a_part(house: Harness) -> None:
    """The page offers the history of a whole one."""
    assert look(house, subject="front").whole
    assert not look(house, subject="ront").whole


@pytest.mark.parametrize("wanted", [{"topic": "a b"}, {"where": "data.x ="}, {"where": "nobody == 1"}])
async def test_what_cannot_be_a_filter_is_refused(house: Harness, wanted: dict[str, Any]) -> None:
    """An empty list would look like an answer."""
    with pytest.raises(ValueRefused):
        look(house, **wanted)


async def test_topics_are_named(house: Harness) -> None:
    """For whoever fills in the filter."""
    assert house.app.database.read(topics_in) == ("bell.rung", "bell.rung.twice", "door.closed", "door.opened")


LISTING = load("headrace._events", "listing.sql")
COUNTED = ("first_held", "count_held_some")
"""They read all that is held, which is little as a rule, without what is large in it."""


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

    scans = [
        step
        for step in plan
        if step.startswith(("SCAN events", "SCAN dead_letters", "SCAN held")) and "INDEX" not in step
    ]
    assert scans == [] or name in COUNTED or "USING PRIMARY KEY" in scans[0]
    assert [step for step in plan if "ORDER BY" in step and "TEMP" in step] == [] or name == "held_next"
