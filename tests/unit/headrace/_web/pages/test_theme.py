"""Light, dark, or as the system has it."""

from __future__ import annotations

import httpx2
import pytest


async def test_the_choice_is_remembered(browser: httpx2.AsyncClient) -> None:
    """Without a flash of the other theme, so the server has to know it."""
    before = await browser.get("/system")

    chosen = await browser.post("/theme", data={"theme": "dark", "back": "/system"})
    after = await browser.get("/system")
    await browser.post("/theme", data={"theme": "", "back": "/"})
    undone = await browser.get("/system")

    assert (chosen.status_code, chosen.headers["location"]) == (303, "/system")
    assert [" data-theme=" in page.text for page in (before, after, undone)] == [False, True, False]


@pytest.mark.parametrize("back", ["//evil.test", "https://evil.test", "/\\evil.test", ""])
async def test_the_way_back_stays_here(browser: httpx2.AsyncClient, back: str) -> None:
    """A form that leads elsewhere is a gift to whoever wants to look like us."""
    answer = await browser.post("/theme", data={"theme": "dark", "back": back})

    assert answer.headers["location"] == "/"


async def test_nobody_chooses_an_unknown_theme(browser: httpx2.AsyncClient) -> None:
    """A cookie may hold anything."""
    page = await browser.get("/system", headers={"Cookie": 'headrace_theme="><script>'})

    assert "data-theme" not in page.text.split(">")[1]
