"""Publishing from a form."""

from __future__ import annotations

import re

import httpx2
import pytest

from headrace.testing import Harness

FORM = {"topic": "door.opened", "subject": "front", "data": '{"by": "Ada"}'}


async def test_nothing_is_published_before_somebody_has_seen_what_it_would_do(
    house: Harness, guest: httpx2.AsyncClient
) -> None:
    """An event cannot be taken back."""
    page = await guest.post("/publish", data=FORM)

    assert page.status_code == 200
    assert "begins as" in page.text
    assert "house.closers starts flow close" in page.text
    assert await house.events() == []


async def test_the_second_press_publishes_once(house: Harness, guest: httpx2.AsyncClient) -> None:
    """The id was chosen by the page, so a nervous finger does no harm."""
    page = (await guest.post("/publish", data=FORM)).text
    chosen = re.findall(r'name="id" value="([^"]+)"', page)[0]

    first = await guest.post("/publish", data=FORM | {"id": chosen, "sure": "yes"})
    again = await guest.post("/publish", data=FORM | {"id": chosen, "sure": "yes"})

    assert first.headers["location"] == f"/events/{chosen}?told=published"
    assert again.headers["location"] == f"/events/{chosen}?told=known"
    assert [event.data for event in await house.events("door.opened")] == [{"by": "Ada"}]
    assert "Published." in (await guest.get(first.headers["location"])).text


async def test_what_is_wrong_is_said_beside_what_was_typed(guest: httpx2.AsyncClient) -> None:
    """Nobody types it twice."""
    for wrong, words in (
        ({"data": "{"}, "the data is no JSON"),
        ({"topic": "door.*"}, "is a pattern"),
        ({"topic": "bell.rung", "data": '{"times": "many"}'}, "times"),
        ({"subject": ""}, "cannot be a subject"),
    ):
        page = await guest.post("/publish", data=FORM | wrong | {"sure": "yes"})

        assert page.status_code == 422
        assert words in page.text
        assert 'name="topic"' in page.text


async def test_the_form_can_be_changed_after_the_look(guest: httpx2.AsyncClient) -> None:
    """Going back loses nothing."""
    page = (await guest.post("/publish", data=FORM | {"id": "mine", "change": "yes"})).text

    assert 'value="front"' in page
    assert "&#34;by&#34;: &#34;Ada&#34;" in page
    assert 'value="mine"' in page


async def test_a_model_fills_the_form_but_not_the_id(house: Harness, guest: httpx2.AsyncClient) -> None:
    """With the same id nothing would happen."""
    await house.publish("bell.rung", {"times": 3}, subject="good", id="model")

    page = (await guest.get("/publish?like=model")).text

    assert "bell.rung" in page
    assert "&#34;times&#34;: 3" in page
    assert 'value="model"' not in page


@pytest.mark.parametrize("topic,words", [("door.opened", "would not move"), ("garden.seen", "No subscription reads")])
async def test_what_would_not_happen_is_told_too(
    house: Harness, guest: httpx2.AsyncClient, topic: str, words: str
) -> None:
    """A typo in a topic looks like success otherwise."""
    await house.publish("door.opened", subject="front")
    await house.settle()

    assert words in (await guest.post("/publish", data=FORM | {"topic": topic})).text
