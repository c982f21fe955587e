"""What all pages have in common."""

from __future__ import annotations

import re

import httpx2
import pytest

from headrace import Headrace
from headrace._app import listing
from tests.unit.headrace._web.pages.conftest import EVIL, bad, busy, doubled, mail, parent, retried, retrying, until

PAGES = [
    "/", "/runs", "/blocked", "/blocked?check=all", "/events", "/history", "/publish", "/jobs", "/subscriptions", "/deadletters", "/deadletters?state=handled",
    "/system", "/try", "/try?flow=asked",
]  # fmt: skip
INLINE = re.compile(r"<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|javascript:", re.IGNORECASE)
OUTSIDE = re.compile(r"""(?:src|href|action|hx-get)=["'](?:https?:|//)""")


@pytest.mark.parametrize("path", PAGES)
async def test_pages_of_an_empty_store(browser: httpx2.AsyncClient, path: str) -> None:
    """The first look at a new installation must not be an error."""
    page = await browser.get(path)

    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "</html>" in page.text


@pytest.mark.parametrize("path", [*PAGES, "/nope"])
async def test_nothing_is_inline_and_nothing_is_elsewhere(browser: httpx2.AsyncClient, path: str) -> None:
    """The policy would block it in the browser, and a page that asks the network is broken without one."""
    page = await browser.get(path)

    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert INLINE.findall(page.text) == []
    assert OUTSIDE.findall(page.text) == []


async def test_no_field_of_a_run_becomes_markup(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """Ids, inputs, errors and messages come from data, and data comes from strangers."""
    await app.start(mail, EVIL)
    await app.send(f"mail-{EVIL}", f"other {EVIL}", {EVIL: EVIL})
    await app.start(bad, EVIL)
    await app.start(retried, EVIL)
    await app.start(retrying, EVIL)
    for name, state in (("bad", "failed"), ("retried", "completed"), ("retrying", "waiting"), ("mail", "waiting")):
        await until(app, f"{name}-{EVIL}", state)
    paths = [
        "/",
        "/runs",
        "/blocked",
        "/system",
        f"/try?flow={EVIL}",
        "/runs?text=%3Cscript%3E&flow=%22%3E%3Cscript%3E",
    ]

    pages = [await browser.get(path) for path in paths]
    for name in ("mail", "bad", "retried", "retrying"):
        run_id = f"{name}-{EVIL}"
        links = re.findall(r'href="(/runs/[^"?#]+)"', (await browser.get("/runs", params={"text": run_id})).text)
        pages.append(await browser.get(f"{links[0]}?row=0"))
        pages.append(await browser.get("/try", params={"flow": name, "like": run_id}))

    assert [page.status_code for page in pages] == [200] * 4 + [404] + [200] * 9
    assert [page.url for page in pages if "<script>alert" in page.text or INLINE.search(page.text)] == []
    assert all("alert" in page.text for page in pages[6:])


async def test_a_stopped_engine_is_said_on_every_page(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """A page that looks as usual while nothing goes on misleads."""
    await app.run(doubled, 1)
    app.engine.fail(OSError("the disk is gone"))

    paths = ("/", "/runs", "/runs/double-1", "/system", "/try", "/events", "/jobs", "/subscriptions", "/deadletters")
    pages = [await browser.get(path) for path in paths]

    assert [page.status_code for page in pages] == [200] * len(paths)
    assert all("Runs do not go on." in page.text and "the disk is gone" in page.text for page in pages)


async def test_a_defect_shows_no_stack_trace(
    app: Headrace, browser: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is for the log is not for the page."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("headrace._web.pages.runs.list_of_runs", broken)

    page = await browser.get("/runs")

    assert page.status_code == 500
    assert "Something broke" in page.text
    assert "secret" not in page.text
    assert "script-src" in page.headers["content-security-policy"]


async def test_large_stores_are_paged(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """A page of all runs would be megabytes."""
    for number in range(60):
        await app.start(doubled, number)
    await app.start(parent, 99)
    await app.start(busy, 1)

    first = await browser.get("/runs")
    second = await browser.get(re.findall(r'rel="next" href="([^"]+)"', first.text)[0].replace("&amp;", "&"))

    assert first.text.count('class="row"') == 50
    assert "double-0" in second.text
    assert "Newest" in second.text


def test_the_search_of_a_list_is_limited() -> None:
    """Without a limit the search in a million runs would hold a page for seconds."""
    assert listing.REACH <= 200_000
