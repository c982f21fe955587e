"""The log of events, one event, and the history of a subject."""

from __future__ import annotations

from urllib.parse import quote

import httpx2
import pytest

from headrace.testing import Harness
from tests.unit.headrace._web.pages.conftest import EVIL


async def test_the_filter_stands_in_the_address(house: Harness, guest: httpx2.AsyncClient) -> None:
    """A list can be sent to a colleague."""
    await house.publish("bell.rung", {"times": 3}, subject="good", id="e1")
    await house.publish("door.closed", subject="front", id="e2")
    await house.publish("door.opened", subject="front", id="e3")

    async def shown(**query: str) -> list[str]:
        page = (await guest.get("/events", params=query)).text
        return [name for name in ("e1", "e2", "e3") if f'href="/events/{name}"' in page]

    assert await shown() == ["e1", "e2", "e3"]
    assert await shown(topic="door.#") == ["e2", "e3"]
    assert await shown(subject="good") == ["e1"]
    assert await shown(job="door", verdict="moved") == ["e3"]
    assert await shown(verdict="not") == ["e2"]
    assert await shown(where="data.times == 3") == ["e1"]
    assert await shown(job="gate") == []


@pytest.mark.parametrize("query", [{"topic": "no spaces please"}, {"where": "data.x ="}])
async def test_what_cannot_be_read_is_said_on_the_page(guest: httpx2.AsyncClient, query: dict[str, str]) -> None:
    """While somebody types, half an expression is usual; the field must stay as it is."""
    page = await guest.get("/events", params=query)

    assert page.status_code == 200
    assert 'role="alert"' in page.text


async def test_only_the_newest_page_is_live(house: Harness, guest: httpx2.AsyncClient) -> None:
    """What somebody reads must not move away under the eyes."""
    for number in range(60):
        await house.publish("bell.rung", {"n": number}, subject="good")

    first, second = await guest.get("/events"), await guest.get("/events?before=11")
    held = await guest.get("/events?before=61")

    assert first.text.count('<span class="c-topic"><a') == 50
    assert "/live/changes" in first.text
    assert "/live/changes" not in second.text
    assert "Newest" in second.text
    assert 'before=61">Hold still' in first.text
    assert held.text.count('<span class="c-topic"><a') == 50


async def test_an_event_tells_where_it_comes_from_and_why_it_was_not_applied(
    house: Harness, guest: httpx2.AsyncClient
) -> None:
    """The run and the command that said it are one click away."""
    await house.publish("door.opened", subject="front", id="e1")
    await house.settle()
    await house.publish("door.opened", subject="front", id="e2")
    pushed = (await house.events("door.pushed"))[0]

    cause = (await guest.get(f"/events/{quote(pushed.id, safe='')}")).text
    refused = (await guest.get("/events/e2")).text

    assert 'href="/runs/close-front?number=1&amp;row=0#row-0"' in cause
    assert "It did not move its job." in refused
    assert "The job is &#39;moving&#39;, and" in refused or "The job exists already" in refused


async def test_who_read_an_event_is_told(house: Harness, guest: httpx2.AsyncClient) -> None:
    """With a link to what is to be done about it."""
    await house.publish("bell.rung", {}, subject="bad-1", id="e1")
    await house.settle()

    page = (await guest.get("/events/e1")).text

    assert 'href="/deadletters/1"' in page
    assert "attempt 2" in page


async def test_a_position_names_an_event_too(house: Harness, guest: httpx2.AsyncClient) -> None:
    """It is what logs and lists show."""
    await house.publish("bell.rung", {}, subject="good", id="e1")

    assert "<code>e1</code>" in (await guest.get("/events/1")).text
    assert (await guest.get("/events/2")).status_code == 404


async def test_the_history_of_a_subject_has_states_and_gaps(house: Harness, guest: httpx2.AsyncClient) -> None:
    """As a story, the newest first."""
    await house.publish("door.opened", subject="front", id="e1")
    await house.settle()

    page = (await guest.get("/history?subject=front&job=door")).text

    assert page.index("door.pushed") < page.index("door.opened")
    assert "moving" in page
    assert "after the event before" in page


async def test_a_subject_of_two_kinds_can_be_chosen(house: Harness, guest: httpx2.AsyncClient) -> None:
    """A door and a gate may have the same name."""
    await house.publish("door.opened", subject="front")
    await house.publish("gate.opened", subject="front")
    await house.settle()

    page = (await guest.get("/history?subject=front&job=gate")).text

    assert 'href="/history?subject=front&amp;job=door"' in page
    assert "1 event of the job" in page


@pytest.mark.parametrize(
    "path,words",
    [
        ("/events", "The log is empty."),
        ("/events?topic=door.%23", "No event fits."),
        ("/history", "Write the subject"),
        ("/history?subject=nobody", "no event about nobody"),
    ],
)
async def test_empty_pages_say_what_to_do(guest: httpx2.AsyncClient, path: str, words: str) -> None:
    """The first look at a new installation."""
    page = await guest.get(path)

    assert (page.status_code, words in page.text) == (200, True)


async def test_no_field_of_an_event_becomes_markup(house: Harness, guest: httpx2.AsyncClient) -> None:
    """Events come from strangers more than anything else."""
    await house.publish("door.opened", {EVIL: EVIL}, subject=EVIL, id=EVIL, source=EVIL)
    await house.publish("bell.rung", {EVIL: 1}, subject=f"bad {EVIL}", id=f"2{EVIL}")
    await house.settle()
    there = quote(EVIL, safe="")
    paths = [
        "/events",
        f"/events/{there}",
        f"/events/2{there}",
        f"/history?subject={there}&job=door",
        f"/events?subject={there}&where={there}&job={there}",
        f"/publish?like={there}",
        "/jobs",
        f"/jobs?text={there}&lifecycle={there}&state={there}",
        f"/jobs/door/{there}",
        "/subscriptions/house.patient",
        "/deadletters",
        "/deadletters/1",
        "/",
    ]

    pages = [await guest.get(path) for path in paths]

    assert [page.status_code for page in pages] == [200] * len(paths)
    assert [str(page.url) for page in pages if "<script>alert" in page.text] == []
    assert all("alert(" in page.text for page in pages[:6])
