"""What publishing would do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from headrace import Event, EventType, Lifecycle, Pipeline, on
from headrace._app.rehearsal import Rehearsal, rehearse
from headrace.errors import ValueRefused
from headrace.testing import Harness

doors: Lifecycle[Any] = Lifecycle(
    "door", moves=[("door.opened", None, "open"), ("door.closed", "open", "shut")], terminal=["shut"]
)


async def listen(event: Event[Any]) -> None: ...


PIPELINE = Pipeline(
    "house",
    lifecycles=[doors],
    events=[EventType("bell.rung", dict[str, int])],
    triggers=[on("door.#", listen, name="ears")],
)


@pytest.fixture
async def house() -> AsyncIterator[Harness]:
    async with Harness(PIPELINE) as running:
        yield running


def tried(house: Harness, topic: str, data: object = None, *, subject: str = "front", id: str = "new") -> Rehearsal:
    return house.app.database.read(lambda reader: rehearse(house.app, reader, topic, data, subject=subject, id=id))


async def test_it_tells_how_the_job_would_move_and_who_would_hear(house: Harness) -> None:
    """And nothing is published by it."""
    begins = tried(house, "door.opened")
    await house.publish("door.opened", subject="front", id="old")
    moves, late = tried(house, "door.closed"), tried(house, "door.opened")

    assert (begins.job, begins.before, begins.after, begins.reason) == ("door", "", "open", "")
    assert (moves.before, moves.after) == ("open", "shut")
    assert (late.after, late.reason) == ("", "the job is 'open' already")
    assert moves.subscriptions == (("house.ears", "handles it"),)
    assert len(await house.events()) == 1


async def test_an_id_that_is_known_would_do_nothing(house: Harness) -> None:
    """The answer of then would come again."""
    await house.publish("door.opened", subject="front", id="old")

    assert tried(house, "door.closed", id="old").is_known


@pytest.mark.parametrize(
    "topic,data,subject", [("bell.*", None, "x"), ("bell.rung", {"n": "many"}, "x"), ("bell.rung", {}, " ")]
)
async def test_what_could_not_be_published_is_refused(house: Harness, topic: str, data: object, subject: str) -> None:
    """In the words of publishing itself."""
    with pytest.raises(ValueRefused):
        tried(house, topic, data, subject=subject)
