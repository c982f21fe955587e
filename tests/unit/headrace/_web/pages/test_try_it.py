"""Starting a run from a form."""

from __future__ import annotations

from urllib.parse import unquote

import httpx2
import pytest

from headrace import Headrace
from tests.unit.headrace._web.pages.conftest import asked, doubled

GOOD = {
    "flow": "shown.asked",
    "argument.count": "3",
    "argument.name": "",
    "argument.colour": '"blue"',
    "argument.day": "2026-11-19",
    "argument.point": '{"x": 1}',
    "argument.points": "",
    "argument.share": "0.25",
}


async def test_every_flow_is_offered(browser: httpx2.AsyncClient) -> None:
    """Nobody should have to know the names."""
    page = (await browser.get("/try")).text

    assert 'href="/try?flow=shown.asked"' in page
    assert "Takes something of everything." in page


async def test_the_form_follows_the_signature(browser: httpx2.AsyncClient) -> None:
    """A number is asked for as a number, a colour as a choice."""
    page = (await browser.get("/try?flow=asked")).text

    assert 'name="argument.count" type="number" step="1"' in page
    assert 'name="argument.name" type="text"' in page
    assert '<option value="&#34;red&#34;">red</option>' in page
    assert 'name="argument.day" type="date"' in page
    assert "&#34;x&#34;: 0" in page
    assert 'type="checkbox" id="field-is_loud"' in page
    assert 'placeholder="0.5"' in page


async def test_a_good_form_starts_a_run(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """And leads to it."""
    answer = await browser.post("/try", data=GOOD | {"argument.is_loud": "true"})

    assert answer.status_code == 303
    run = app.handle(unquote(answer.headers["location"]).removeprefix("/runs/"))
    assert await run.result() == "3  blue 2026-11-19 x=1 y=0 None True 0.25"


async def test_complaints_stand_at_their_fields(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """Who filled in eight fields must not guess which one was wrong, nor fill them in again."""
    wrong = GOOD | {
        "argument.count": "many",
        "argument.colour": '"green"',
        "argument.day": "19.11.2026",
        "argument.point": '{"x": "one"}',
        "argument.name": "<kept>",
    }

    page = await browser.post("/try", data=wrong)

    assert page.status_code == 422
    for name, words in (
        ("count", "Input should be a valid integer"),
        ("colour", "Input should be &#39;red&#39; or &#39;blue&#39;"),
        ("day", "Input should be a valid date"),
        ("point", "at x: Input should be a valid integer"),
    ):
        message = page.text.split(f'id="field-{name}-message">')[1].split("</p>")[0]
        assert words in message
    assert 'value="&lt;kept&gt;"' in page.text
    assert await app.runs() == []


async def test_what_is_no_json_is_told_before_anything_starts(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """A missing brace is the most common mistake."""
    page = await browser.post("/try", data=GOOD | {"argument.point": "{"})

    assert page.status_code == 422
    assert "this is no JSON" in page.text
    assert await app.runs() == []


@pytest.mark.parametrize("policy,status", [("join", 303), ("reject", 409), ("replace", 303)])
async def test_what_to_do_when_the_id_is_taken(
    app: Headrace, browser: httpx2.AsyncClient, policy: str, status: int
) -> None:
    """The same three answers as everywhere."""
    await app.run(doubled, 1)

    answer = await browser.post("/try", data={"flow": "doubled", "argument.number": "1", "policy": policy})

    assert answer.status_code == status
    assert (await app.get("double-1")).number == (2 if policy == "replace" else 1)


async def test_a_form_can_be_filled_like_a_run(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """To try again with one thing changed."""
    answer = await browser.post("/try", data=GOOD | {"argument.name": "Ada", "argument.points": '[{"x": 7}]'})
    run_id = unquote(answer.headers["location"]).removeprefix("/runs/")

    page = (await browser.get("/try", params={"flow": "shown.asked", "like": run_id, "number": 1})).text

    assert 'value="Ada"' in page
    assert '<option value="&#34;blue&#34;" selected>' in page
    assert "&#34;x&#34;: 7" in page


async def test_an_unknown_flow_is_a_page(browser: httpx2.AsyncClient) -> None:
    """A bookmark may outlive its flow."""
    page = await browser.get("/try?flow=gone")

    assert page.status_code == 404
    assert asked.name in page.text
