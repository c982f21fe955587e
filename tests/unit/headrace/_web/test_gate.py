"""What every request must pass before a route runs."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import httpx2
import pytest

from headrace import Headrace
from headrace._access.model import Scope
from headrace._web.admission import LOOPBACK, Admission
from headrace._web.app import create_app
from tests.unit.headrace._web.conftest import OPEN_TO_OTHERS, NewToken, client_of

START = {"flow": "doubled", "arguments": {"number": 1}}
JSON_BODY = {"content": b"{}", "headers": {"content-type": "application/json"}}


@pytest.fixture
async def stranger(app: Headrace) -> AsyncIterator[httpx2.AsyncClient]:
    """Somebody who may come from anywhere, and has no token."""
    async with client_of(app, admission=OPEN_TO_OTHERS) as asking:
        yield asking


async def test_on_this_machine_no_token_is_needed(client: httpx2.AsyncClient) -> None:
    """The first minute with the product must not begin with a secret."""
    assert (await client.get("/api/runs")).status_code == 200
    assert (await client.post("/api/runs", json=START)).status_code == 201
    assert (await client.get("/api/tokens")).status_code == 200


async def test_a_wrong_token_is_refused_even_where_none_is_needed(app: Headrace) -> None:
    """A program with a mistyped token would seem to work, until it is moved to another machine."""
    async with client_of(app, token="wrong") as mistaken:
        assert (await mistaken.get("/api/runs")).status_code == 401


async def test_without_a_token_strangers_are_told_nothing(stranger: httpx2.AsyncClient) -> None:
    """Not even which pages there are."""
    paths = ("/api/runs", "/api/status", "/api/openapi.json", "/metrics", "/api/nope", "/nope")
    answers = [await stranger.get(path) for path in paths] + [await stranger.post("/api/runs", json=START)]

    assert [answer.status_code for answer in answers] == [401] * 7
    assert {answer.json()["error"]["code"] for answer in answers} == {"no_token"}
    assert answers[0].headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("given", ["Bearer wrong", "Bearer ", "Bearer hr_00000000_" + "0" * 48, "Basic eDp5", "wrong"])
async def test_what_is_no_token_is_refused(app: Headrace, given: str) -> None:
    """Whatever stands in the header, it must be a token that was made here."""
    async with client_of(app, admission=OPEN_TO_OTHERS) as asking:
        assert (await asking.get("/api/runs", headers={"authorization": given})).status_code == 401


async def test_health_needs_no_token(stranger: httpx2.AsyncClient) -> None:
    """A supervisor asks it, and it tells nothing."""
    answers = [await stranger.get(path) for path in ("/healthz", "/readyz")]

    assert [(answer.status_code, answer.json()["ok"]) for answer in answers] == [(200, True)] * 2


SCOPES = [
    (Scope.READ, 200, 403, 403),
    (Scope.OPERATE, 200, 201, 403),
    (Scope.ADMIN, 200, 201, 200),
]


@pytest.mark.parametrize("scope,look,change,administer", SCOPES)
async def test_a_scope_reaches_so_far(
    app: Headrace, new_token: NewToken, scope: Scope, look: int, change: int, administer: int
) -> None:
    """The token of a chart must not be able to cancel anything."""
    async with client_of(app, token=await new_token(scope), admission=OPEN_TO_OTHERS) as holder:
        looked = await holder.get("/api/runs")
        changed = await holder.post("/api/runs", json=START)
        administered = await holder.get("/api/tokens")

    assert [looked.status_code, changed.status_code, administered.status_code] == [look, change, administer]
    if changed.status_code == 403:
        assert changed.json()["error"]["code"] == "scope_too_small"
        assert "--scope operate" in changed.json()["error"]["hint"]


async def test_refused_before_the_body_is_looked_at(app: Headrace, new_token: NewToken) -> None:
    """What a caller may not do must not depend on what is in the body, nor cost the reading of it."""
    async with client_of(app, token=await new_token(Scope.READ), admission=OPEN_TO_OTHERS) as holder:
        answer = await holder.post("/api/runs", content=b"{not json", headers={"content-type": "application/json"})

    assert answer.status_code == 403


async def test_a_proxy_on_this_machine_lets_nobody_in_unseen(client: httpx2.AsyncClient) -> None:
    """Whoever puts the server behind a proxy and thinks of no more would open it to the world."""
    for header in ("x-forwarded-for", "forwarded", "x-real-ip"):
        assert (await client.get("/api/runs", headers={header: "192.0.2.7"})).status_code == 401


async def test_foreign_host_is_refused(app: Headrace) -> None:
    """A page of another site that points its name at this machine would speak in the user's name."""
    async with client_of(app, host="evil.test") as rebound:
        answer = await rebound.get("/healthz")

    assert (answer.status_code, answer.json()["error"]["code"]) == (421, "wrong_host")


