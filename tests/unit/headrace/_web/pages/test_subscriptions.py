"""Subscriptions: the list, one of them, pausing and replaying."""

from __future__ import annotations

import re
from datetime import timedelta

import httpx2
import pytest

from headrace.testing import Harness

PATIENT = "/subscriptions/house.patient"


@pytest.fixture
async def busy(house: Harness) -> Harness:
    for subject in ("good", "bad-1", "bad-2"):
        await house.publish("bell.rung", {}, subject=subject)
        await house.advance(timedelta(minutes=1))
    return house


async def test_the_list_tells_what_each_could_not_do(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """Held, dead, behind, in one look."""
    page = (await guest.get("/subscriptions")).text

    assert 'href="/deadletters?subscription=house.once">2' in page
    assert "<b>2</b>" in page
    assert "tries again" in page


async def test_one_tells_what_it_holds_and_when_it_tries_again(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """With the error, because that is what has to be mended."""
    page = (await guest.get(PATIENT)).text

    assert "OSError: no answer from bad-1" in page
    assert "later events of bad-1 wait behind it" in page
    assert "until it succeeds" in page


async def test_pausing_and_resuming(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """Each button leads back, and offers the other."""
    paused = await guest.post(f"{PATIENT}/pause")
    page = (await guest.get(PATIENT)).text
    await guest.post(f"{PATIENT}/resume")

    assert (paused.status_code, paused.headers["location"]) == (303, PATIENT)
    assert "Resume" in page
    assert "Pause house.patient?" in (await guest.get(PATIENT)).text


async def test_a_replay_shows_its_events_first(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """The dry run is the default, not an option."""
    page = (await guest.post("/subscriptions/house.once/replay", data={"after": "1"})).text
    assert re.search(r"<strong>2</strong>\s+events", page)
    assert "bad-2" in page
    assert len(await busy.app.subscriptions()) == 3

    fields = dict(re.findall(r'type="hidden" name="(after|until)" value="(\d+)"', page))
    done = await guest.post("/subscriptions/house.once/replay", data=fields | {"sure": "yes"})
    await busy.settle()

    assert done.headers["location"] == "/subscriptions/house.once?replayed=house.once~1"
    letters = await busy.app.dead_letters(subscription="house.once")
    assert [letter.attempts for letter in letters] == [2, 2]


async def test_a_replay_begins_at_a_time_of_the_viewer(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """A browser sends the time without its zone."""
    moment = busy.app.now() - timedelta(seconds=90) + timedelta(hours=3)

    page = await guest.post(
        "/subscriptions/house.once/replay",
        data={"since": moment.strftime("%Y-%m-%dT%H:%M:%S"), "zone": "Africa/Nairobi"},
    )

    assert re.search(r"<strong>1</strong>\s+event ", page.text)
    assert "bad-2" in page.text


@pytest.mark.parametrize(
    "form,words",
    [
        ({"after": "soon"}, "is no position"),
        ({"until": "-1"}, "is no position"),
        ({"since": "yesterday"}, "is no time"),
        ({"since": "2026-11-19T08:00", "zone": "Middle/Earth"}, "no time zone"),
    ],
)
async def test_what_is_wrong_is_said_beside_what_was_typed(
    busy: Harness, guest: httpx2.AsyncClient, form: dict[str, str], words: str
) -> None:
    """And nothing is replayed."""
    page = await guest.post(f"{PATIENT}/replay", data=form | {"sure": "yes"})

    assert (page.status_code, words in page.text) == (422, True)
    assert len(await busy.app.subscriptions()) == 3


async def test_an_empty_range_offers_no_button(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """Nothing would happen, so nothing is to be pressed."""
    page = (await guest.post(f"{PATIENT}/replay", data={"after": "3"})).text

    assert "nothing to replay" in page
    assert 'name="sure"' not in page


@pytest.mark.parametrize("how", ["get", "pause", "resume", "replay"])
async def test_a_subscription_that_is_not_there(guest: httpx2.AsyncClient, how: str) -> None:
    """In the same frame, whatever was asked."""
    gone = "/subscriptions/house.gone"
    page = await (guest.get(gone) if how == "get" else guest.post(f"{gone}/{how}"))

    assert (page.status_code, "house.gone" in page.text) == (404, True)


async def test_endpoints_of_webhooks_are_subscriptions_too(house: Harness, guest: httpx2.AsyncClient) -> None:
    """They come and go while Headrace runs, and nothing on these pages is about pipelines alone."""
    await house.app.webhooks.add(name="desk", url="https://desk.example.org/hooks", topics=["garden.#"])
    await house.app.webhooks.disable("desk")  # tests send nothing anywhere
    published = await house.publish("garden.seen", subject="roses")

    listed, one = await guest.get("/subscriptions"), await guest.get("/subscriptions/webhook%3Adesk")
    event = await guest.get(f"/events/{published.position}")
    rehearsal = await guest.post("/publish", data={"topic": "garden.seen", "subject": "roses"})

    assert 'href="/subscriptions/webhook%3Adesk"' in listed.text
    assert "not in the code" not in listed.text
    assert "Let webhook:desk go on?" in one.text
    assert "to come" in event.text
    assert "webhook:desk handles it" in rehearsal.text
