"""``POST /webhooks/...``: who may, and what they are answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2
import pytest
from pydantic import BaseModel, SecretStr

from headrace import EventDraft, Headrace, Pipeline, Webhook, WebhookCall
from headrace._access.model import Scope
from headrace._app.access import make_token
from headrace._base.webhook import new_secret, sign
from headrace.testing import Harness
from tests.unit.headrace._web.conftest import OPEN_TO_OTHERS, client_of

SECRET = new_secret()


class Given(BaseModel):
    carrier_secret: SecretStr = SecretStr(SECRET)


def to_event(call: WebhookCall) -> EventDraft | None:
    return EventDraft("parcel.shipped", call.body, subject="p-1") if call.body else None


SIGNED = Webhook("carrier", to_event, secret="carrier_secret")  # pragma: allowlist secret
PIPELINE = Pipeline(
    "shop",
    webhooks=[SIGNED, Webhook("open", to_event)],
    settings=Given,
)
Answer = Callable[..., Awaitable[httpx2.Response]]


@pytest.fixture
async def app() -> AsyncIterator[Headrace]:
    async with Harness(PIPELINE) as harness:
        yield harness.app


def signed(app: Headrace, body: bytes) -> dict[str, str]:
    return sign(id="msg_1", at=app.clock.now(), body=body, secrets=[SECRET])


async def test_a_signature_is_enough(app: Headrace) -> None:
    """The sender has no token of ours, and its content type is its own affair."""
    body = b'{"a": 1}'
    async with client_of(app, admission=OPEN_TO_OTHERS) as client:
        first = await client.post("/webhooks/shop.carrier", content=body, headers=signed(app, body))
        again = await client.post("/webhooks/carrier", content=body, headers=signed(app, body))
        ignored = await client.post("/webhooks/carrier", content=b"{}", headers=signed(app, b"{}"))

    assert (first.status_code, again.status_code, ignored.status_code) == (200, 200, 200)
    assert again.json() == first.json()
    assert first.json()["accepted"] is True
    assert ignored.json() == {"webhook": "shop.carrier", "accepted": False, "event": None, "position": None}


@pytest.mark.parametrize(
    "path,body,status,code",
    [
        ("/webhooks/shop.carrier", b"{}", 401, "webhook_refused"),
        ("/webhooks/shop.nobody", b"{}", 404, "not_found"),
        ("/webhooks/shop.open", b"{}", 401, "no_token"),
    ],
)
async def test_whoever_cannot_show_who_they_are_is_refused(
    app: Headrace, path: str, body: bytes, status: int, code: str
) -> None:
    """In the one shape of errors."""
    async with client_of(app, admission=OPEN_TO_OTHERS) as client:
        answer = await client.post(path, content=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_without_a_guard_of_its_own_it_takes_our_tokens(app: Headrace) -> None:
    """Of a scope that may change something, as for any other event that comes in."""
    found = []
    for scope in (Scope.READ, Scope.OPERATE):
        made = await make_token(app.database, app.clock, name=scope.value, scope=scope)
        async with client_of(app, token=made.token, admission=OPEN_TO_OTHERS) as client:
            found.append((await client.post("/webhooks/open", content=b"[1]")).status_code)
    async with client_of(app) as client:
        found.append((await client.post("/webhooks/open", content=b"[1]")).status_code)

    assert found == [403, 200, 200]


async def test_a_body_is_not_without_bounds(app: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends it has not shown yet who they are."""
    monkeypatch.setattr("headrace._web.gate.BODY_LIMIT", 1_000)
    async with client_of(app, admission=OPEN_TO_OTHERS) as client:
        answer = await client.post("/webhooks/carrier", content=b" " * 1_001)

    assert answer.status_code == 413


async def test_a_page_of_another_site_cannot_send_one(app: Headrace) -> None:
    """On this machine no token is needed, and a browser sends for whichever page asks."""
    async with client_of(app) as client:
        answer = await client.post("/webhooks/open", content=b"[1]", headers={"Sec-Fetch-Site": "cross-site"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong_origin")


async def test_a_key_of_idempotency_shows_nobody_the_answer_of_another(app: Headrace) -> None:
    """Keys are looked at before the route, and this route alone knows who may come."""
    body, key = b'{"a": 1}', {"Idempotency-Key": "k"}
    async with client_of(app, admission=OPEN_TO_OTHERS) as client:
        first = await client.post("/webhooks/carrier", content=body, headers=signed(app, body) | key)
        other = await client.post("/webhooks/carrier", content=body, headers=key)

    assert (first.status_code, other.status_code) == (200, 401)
