"""The buttons."""

from __future__ import annotations

from urllib.parse import quote

import httpx2
import pytest

from headrace import Headrace
from tests.unit.headrace._web.pages.conftest import EVIL, bad, busy, doubled, mail, until


async def test_cancel_leads_back_to_the_run(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """Reloading afterwards must not send it again."""
    await app.start(mail, "ada")

    answer = await browser.post("/runs/mail-ada/cancel", data={})
    await until(app, "mail-ada", "cancelled")

    assert (answer.status_code, answer.headers["location"]) == (303, "/runs/mail-ada")


async def test_cancel_by_force_ends_at_once(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """For a step that does not listen."""
    await app.start(busy, 1)

    await browser.post("/runs/busy-1/cancel", data={"force": "yes"})

    assert (await app.get("busy-1")).state == "cancelled"


async def test_retry_begins_the_next_run(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """The same id, the next number."""
    await app.start(bad, "x")
    await until(app, "bad-x", "failed")

    answer = await browser.post("/runs/bad-x/retry")

    assert (answer.status_code, (await app.get("bad-x")).number) == (303, 2)


async def test_a_message_is_json(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """Text and the number in it are different things."""
    run = await app.start(mail, EVIL)

    answer = await browser.post(f"/runs/{quote(run.id, safe='')}/send", data={"topic": "letter", "value": '"hello"'})

    assert answer.status_code == 303
    assert await run.result() == "hello"


@pytest.mark.parametrize(
    "path,form,status,words",
    [
        ("mail-ada/send", {"topic": "letter", "value": "{"}, 422, "no JSON"),
        ("mail-ada/send", {"topic": " ", "value": "1"}, 422, "needs a topic"),
        ("double-1/cancel", {}, 409, "has already ended"),
        ("double-1/send", {"topic": "letter"}, 409, "has already ended"),
        ("double-1/retry", {}, 409, "nothing to try again"),
        ("nope/cancel", {}, 404, "there is no run"),
    ],
)
async def test_refusals_are_pages(
    app: Headrace, browser: httpx2.AsyncClient, path: str, form: dict[str, str], status: int, words: str
) -> None:
    """What happened, why, and the way back."""
    await app.start(mail, "ada")
    await app.run(doubled, 1)

    page = await browser.post(f"/runs/{path}", data=form)

    assert page.status_code == status
    assert words in page.text
    assert "</html>" in page.text


async def test_a_stopped_engine_refuses(app: Headrace, browser: httpx2.AsyncClient) -> None:
    """503, in the same frame."""
    await app.start(mail, "ada")
    app.engine.fail(OSError("the disk is gone"))

    page = await browser.post("/runs/mail-ada/cancel", data={})

    assert page.status_code == 503
    assert "the disk is gone" in page.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "", "Origin": "https://evil.test"},
        {"Sec-Fetch-Site": "", "Origin": "null"},
    ],
)
async def test_forms_of_other_sites_are_refused(
    app: Headrace, browser: httpx2.AsyncClient, headers: dict[str, str]
) -> None:
    """Any page in the world could otherwise cancel the runs of whoever looks at it."""
    await app.start(mail, "ada")
    del browser.headers["Sec-Fetch-Site"]

    answers = [
        await browser.post(
            path, data={"force": "yes"}, headers={name: value for name, value in headers.items() if value}
        )
        for path in ("/runs/mail-ada/cancel", "/runs/mail-ada/retry", "/runs/mail-ada/send", "/try", "/theme")
    ]

    assert [answer.status_code for answer in answers] == [403] * 5
    assert (await app.get("mail-ada")).is_open


async def test_own_forms_are_taken_from_browsers_that_tell_only_the_origin(
    app: Headrace, browser: httpx2.AsyncClient
) -> None:
    """Older ones do not say more."""
    await app.start(mail, "ada")
    del browser.headers["Sec-Fetch-Site"]

    answer = await browser.post("/runs/mail-ada/cancel", data={}, headers={"Origin": "http://127.0.0.1:8420"})

    assert answer.status_code == 303
