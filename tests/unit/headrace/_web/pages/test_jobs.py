"""Jobs: the list, one job, and its buttons."""

from __future__ import annotations

from xml.etree import ElementTree

import httpx2
import pytest

from headrace._web.pages.jobs import tone_of
from headrace.testing import Harness
from tests.unit.headrace._web.pages.house import doors, gates


@pytest.fixture
async def busy(house: Harness) -> Harness:
    for name in ("front", "back"):
        await house.publish("door.opened", subject=name)
    await house.publish("gate.opened", subject="front")
    await house.settle()
    await house.send("close-back", "wind", "east")
    await house.settle()
    return house


async def test_the_filter_stands_in_the_address(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """A list can be sent to a colleague."""

    async def shown(**query: str) -> list[str]:
        page = (await guest.get("/jobs", params=query)).text
        return [name for name in ("door/front", "door/back", "gate/front") if f'href="/jobs/{name}"' in page]

    assert await shown() == ["door/front", "door/back", "gate/front"]
    assert await shown(lifecycle="gate") == ["gate/front"]
    assert await shown(state="shut") == ["door/back"]
    assert await shown(lifecycle="door", text="RONT") == ["door/front"]
    assert await shown(lifecycle="gone") == []


async def test_states_are_counted_in_the_order_of_the_lifecycle(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """The order in which jobs live, not that of the alphabet."""
    page = (await guest.get("/jobs")).text

    assert page.index(">moving</span> <b>1</b>") < page.index(">shut</span> <b>1</b>")
    assert "all <b>3</b>" in page


async def test_a_job_shows_the_way_it_has_come(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """The drawing and the story say the same."""
    page = (await guest.get("/jobs/door/back")).text

    drawing = ElementTree.fromstring(
        page[page.index('<svg class="lifecycle"') : page.index("</svg>", page.index('<svg class="lifecycle"')) + 6]
    )
    passed = [next(iter(group)).text or "" for group in drawing.iter() if group.get("class") == "move passed"]
    assert [text.partition(":")[0] for text in passed] == ["door.opened", "door.pushed", "door.closed"]
    assert 'href="/runs/close-back' in page
    assert "moving <i" in page


async def test_a_retry_opens_a_new_generation(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """With its own way in the drawing."""
    assert "Begin back again?" in (await guest.get("/jobs/door/back")).text
    answer = await guest.post("/jobs/door/back/retry")
    await busy.settle()
    page = (await guest.get("/jobs/door/back")).text

    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs/door/back")
    assert "generation 2" in page
    assert "Begin back again?" not in page
    assert "door.again (again): from" in page


async def test_cancelling_reaches_the_run(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """As from the command line."""
    answer = await guest.post("/jobs/door/front/cancel")
    await busy.settle()

    assert answer.status_code == 303
    assert (await busy.app.job("door", "front")).state == "left"
    assert (await busy.app.get("close-front")).state == "cancelled"


async def test_only_legal_buttons_are_offered(busy: Harness, guest: httpx2.AsyncClient) -> None:
    """A button that only ever refuses is a trap."""
    gate = (await guest.get("/jobs/gate/front")).text
    door = (await guest.get("/jobs/door/front")).text

    assert ("Cancel front?" in gate, "Begin front again?" in gate) == (False, False)
    assert ("Cancel front?" in door, "Begin front again?" in door) == (True, False)


@pytest.mark.parametrize(
    "path,status,words",
    [
        ("/jobs/door/front/retry", 409, "has not ended"),
        ("/jobs/door/back/cancel", 409, "has ended already"),
        ("/jobs/gate/front/cancel", 409, "publish the event that ends it"),
        ("/jobs/door/nobody/cancel", 404, "nobody"),
    ],
)
async def test_refusals_are_pages(busy: Harness, guest: httpx2.AsyncClient, path: str, status: int, words: str) -> None:
    """Two people may press at the same time."""
    page = await guest.post(path)

    assert (page.status_code, words in page.text, "</html>" in page.text) == (status, True, True)


async def test_a_job_that_is_not_there(guest: httpx2.AsyncClient) -> None:
    """With the way to those that are."""
    page = await guest.get("/jobs/door/nobody")

    assert (page.status_code, "/jobs lists them" in page.text) == (404, True)


async def test_ids_that_browsers_would_change_have_an_address(house: Harness, guest: httpx2.AsyncClient) -> None:
    """Two dots are a step up in a path."""
    await house.publish("gate.opened", subject="..")
    page = (await guest.get("/jobs")).text

    assert 'href="/jobs/of?lifecycle=gate&amp;id=.."' in page
    assert (await guest.get("/jobs/of?lifecycle=gate&id=..")).status_code == 200


async def test_empty_pages_say_what_to_do(guest: httpx2.AsyncClient) -> None:
    """Before there is any job."""
    assert "There are no jobs yet." in (await guest.get("/jobs")).text
    assert "No job fits." in (await guest.get("/jobs?text=x")).text


def test_states_are_drawn_by_what_they_mean() -> None:
    """Their names are the user's; what the end of a run leads to is declared."""
    assert [tone_of(doors, state) for state in ("open", "shut", "stuck", "left")] == [
        "going-on",
        "completed",
        "failed",
        "cancelled",
    ]
    assert tone_of(gates, "shut") == "completed"
    assert (tone_of(None, "any", terminal=True), tone_of(None, "any", terminal=False)) == ("completed", "going-on")
