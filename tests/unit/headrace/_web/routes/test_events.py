"""Events, jobs, subscriptions and dead letters over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from headrace import Event, EventType, Lifecycle, Pipeline, Retry, on
from headrace._idempotency.store import Request
from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace.errors import StoreFull
from headrace.testing import Harness

broken: set[str] = set()


async def handle(event: Event[Any]) -> None:
    if event.subject in broken:
        raise ConnectionError("the line is dead")


tasks: Lifecycle[Any] = Lifecycle(
    "task",
    moves=[("task.made", None, "open"), ("task.done", "open", "done"), ("task.dropped", "*", "dropped")],
    terminal=["done", "dropped"],
    retry=("task.again", "open"),
    ends={"failed": "task.dropped"},
)
PIPELINE = Pipeline(
    "work",
    triggers=[on("number.#", handle, name="numbers", retry=Retry(attempts=1))],
    events=[EventType("number.came", int)],
    lifecycles=[tasks],
)


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    broken.clear()
    async with Harness(PIPELINE) as running:
        yield running


@pytest.fixture
async def client(harness: Harness) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_app(harness.app, Admission()))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8420") as asking:
        yield asking


async def publish(client: httpx2.AsyncClient, topic: str, subject: str, **more: object) -> dict[str, Any]:
    answer = await client.post("/api/events", json={"topic": topic, "subject": subject, **more})
    assert answer.status_code == 201, answer.text
    published: dict[str, Any] = answer.json()
    return published


async def test_what_is_published_can_be_read_at_once(client: httpx2.AsyncClient) -> None:
    """By topic, by subject, by id and by position."""
    first = await publish(client, "number.came", "a", data=1, id="n/1")
    await publish(client, "letter.came", "a", data="x")
    listed = (await client.get("/api/events", params={"topic": "number.*"})).json()
    history = (await client.get("/api/events/history", params={"subject": "a", "limit": 1})).json()
    shown = (await client.get("/api/events/n%2F1")).json()
    placed = (await client.get(f"/api/events/{first['position']}")).json()
    topics = (await client.get("/api/events/topics")).json()

    assert [event["data"] for event in listed["events"]] == [1]
    assert (history["event_count"], history["events"][0]["topic"], history["next"]) == (2, "letter.came", 2)
    assert shown == placed
    assert [topic["topic"] for topic in topics] == ["letter.came", "number.came"]


async def test_the_same_id_is_published_once(client: httpx2.AsyncClient) -> None:
    """Callers repeat what got no answer."""
    first = await publish(client, "number.came", "a", data=1, id="n-1")
    second = await publish(client, "number.came", "a", data=1, id="n-1")

    assert (first["duplicate"], second["duplicate"], second["position"]) == (False, True, first["position"])


@pytest.mark.parametrize(
    "body, code",
    [
        ({"topic": "number.*", "subject": "a"}, "invalid_request"),
        ({"topic": "number.came", "subject": "a", "data": "one"}, "value_refused"),
        ({"topic": "number.came", "subject": ""}, "invalid_request"),
        ({"topic": "number.came"}, "invalid_request"),
        ({"topic": "number.came", "subject": "a", "time": "2026-01-01T00:00:00"}, "invalid_request"),
    ],
)
async def test_what_does_not_fit_is_refused_with_the_reason(
    client: httpx2.AsyncClient, body: dict[str, Any], code: str
) -> None:
    """Nothing of it is in the log."""
    answer = await client.post("/api/events", json=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
    assert (await client.get("/api/events")).json()["events"] == []


async def test_a_job_over_http(client: httpx2.AsyncClient) -> None:
    """Moved by events, retried and cancelled by people."""
    await publish(client, "task.made", "t-1")
    await publish(client, "task.done", "t-1")
    late = await publish(client, "task.done", "t-1")
    detail = (await client.get("/api/jobs/task/t-1")).json()
    again = await client.post("/api/jobs/task/t-1/retry")
    cancelled = (await client.post("/api/jobs/task/t-1/cancel")).json()
    refused = await client.post("/api/jobs/task/t-1/cancel")
    missing = await client.get("/api/jobs/task/t-9")
    listed = (await client.get("/api/jobs", params={"lifecycle": "task"})).json()

    assert (late["applied"], late["reason"]) == (False, "the job is 'done' already")
    assert (detail["job"]["state"], detail["history"]["event_count"]) == ("done", 3)
    assert again.json()["generation"] == 2
    assert (cancelled["job"]["state"], cancelled["job"]["generation"]) == ("dropped", 2)
    assert (refused.status_code, missing.status_code) == (409, 404)
    assert [job["id"] for job in listed["jobs"]] == ["t-1"]


async def test_a_lifecycle_is_drawn(client: httpx2.AsyncClient) -> None:
    """So that people see what the states mean."""
    listed = (await client.get("/api/jobs/lifecycles")).json()
    drawing = await client.get("/api/jobs/lifecycles/task/diagram.svg", params={"state": "open"})

    assert listed[0]["states"] == ["open", "done", "dropped"]
    assert drawing.headers["content-type"] == "image/svg+xml"
    assert "task.done" in drawing.text


async def test_dead_letters_are_listed_redriven_and_dismissed(harness: Harness, client: httpx2.AsyncClient) -> None:
    """What could not be handled waits for a person."""
    broken.update(("a", "b"))
    for subject in ("a", "b"):
        await publish(client, "number.came", subject, data=1)
    await harness.settle()
    letters = (await client.get("/api/deadletters")).json()["letters"]
    broken.clear()
    redriven = await client.post(f"/api/deadletters/{letters[0]['id']}/redrive")
    await harness.settle()
    dismissed = await client.post(f"/api/deadletters/{letters[1]['id']}/dismiss")
    refused = await client.post(f"/api/deadletters/{letters[1]['id']}/redrive")
    everything = (await client.get("/api/deadletters", params={"state": "all"})).json()["letters"]

    assert letters[0]["error"]["message"] == "the line is dead"
    assert redriven.status_code == 200
    assert dismissed.json()["state"] == "dismissed"
    assert refused.status_code == 409
    assert [letter["state"] for letter in everything] == ["handled", "dismissed"]


async def test_subscriptions_are_paused_and_replayed(client: httpx2.AsyncClient) -> None:
    """The switches of an operator."""
    await publish(client, "number.came", "a", data=1)
    paused = (await client.post("/api/events/subscriptions/work.numbers/pause")).json()
    listed = (await client.get("/api/events/subscriptions")).json()
    resumed = (await client.post("/api/events/subscriptions/work.numbers/resume")).json()
    counted = (
        await client.post("/api/events/subscriptions/work.numbers/replay", json={"after": 0, "dry_run": True})
    ).json()
    unknown = await client.post("/api/events/subscriptions/nobody/pause")

    assert (paused["paused"], listed[0]["paused"], resumed["paused"]) == (True, True, False)
    assert (counted["events"], counted["name"]) == (1, "")
    assert unknown.status_code == 404


async def test_a_dispatch_is_an_event(client: httpx2.AsyncClient) -> None:
    """The shape that GitHub Actions sends, and its answer."""
    body = {"event_type": "data.fetched", "client_payload": {"subject": "games", "rows": 3}}
    answer = await client.post("/dispatches", json=body)
    event = (await client.get("/api/events")).json()["events"][0]

    assert (answer.status_code, answer.content) == (204, b"")
    assert (event["topic"], event["subject"], event["data"]["rows"], event["source"]) == (
        "data.fetched",
        "games",
        3,
        "dispatches",
    )


async def test_a_replay_whose_answer_was_lost_is_not_repeated(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process died between the replay and its answer; the same request again would be a second replay."""

    def die(*_: object) -> None:
        raise StoreFull("as if the process had died here")

    async def ask() -> httpx2.Response:
        path = "/api/events/subscriptions/work.numbers/replay"
        return await client.post(path, json={}, headers={"Idempotency-Key": "a"})

    await publish(client, "number.came", "a", data=1)
    with monkeypatch.context() as dying:
        dying.setattr(Request, "keep", die)
        lost = await ask()
    again = await ask()

    assert lost.status_code == 503
    assert (again.status_code, again.json()["error"]["code"]) == (409, "answer_lost")


async def test_an_answer_without_a_body_is_given_again(client: httpx2.AsyncClient) -> None:
    """A webhook is sent again until it is answered."""
    body = {"event_type": "letter.came", "client_payload": {"subject": "a"}}
    answers = [await client.post("/dispatches", json=body, headers={"Idempotency-Key": "a"}) for _ in range(2)]
    listed = (await client.get("/api/events", params={"topic": "letter.*"})).json()

    assert [answer.status_code for answer in answers] == [204, 204]
    assert answers[1].headers["idempotency-replayed"] == "true"
    assert "content-type" not in answers[1].headers
    assert len(listed["events"]) == 1
