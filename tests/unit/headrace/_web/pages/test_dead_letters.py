"""Dead letters: groups, letters, and their buttons."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2
import pytest

from headrace import Pipeline
from headrace.testing import Harness, visitor
from tests.unit.headrace._web.pages.house import PIPELINE as HOUSE


@pytest.fixture
async def dead(house: Harness) -> Harness:
    for number in range(1, 4):
        await house.publish("bell.rung", {}, subject=f"bad-{number}")
    await house.settle()
    return house


async def group_of(guest: httpx2.AsyncClient) -> str:
    page = (await guest.get("/deadletters")).text
    found = re.search(r'href="(/deadletters/groups/[^"]+)"', page)
    assert found is not None
    return found[1].replace("&amp;", "&")


async def test_letters_of_one_cause_are_one_row(dead: Harness, guest: httpx2.AsyncClient) -> None:
    """An outage is one decision."""
    page = (await guest.get("/deadletters")).text

    assert page.count('class="aside"') == 1
    assert "no answer from bad-…" in page
    assert '<b class="c-many">3</b>' in page
    assert 'class="badge" title="3 dead letters">3<' in page


async def test_a_group_opens_to_its_letters(dead: Harness, guest: httpx2.AsyncClient) -> None:
    """With event, attempts, and the stack trace behind a fold."""
    page = (await guest.get(await group_of(guest))).text

    assert page.count("Stack trace") == 3
    assert "OSError: no answer from bad-3" in page
    assert "in listen" in page


@pytest.mark.parametrize("act,state", [("redrive", "dead"), ("dismiss", "dismissed")])
async def test_a_button_of_a_group_reaches_all_of_it(
    dead: Harness, guest: httpx2.AsyncClient, act: str, state: str
) -> None:
    """And says how many it were."""
    path, _, query = (await group_of(guest)).partition("?")
    answer = await guest.post(f"{path}/{act}", data=dict([query.split("=")]))
    await dead.settle()

    assert answer.headers["location"] == f"/deadletters?did={act}&letters=3"
    assert "3 letters are" in (await guest.get(answer.headers["location"])).text
    letters = await dead.app.dead_letters(state=None)
    assert {(letter.state, letter.attempts) for letter in letters} == {(state, 2 if act == "redrive" else 1)}


async def test_one_letter_is_redriven_and_its_page_tells_how_it_went(dead: Harness, guest: httpx2.AsyncClient) -> None:
    """Whoever pressed wants to know."""
    answer = await guest.post("/deadletters/2/redrive")
    await dead.settle()
    page = (await guest.get(answer.headers["location"])).text

    assert "It failed again." in page
    assert "After 2 attempts in all" in page


async def test_one_letter_is_dismissed(dead: Harness, guest: httpx2.AsyncClient) -> None:
    """It is kept, and its page offers nothing more."""
    answer = await guest.post("/deadletters/2/dismiss")
    page = (await guest.get(answer.headers["location"])).text

    assert "It was dismissed." in page
    assert "Redrive" not in page
    assert "letter 2" in (await guest.get("/deadletters?state=dismissed")).text


async def test_letters_of_a_subscription_that_is_gone_cannot_be_redriven(tmp_path: Path) -> None:
    """Nobody would try; the page says so instead of offering the button."""
    store = tmp_path / "house.db"
    async with Harness(HOUSE, store=store, replay_check=False) as house:
        await house.publish("bell.rung", {}, subject="bad-1")
        await house.settle()
    async with Harness(Pipeline("house"), store=store, replay_check=False) as empty, visitor(empty.app) as guest:
        page = (await guest.get("/deadletters")).text
        subscription = (await guest.get("/subscriptions/house.once")).text

    assert "is not in the code that is loaded" in page
    assert "Redrive" not in page
    assert "nobody works on it" in subscription


@pytest.mark.parametrize(
    "path,status,words",
    [
        ("/deadletters/99/redrive", 404, "no dead letter 99"),
        ("/deadletters/99/dismiss", 404, "no dead letter 99"),
        ("/deadletters/groups/abc/mend", 404, "redriven or dismissed"),
    ],
)
async def test_refusals_are_pages(guest: httpx2.AsyncClient, path: str, status: int, words: str) -> None:
    """A letter may be settled by somebody else meanwhile."""
    page = await guest.post(path)

    assert (page.status_code, words in page.text) == (status, True)


async def test_a_group_that_is_settled_says_so(guest: httpx2.AsyncClient) -> None:
    """The link of yesterday."""
    page = await guest.get("/deadletters/groups/abc?subscription=house.once")

    assert (page.status_code, "no letter of" in page.text) == (404, True)


async def test_pressing_twice_does_no_harm(dead: Harness, guest: httpx2.AsyncClient) -> None:
    """The second one is told that there is nothing left."""
    await guest.post("/deadletters/1/dismiss")

    assert (await guest.post("/deadletters/1/dismiss")).status_code == 409


async def test_empty_pages_say_so(guest: httpx2.AsyncClient) -> None:
    """And what would be there."""
    assert "Nothing is dead" in (await guest.get("/deadletters")).text
    assert "No letter was dismissed." in (await guest.get("/deadletters?state=dismissed")).text
