"""The page of one run."""

from __future__ import annotations

from urllib.parse import quote

import httpx2
import pytest

from headrace import Headrace
from headrace._web.pages.links import run_link
from tests.unit.headrace._web.pages.conftest import bad, busy, doubled, mail, parent, retried, retrying, until


async def test_a_waiting_run_says_for_what_and_where(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """Whether a run is stuck or waits is the first question."""
    await app.start(mail, "ada")
    await until(app, "mail-ada", "waiting")

    page = (await browser.get("/runs/mail-ada")).text

    assert "message &#39;letter&#39;" in page
    assert "return await receive(&#34;letter&#34;, str)" in page
    assert 'name="topic" required autocomplete="off" spellcheck="false" value="letter"' in page


async def test_failed_attempts_are_seen(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """A step that succeeded at last has a story too."""
    await app.run(retried, "x")

    closed = (await browser.get("/runs/retried-x")).text
    opened = (await browser.get("/runs/retried-x?row=0")).text

    assert "3 tries" in closed
    assert closed.count('class="bar failed step"') == 2
    assert "OSError: no answer from x" in opened
    assert opened.count("Stack trace") == 2
    assert "Arguments" in opened


async def test_what_is_under_way_is_drawn(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """The journal has nothing of it, and it is what people wait for."""
    await app.start(busy, 1)
    await until(app, "busy-1", "running")

    page = (await browser.get("/runs/busy-1")).text

    assert 'class="bar running step goes-on"' in page


async def test_a_run_called_by_its_number_is_the_same_page(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """What is under way is known by id, and `id#1` is another way to say it."""
    await app.start(busy, 2)
    await until(app, "busy-2", "running")

    page = (await browser.get("/runs/busy-2%231")).text

    assert 'class="bar running step goes-on"' in page


async def test_a_step_between_attempts_says_when_the_next_one_is(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """Ten minutes of silence look like a hang."""
    await app.start(retrying, "x")
    await until(app, "retrying-x", "waiting")

    page = (await browser.get("/runs/retrying-x")).text

    assert "retry of step &#39;patient&#39;, attempt 2" in page
    assert 'class="retry"' in page
    assert "OSError: x" in page


async def test_relatives_are_linked(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """From an order to its parcel and back."""
    await app.run(parent, 4)

    above = (await browser.get("/runs/parent-4")).text
    below = (await browser.get("/runs/double-4")).text

    assert 'href="/runs/double-4?number=1"' in above
    assert 'href="/runs/parent-4?number=1"' in below


async def test_each_run_of_an_id_has_a_page(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """The first failure is as interesting as the second."""
    for _ in range(2):
        run = await app.start(bad, "x")
        await until(app, run.id, "failed")

    newest = (await browser.get("/runs/bad-x")).text
    first = (await browser.get("/runs/bad-x?number=1")).text
    named = await browser.get("/runs/bad-x%231")

    assert "#2" in newest
    assert "Retry" in newest
    assert "Retry" not in first
    assert 'href="/runs/bad-x?number=2"' in first
    assert named.status_code == 200


@pytest.mark.parametrize("run_id", ["a/b", "..", ".", "a?b=c&d", "a#1", "100%", "🚰 water", "'\"<>"])
async def test_any_id_can_be_opened(app: Headrace, browser: httpx2.AsyncClient, run_id: str) -> None:
    """Ids come from data."""
    run = await app.start_as(doubled, run_id, "join", 1)
    await run.result()

    page = await browser.get(run_link(run_id))
    again = await browser.get(run_link(run_id, 1))

    assert (page.status_code, again.status_code) == (200, 200)
    assert "double" in page.text
    assert f"/api/runs/{quote(run_id, safe='')}/history" in page.text or run_id in (".", "..")


async def test_an_unknown_run_is_a_page(browser: httpx2.AsyncClient) -> None:
    """A bare line of JSON is no answer to a person."""
    page = await browser.get("/runs/nope")

    assert page.status_code == 404
    assert "there is no run &#39;nope&#39;" in page.text
    assert 'href="/runs"' in page.text


async def test_a_long_journal_comes_in_parts(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """The last part first: that is where it is now."""
    await app.run(parent, 1)

    page = (await browser.get("/runs/parent-1?after=1")).text

    assert "Earlier" in page
    assert "/live/changes" not in page