async def test_names_that_are_set_are_answered_for(app: Headrace, new_token: NewToken) -> None:
    """People call a server by its name."""
    admission = Admission(needs_token=True, hosts=LOOPBACK | {"runs.example"})
    async with client_of(app, host="runs.example", token=await new_token(), admission=admission) as asking:
        assert (await asking.get("/api/runs")).status_code == 200


FOREIGN = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "https://evil.test"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:9999"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_pages_of_others_change_nothing(client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    """Any page that is open in a browser can send requests to this machine."""
    answer = await client.post("/api/runs", json=START, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong_origin")
    assert (await client.get("/api/runs")).json()["runs"] == []


OWN = [{}, {"sec-fetch-site": "same-origin", "origin": "http://127.0.0.1:8420"}, {"sec-fetch-site": "none"}]


@pytest.mark.parametrize("headers", OWN, ids=str)
async def test_pages_of_this_server_and_programs_may(client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    """The dashboard's own buttons must work."""
    assert (await client.post("/api/runs", json=START, headers=headers)).status_code == 201


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_body_that_is_not_json_is_refused(client: httpx2.AsyncClient, kind: str) -> None:
    """Those are the kinds that a form of any page can send without asking first."""
    answer = await client.post("/api/runs", content=b"{}", headers={"content-type": kind})

    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "not_json")


async def test_a_misspelt_parameter_is_refused(client: httpx2.AsyncClient) -> None:
    """Passed over, `?stat=failed` would list everything, and a script would cancel it."""
    answer = await client.get("/api/runs", params={"stat": "failed"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unknown_parameter")
    assert "'state'" in answer.json()["error"]["hint"]


async def test_pages_take_what_links_carry(client: httpx2.AsyncClient) -> None:
    """Mail programs and search engines add parameters of their own."""
    assert (await client.get("/login", params={"utm_source": "mail"})).status_code == 303


async def test_no_body_needs_no_kind(app: Headrace, client: httpx2.AsyncClient) -> None:
    """`curl -X POST` is how people try things."""
    answer = await client.post("/api/runs/nope/retry")

    assert answer.json()["error"]["code"] == "run_not_found"


async def test_browsers_are_told_what_not_to_do(client: httpx2.AsyncClient) -> None:
    """A page of others that frames the dashboard would catch its clicks; caches must not keep answers."""
    answer = await client.get("/api/runs")

    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"


async def test_people_without_a_login_are_led_to_it(stranger: httpx2.AsyncClient) -> None:
    """JSON is no answer to a person; where they wanted to go is kept."""
    answer = await stranger.get("/runs?state=failed", headers={"accept": "text/html,*/*"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/login?next=%2Fruns%3Fstate%3Dfailed")


async def test_programs_are_not_led_to_the_login(stranger: httpx2.AsyncClient) -> None:
    """A client that follows redirects would take the login page for the answer."""
    assert (await stranger.get("/api/runs", headers={"accept": "text/html"})).status_code == 401


async def test_people_are_told_in_pages(app: Headrace, new_token: NewToken) -> None:
    """JSON is no answer to a person; but a page tells how things are, which is not for strangers."""
    page = {"accept": "text/html"}
    async with client_of(app, token=await new_token(Scope.READ), admission=OPEN_TO_OTHERS) as holder:
        refused = await holder.post("/runs/a/cancel", headers=page)
        as_json = await holder.post("/api/runs", json=START, headers=page)
        stranger = await holder.post("/logout", headers=page | {"origin": "https://evil.test"})

    assert (refused.status_code, refused.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "--scope operate" in refused.text
    assert as_json.json()["error"]["code"] == "scope_too_small"
    assert stranger.json()["error"]["code"] == "wrong_origin"


async def test_sockets_are_refused(app: Headrace) -> None:
    """Nothing here speaks over them, so nothing here guards them."""
    sent: list[object] = []

    async def send(message: object) -> None:
        sent.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    await create_app(app, Admission())({"type": "websocket", "path": "/", "headers": []}, receive, send)

    assert sent == [{"type": "websocket.close", "code": 1008}]


async def test_tokens_are_in_no_log_and_no_answer(
    app: Headrace, new_token: NewToken, caplog: pytest.LogCaptureFixture
) -> None:
    """Logs are read by many, and kept for long."""
    caplog.set_level(logging.DEBUG)
    good = await new_token()
    almost = good[:-1] + ("0" if good[-1] != "0" else "1")
    answers = []
    for token in (good, almost):
        async with client_of(app, token=token, admission=OPEN_TO_OTHERS) as holder:
            answers += [await holder.get("/api/tokens"), await holder.get("/api/status"), await holder.get("/nope")]

    told = caplog.text + "".join(answer.text + str(answer.headers) for answer in answers)
    secret = good.rpartition("_")[2]
    assert secret not in told
    assert secret[:-1] not in told
    assert "access.refused" in caplog.text
