"""The list of runs."""

from __future__ import annotations

import httpx2

from headrace import Headrace
from tests.unit.headrace._web.pages.conftest import bad, doubled, mail, until


async def test_filter_stands_in_the_address(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """A list can be sent to a colleague."""
    await app.run(doubled, 1)
    await app.start(mail, "ada")
    await app.start(bad, "x")
    await until(app, "bad-x", "failed")
    await until(app, "mail-ada", "waiting")

    async def shown(**query: str) -> list[str]:
        page = (await browser.get("/runs", params=query)).text
        return [name for name in ("double-1", "mail-ada", "bad-x") if f">{name}<" in page]

    assert await shown() == ["double-1", "mail-ada", "bad-x"]
    assert await shown(flow="shown.mail") == ["mail-ada"]
    assert await shown(state="failed") == ["bad-x"]
    assert await shown(text="OUBLE") == ["double-1"]
    assert await shown(text="letter", state="waiting") == ["mail-ada"]
    assert await shown(state="waiting", flow="shown.bad") == []
    assert await shown(state="no such state", flow="", text=" ") == ["double-1", "mail-ada", "bad-x"]


async def test_states_are_counted(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """How many is asked before which."""
    for number in range(3):
        await app.run(doubled, number)

    page = (await browser.get("/runs")).text

    assert "all <b>3</b>" in page
    assert "completed</span> <b>3</b>" in page


async def test_an_unknown_flow_is_an_empty_list(browser: httpx2.AsyncClient) -> None:
    """A bookmark may outlive its flow."""
    page = await browser.get("/runs", params={"flow": "gone.flow"})

    assert page.status_code == 200
    assert "No run fits." in page.text
    assert "<option selected>gone.flow</option>" in page.text


async def test_only_the_first_page_is_live(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """What somebody reads must not move away under the eyes."""
    await app.run(doubled, 1)

    assert "/live/changes" in (await browser.get("/runs")).text
    assert "/live/changes" not in (await browser.get("/runs?before=9")).text
