"""Questions about the log that the file answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from headrace import Event, Lifecycle, Pipeline, on, sleep
from headrace._app.event_questions import events_from, jobs_called, subscriptions_in, tail_of
from headrace.testing import Harness

pytestmark = pytest.mark.usefixtures("each_store")

MINUTE = timedelta(minutes=1)


async def look(event: Event[Any]) -> None:
    """A reader that takes its time."""
    await sleep(MINUTE)


visits: Lifecycle[Any] = Lifecycle(
    "visit", moves=[("visit.begun", None, "here"), ("visit.ended", "here", "gone")], terminal=["gone"]
)
PIPELINE = Pipeline("house", triggers=[on("visit.#", look)], lifecycles=[visits])


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness(PIPELINE) as running:
        for topic in ("bell.rung", "visit.begun", "bell.rung"):
            await running.publish(topic, subject="ann")
        await running.advance(MINUTE)
        yield running


async def test_whoever_follows_misses_nothing_and_sees_nothing_twice(harness: Harness) -> None:
    """The end of the log is read in the same moment as its newest events, and what does not fit is passed over."""
    database = harness.app.database
    newest, end = database.read(lambda rows: tail_of(rows, topic="bell.*", count=1))
    await harness.publish("visit.ended", subject="ann")
    between, reached = database.read(lambda rows: events_from(rows, end, topic="bell.*"))
    await harness.publish("bell.rung", subject="bob")
    after, _ = database.read(lambda rows: events_from(rows, reached, topic="bell.*"))

    assert [event.position for event in newest] == [end]
    assert between == []
    assert [event.subject for event in after] == ["bob"]


async def test_a_subject_is_known_as_a_job(harness: Harness) -> None:
    """The same id may be a job of several kinds, and no job at all."""
    database = harness.app.database

    assert database.read(lambda rows: jobs_called(rows, "ann")) == ("visit",)
    assert database.read(lambda rows: jobs_called(rows, "bob")) == ()


async def test_the_file_alone_tells_how_far_subscriptions_are(harness: Harness) -> None:
    """What they read is in the code, which is not there."""
    (found,) = harness.app.database.read(subscriptions_in)

    assert (found.name, found.declared, found.topics) == ("house.look", False, ())


async def test_a_replay_is_shown_as_one_of_its_subscription(harness: Harness) -> None:
    """It reads the same topics, and is done where its range ends, not at the end of the log."""
    done = await harness.app.replay("house.look", after=0, until=2)
    await harness.settle()
    subscription, replay = await harness.app.subscriptions()

    assert (subscription.name, subscription.replay) == ("house.look", False)
    assert (replay.name, replay.replay, replay.declared) == (done.name, True, True)
    assert (replay.topics, replay.target) == (subscription.topics, subscription.target)
    assert (replay.position, replay.behind) == (1, 1)
