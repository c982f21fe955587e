"""The login of people."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx2
import pytest

from headrace import Headrace
from headrace._access.model import Scope
from headrace._access.store import SESSION
from headrace._base.clock import to_micros
from headrace._store.statements import parse
from tests.unit.headrace._web.conftest import OPEN_TO_OTHERS, NewToken, client_of

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
async def browser(app: Headrace) -> AsyncIterator[httpx2.AsyncClient]:
    async with client_of(app, admission=OPEN_TO_OTHERS) as asking:
        yield asking


async def log_in(browser: httpx2.AsyncClient, token: str, next: str = "/") -> httpx2.Response:
    return await browser.post("/login", data={"token": token, "next": next})


async def test_after_the_login_a_cookie_stands_for_the_token(browser: httpx2.AsyncClient, new_token: NewToken) -> None:
    """The token itself must not stay in the browser, and no script may read what does."""
    token = await new_token(Scope.READ)

    answer = await log_in(browser, token, "/runs?state=failed")
    seen = await browser.get("/api/runs")
    changed = await browser.post("/api/runs", json={"flow": "strange"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?state=failed")
    cookie = answer.headers["set-cookie"]
    assert token not in cookie
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert "Secure" not in cookie
    assert [seen.status_code, changed.status_code] == [200, 403]


async def test_over_https_the_cookie_stays_there(browser: httpx2.AsyncClient, new_token: NewToken) -> None:
    """Behind a proxy only the browser knows how it came."""
    origin = {"origin": "https://127.0.0.1:8420"}

    answer = await browser.post("/login", data={"token": await new_token()}, headers=origin)

    assert "Secure" in answer.headers["set-cookie"]


async def test_a_wrong_token_is_said_and_not_shown(browser: httpx2.AsyncClient) -> None:
    """What was typed may be nearly right, or the secret of something else."""
    answer = await log_in(browser, "hr_nearly_right")

    assert answer.status_code == 401
    assert "not known here" in answer.text
    assert "nearly" not in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("next", ["https://evil.test", "//evil.test", "/\\evil.test", "evil", "/a\nb", ""])
async def test_nobody_is_led_elsewhere(browser: httpx2.AsyncClient, new_token: NewToken, next: str) -> None:
    """A link to the login of a trusted server is how people are led to a page that looks like it."""
    shown = await browser.get("/login", params={"next": next})
    answer = await log_in(browser, await new_token(), next)

    assert 'name="next" value="/"' in shown.text
    assert answer.headers["location"] == "/"


async def test_what_comes_from_outside_is_escaped(browser: httpx2.AsyncClient) -> None:
    """The way on stands in the page."""
    shown = await browser.get("/login", params={"next": '/"><script>alert(1)</script>'})

    assert "<script>" not in shown.text
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")


async def test_the_page_is_dressed_before_anybody_is_let_in(browser: httpx2.AsyncClient) -> None:
    """What it is drawn with must not need the login; all of it is our own, and nothing but the page itself is told."""
    browser.cookies.set("headrace_theme", "dark")
    shown = await browser.get("/login")
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', shown.text)

    assert 'data-theme="dark"' in shown.text
    assert len(files) == 3
    assert [(await browser.get(file)).status_code for file in files] == [200] * 3
    assert "'unsafe-inline'" not in shown.headers["content-security-policy"]
    assert "<style" not in shown.text
    assert "<script" not in shown.text
    assert "<nav" not in shown.text


async def test_logging_out_ends_it(browser: httpx2.AsyncClient, new_token: NewToken) -> None:
    """On the server too: a copy of the cookie must be of no use."""
    await log_in(browser, await new_token())
    copy = dict(browser.cookies)

    left = await browser.post("/logout")
    after = await browser.get("/api/runs")
    browser.cookies.update(copy)
    replayed = await browser.get("/api/runs")

    assert (left.status_code, left.headers["location"]) == (303, "/login")
    assert [after.status_code, replayed.status_code] == [401, 401]


async def test_revoking_the_token_logs_out(browser: httpx2.AsyncClient, new_token: NewToken) -> None:
    """Otherwise a leaked token would go on as a cookie."""
    await log_in(browser, await new_token())

    await browser.post("/api/tokens/tester/revoke", json={})

    assert (await browser.get("/api/runs")).status_code == 401


async def test_a_login_does_not_last_for_ever(app: Headrace, browser: httpx2.AsyncClient, new_token: NewToken) -> None:
    """Browsers are left open, sold and stolen."""
    await log_in(browser, await new_token())
    age = parse("-- name: age\n-- For this test.\nUPDATE sessions SET expires_at = expires_at - :by", origin="here").age
    await app.database.write(lambda tx: tx.run(age, {"by": to_micros(SESSION)}))

    assert (await browser.get("/api/runs")).status_code == 401


async def test_a_page_of_others_cannot_log_anybody_in(browser: httpx2.AsyncClient, new_token: NewToken) -> None:
    """The user would go on in somebody else's name."""
    token = await new_token()

    answer = await browser.post("/login", data={"token": token}, headers={"sec-fetch-site": "cross-site"})

    assert answer.status_code == 403


async def test_whoever_is_in_already_goes_on(browser: httpx2.AsyncClient, new_token: NewToken) -> None:
    """A bookmark of the login is not a reason to ask again."""
    await log_in(browser, await new_token())

    assert (await browser.get("/login?next=/runs")).headers["location"] == "/runs"


async def test_on_this_machine_nobody_logs_in(client: httpx2.AsyncClient) -> None:
    """There is nothing to ask for."""
    assert (await client.get("/login")).status_code == 303


async def test_a_link_of_another_site_finds_the_login(browser: httpx2.AsyncClient, new_token: NewToken) -> None:
    """The browser keeps the cookie to itself when a link of another site leads here, so the page asks once more by itself."""
    await log_in(browser, await new_token())
    cookies = dict(browser.cookies)
    browser.cookies.clear()

    first = await browser.get(
        "/login?next=/runs", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    )
    browser.cookies.update(cookies)
    second = await browser.get("/login?next=%2Fruns", headers={"sec-fetch-site": "same-origin"})

    assert '<meta http-equiv="refresh" content="0;url=/login?next=%2Fruns">' in first.text
    assert second.headers["location"] == "/runs"
