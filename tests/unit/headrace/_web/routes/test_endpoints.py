"""Endpoints over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from headrace import Headrace, Pipeline
from headrace._access.model import Scope
from headrace._base.webhook import verify
from headrace.testing import Harness
from tests.receiver import Answer, Receiver
from tests.unit.headrace._web.conftest import OPEN_TO_OTHERS, NewToken, client_of


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().open() as opened:
        yield opened


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness(Pipeline("quiet")) as running:
        yield running


@pytest.fixture
async def app(harness: Harness) -> Headrace:
    return harness.app


async def add(client: httpx2.AsyncClient, receiver: Receiver, **more: object) -> Any:
    body = {"name": "billing", "url": receiver.url, "allow_private": True, **more}
    answer = await client.post("/api/webhooks", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_from_adding_to_removing(harness: Harness, client: httpx2.AsyncClient, receiver: Receiver) -> None:
    """Every step of an endpoint's life."""
    made = await add(client, receiver, topics=["n.*"])
    await client.post("/api/events", json={"topic": "n.came", "subject": "a", "data": 1})
    await harness.settle()
    shown = (await client.get("/api/webhooks/billing")).json()
    disabled = (await client.post("/api/webhooks/billing/disable", json={"reason": "they move"})).json()
    enabled = (await client.post("/api/webhooks/billing/enable")).json()
    rotated = (await client.post("/api/webhooks/billing/rotate", json={"overlap": 60})).json()
    tested = (await client.post("/api/webhooks/billing/test")).json()
    verify(receiver.seen[1].headers, receiver.seen[1].body, secrets=[rotated["secret"]], now=harness.clock.now())
    verify(receiver.seen[1].headers, receiver.seen[1].body, secrets=[made["secret"]], now=harness.clock.now())
    listed = (await client.get("/api/webhooks")).json()
    removed = await client.post("/api/webhooks/billing/remove")
    missing = await client.get("/api/webhooks/billing")

    assert (shown["last"]["ok"], shown["last"]["status"], shown["topics"]) == (True, 204, ["n.*"])
    assert (disabled["enabled"], disabled["reason"], enabled["enabled"]) == (False, "they move", True)
    assert rotated["about"]["old_secret_until"] is not None
    assert (tested["ok"], tested["topic"]) == (True, "headrace.ping")
    assert [one["name"] for one in listed["endpoints"]] == ["billing"]
    assert (removed.status_code, missing.status_code) == (200, 404)


async def test_a_ping_that_fails_is_an_answer(client: httpx2.AsyncClient, receiver: Receiver) -> None:
    """The request went well; what it found out did not."""
    await add(client, receiver)
    receiver.will(Answer(302, {"location": "/elsewhere"}))
    tested = await client.post("/api/webhooks/billing/test")

    assert (tested.status_code, tested.json()["ok"], tested.json()["status"]) == (200, False, 302)
    assert "redirects are not followed" in tested.json()["error"]


async def test_the_secret_is_told_once(client: httpx2.AsyncClient, receiver: Receiver) -> None:
    """Neither lists nor a key of idempotency bring it back."""
    made = await add(client, receiver)
    listed, shown = await client.get("/api/webhooks"), await client.get("/api/webhooks/billing")
    keyed = await client.post("/api/webhooks/billing/rotate", json={}, headers={"Idempotency-Key": "k"})

    assert made["secret"].startswith("whsec_")
    assert made["secret"] not in listed.text + shown.text
    assert (keyed.status_code, keyed.json()["error"]["code"]) == (422, "no_idempotency_key")


@pytest.mark.parametrize(
    "body",
    [
        {"url": "example.org"},
        {"url": "https://a:b@example.org"},
        {"name": "Billing"},
        {"name": ".."},
        {"topics": []},
        {"topics": ["a..b"]},
        {"filter": "data +"},
        {"secret": "mine"},  # pragma: allowlist secret
    ],
)
async def test_odd_endpoints_are_refused(client: httpx2.AsyncClient, body: dict[str, object]) -> None:
    """With the reason, and nothing is kept."""
    answer = await client.post("/api/webhooks", json={"name": "a", "url": "https://example.org/"} | body)

    assert answer.status_code == 422
    assert (await client.get("/api/webhooks")).json() == {"endpoints": []}


async def test_names_are_given_once_and_must_be_there(client: httpx2.AsyncClient, receiver: Receiver) -> None:
    """A misspelt name would leave the leak open, and say nothing."""
    await add(client, receiver)
    again = await client.post("/api/webhooks", json={"name": "billing", "url": receiver.url})
    verbs: list[tuple[str, object]] = [
        ("test", None),
        ("enable", None),
        ("disable", {}),
        ("rotate", {}),
        ("remove", None),
    ]
    missing = [await client.post(f"/api/webhooks/nobody/{verb}", json=body) for verb, body in verbs]

    assert again.status_code == 409
    assert [answer.status_code for answer in missing] == [404] * 5


async def test_only_an_administrator_says_where_events_go(app: Headrace, new_token: NewToken) -> None:
    """Whoever does can have all of them, and reach what this machine reaches."""
    token = await new_token(Scope.OPERATE)
    async with client_of(app, token=token, admission=OPEN_TO_OTHERS) as operator:
        answers = [
            await operator.get("/api/webhooks"),
            await operator.post("/api/webhooks", json={"name": "a", "url": "https://example.org/"}),
            await operator.post("/api/webhooks/a/test"),
        ]

    assert [answer.status_code for answer in answers] == [403] * 3
