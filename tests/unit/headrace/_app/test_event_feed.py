"""Events followed from any position on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from headrace import Headrace, Lifecycle, Pipeline
from headrace._app import event_feed
from headrace._app.event_feed import EventBatch, EventFeed
from headrace._app.event_view import EventView
from headrace._ports.database import Reader
from headrace.errors import ValueRefused
from headrace.testing import Harness

tasks: Lifecycle[object] = Lifecycle(
    "task", moves=[("task.made", None, "open"), ("task.done", "open", "done")], terminal=["done"]
)
PIPELINE = Pipeline("work", lifecycles=[tasks])


@pytest.fixture
async def app() -> AsyncIterator[Headrace]:
    async with Harness(PIPELINE) as harness:
        yield harness.app


async def come(feed: EventFeed, count: int) -> list[object]:
    """The data of so many events."""
    found: list[object] = []
    while len(found) < count:
        found += [event.data for event in (await anext(feed)).events]
    return found


async def test_what_is_there_comes_before_what_comes(app: Headrace) -> None:
    """Between looking back and listening nothing may fall through."""
    for number in range(3):
        await app.publish("n", number, subject="a")
    feed = app.follow(after=1)
    found = await come(feed, 2)
    waiting = asyncio.ensure_future(come(feed, 2))
    await app.publish("n", 3, subject="a")
    await app.publish("n", 4, subject="a")

    assert found == [1, 2]
    assert await waiting == [3, 4]


async def test_by_default_it_begins_with_what_comes(app: Headrace) -> None:
    """Whoever opens the page of a store of years does not want the years."""
    await app.publish("n", 0, subject="a")
    feed = app.follow()
    await app.publish("n", 1, subject="a")  # before anybody has asked for anything

    assert await come(feed, 1) == [1]


@pytest.mark.parametrize(
    "filters,wanted",
    [
        ({"topic": "n.*"}, [1, 2]),
        ({"subject": "b"}, [2, 5]),
        ({"job": "task"}, [4, 5]),
        ({"job": "task", "subject": "b"}, [5]),
        ({"where": "data > 1"}, [2, 3, 4, 5]),
        ({"topic": "#", "where": 'subject == "a" and data in (1, 3)'}, [1, 3]),
    ],
)
async def test_filters_keep_to_what_is_wanted(app: Headrace, filters: dict[str, str], wanted: list[int]) -> None:
    """By topic, by what it is about, by what it says."""
    await app.publish("n.x", 1, subject="a")
    await app.publish("n.y", 2, subject="b")
    await app.publish("m", 3, subject="a")
    await app.publish("task.made", 4, subject=tasks.job("a"))
    await app.publish("task.made", 5, subject=tasks.job("b"))

    assert await come(app.follow(after=0, **filters), len(wanted)) == wanted


@pytest.mark.parametrize("filters", [{"topic": "a..b"}, {"where": "data +"}, {"where": "nobody == 1"}])
async def test_what_cannot_be_read_is_refused_at_once(app: Headrace, filters: dict[str, str]) -> None:
    """A filter that is passed over would answer a question that nobody has asked."""
    with pytest.raises(ValueRefused):
        app.follow(**filters)  # type: ignore[arg-type]  # all of them are texts


async def test_batches_are_bounded_by_number_and_by_size(app: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that is slow must not make the server hold the log in memory."""
    monkeypatch.setattr(event_feed, "_MOST_EVENTS", 3)
    monkeypatch.setattr(event_feed, "_MOST_BYTES", 1_000)
    for data in ("a", "b", "c", "d", "x" * 2_000, "e"):
        await app.publish("n", data, subject="a")
    feed = app.follow(after=0)
    batches = [await anext(feed) for _ in range(3)]

    assert [len(batch.events) for batch in batches] == [3, 2, 1]
    assert [batch.position for batch in batches] == [3, 5, 6]


async def test_positions_are_told_where_nothing_is_wanted(app: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of a rare topic that comes back must not go through the whole log again."""
    monkeypatch.setattr(event_feed, "_WORTH_TELLING", 5)
    for number in range(7):
        await app.publish("n", number, subject="a")

    assert await anext(app.follow("rare", after=0)) == EventBatch(events=(), position=7)


async def test_a_position_that_the_log_never_had_is_told(app: Headrace) -> None:
    """The store was replaced by an older copy: the reader knows events that are not there any more."""
    await app.publish("n", 0, subject="a")
    feed = app.follow(after=99)
    first = await anext(feed)
    await app.publish("n", 1, subject="a")

    assert first == EventBatch(events=(), position=1, missed=True)
    assert await come(feed, 1) == [1]


async def test_whoever_waits_asks_nothing(app: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred open streams must not keep the disk busy while nothing happens."""
    looks = 0
    look = EventFeed._look

    def counted(feed: EventFeed, reader: Reader) -> tuple[list[EventView], int]:
        nonlocal looks
        looks += 1
        return look(feed, reader)

    monkeypatch.setattr(EventFeed, "_look", counted)
    feed = app.follow()
    first = asyncio.ensure_future(anext(feed))
    await turn()
    await app.publish("n", 0, subject="a")
    await first
    waiting = asyncio.ensure_future(anext(feed))
    await turn()
    before = looks
    await turn()
    feed.close()
    with pytest.raises(StopAsyncIteration):
        await waiting

    assert before == looks > 1


async def turn() -> None:
    """Let whoever can go on, threads too."""
    for _ in range(20):
        await asyncio.to_thread(int)


async def test_a_feed_ends_when_it_is_closed_and_when_the_engine_stops() -> None:
    """Whoever waits would wait for ever."""
    async with Harness(PIPELINE) as harness:
        closed, left = harness.app.follow(), harness.app.follow()
        ends = [asyncio.ensure_future(anext(feed, None)) for feed in (closed, left)]
        await harness.settle()
        closed.close()
        first = await ends[0]
        await harness.publish("n", subject="a")  # which must not wake the closed one
        second = await ends[1]
        third = asyncio.ensure_future(anext(left, None))

    assert first is None
    assert second is not None
    assert await third is None
