"""One subscription in detail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from headrace import Event, Pipeline, Retry, on
from headrace._app import subscription_detail as details
from headrace._app.subscription_detail import Range, first_held, range_of, subscription_detail, trouble
from headrace._base.clock import from_datetime
from headrace.errors import NotFound
from headrace.testing import Harness


async def listen(event: Event[Any]) -> None:
    if event.subject.startswith("bad"):
        raise OSError(f"no answer from {event.subject}")


PIPELINE = Pipeline("house", triggers=[on("bell.#", listen, name="ears", retry=Retry(attempts=3, first=60), parts=2)])
NAME = "house.ears"


@pytest.fixture
async def house() -> AsyncIterator[Harness]:
    async with Harness(PIPELINE) as running:
        for subject in ("good", "bad-1", "bad-2"):
            await running.publish("bell.rung", subject=subject)
            await running.advance(timedelta(seconds=10))
        await running.publish("door.opened", subject="good")
        yield running


def rehearsed(house: Harness, **asked: Any) -> Range:
    return house.app.database.read(lambda reader: range_of(reader, ("bell.#",), **asked))


async def test_what_is_held_stands_in_the_order_of_its_next_attempt(house: Harness) -> None:
    """What happens next is what people wait for."""
    found = house.app.database.read(lambda reader: subscription_detail(reader, NAME))

    assert [(one.subject, one.attempt, one.alone) for one in found.held] == [("bad-1", 1, False), ("bad-2", 1, False)]
    assert [one.error.short for one in found.held if one.error] == [
        "OSError: no answer from bad-1",
        "OSError: no answer from bad-2",
    ]
    assert (len(found.positions), found.end, found.replays) == (2, 4, ())
    assert house.app.database.read(first_held) == {NAME: found.held[0].next_at}


async def test_how_long_it_is_behind(house: Harness) -> None:
    """Fifty behind since a second is nothing, since an hour is a fault."""
    await house.app.pause_subscription(NAME)
    await house.advance(timedelta(minutes=5))
    published = await house.publish("bell.rung", subject="late")
    await house.advance(timedelta(minutes=5))

    found = house.app.database.read(lambda reader: subscription_detail(reader, NAME, reached=4))

    assert found.behind_since is not None
    assert house.app.now() - found.behind_since == timedelta(minutes=5)
    assert published.position == 5


async def test_a_replay_is_named(house: Harness) -> None:
    """It has a page of its own."""
    done = await house.app.replay(NAME, after=0)
    found = house.app.database.read(lambda reader: subscription_detail(reader, NAME))

    assert found.replays == (done.name,)


async def test_nobody_of_that_name(house: Harness) -> None:
    """The error says where the names are."""
    with pytest.raises(NotFound, match="no subscription 'gone'"):
        house.app.database.read(lambda reader: subscription_detail(reader, "gone"))


async def test_a_dry_run_tells_which_events_it_would_be(house: Harness) -> None:
    """A number alone has surprised people."""
    found = rehearsed(house, after=1)

    assert (found.after, found.until, found.events, found.unfinished) == (1, 4, 2, False)
    assert [event.subject for event in found.first] == ["bad-1", "bad-2"]


async def test_a_range_begins_at_a_moment(house: Harness) -> None:
    """People know when, not where."""
    since = from_datetime(house.app.now() - timedelta(seconds=15))

    assert [event.subject for event in rehearsed(house, since=since).first] == ["bad-2"]
    assert rehearsed(house, until=1).events == 1
    assert rehearsed(house, after=4).events == 0


async def test_counting_stops_somewhere(house: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of millions is not read for a form."""
    monkeypatch.setattr(details, "COUNTED", 2)
    monkeypatch.setattr(details, "_PAGE", 2)

    found = rehearsed(house)

    assert (found.events, found.unfinished) == (2, True)


async def test_trouble_is_counted(house: Harness) -> None:
    """For the first page and the navigation."""
    await house.advance(timedelta(minutes=10))

    assert house.app.database.read(trouble) == details.Trouble(held=0, dead=2)
