"""The owner's API, asked in process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import quote

import httpx2
import pytest

from headrace import Headrace
from headrace._app.view import to_plain
from headrace._web.gate import BODY_LIMIT
from tests.unit.headrace._web.conftest import bad, doubled, long, mail, strange


async def test_start_answers_201_and_joining_200(client: httpx2.AsyncClient) -> None:
    """A caller that tries again must be able to tell that the run was there before."""
    body = {"flow": "doubled", "arguments": {"number": 4}}

    first = await client.post("/api/runs", json=body)
    again = await client.post("/api/runs", json=body)

    assert (first.status_code, first.json()["joined"], first.json()["run"]["id"]) == (201, False, "double-4")
    assert (again.status_code, again.json()["joined"]) == (200, True)


async def test_result_waits_for_the_end(client: httpx2.AsyncClient) -> None:
    """Without it a caller would have to ask again and again."""
    await client.post("/api/runs", json={"flow": "web.doubled", "arguments": {"number": 4}})

    answer = await client.get("/api/runs/double-4/result", params={"wait": 30})

    assert (answer.json()["ended"], answer.json()["result"]) == (True, 8)


async def test_result_of_a_failed_run_has_its_error(app: Headrace, client: httpx2.AsyncClient) -> None:
    """A failed run is an answer, no failed request."""
    await app.start(bad, 3)

    answer = await client.get("/api/runs/bad-3/result", params={"wait": 30})

    assert answer.status_code == 200
    assert answer.json()["run"]["state"] == "failed"
    assert answer.json()["error"]["message"] == "not 3"


async def test_result_gives_up_after_the_time_it_was_given(app: Headrace, client: httpx2.AsyncClient) -> None:
    """A long poll that never ends is cut by whatever stands between."""
    await app.start(long, 1)

    answer = await client.get("/api/runs/long-1/result", params={"wait": 0.01})

    assert (answer.status_code, answer.json()["ended"]) == (200, False)


async def test_views_are_the_same_over_http_and_in_json_of_the_cli(app: Headrace, client: httpx2.AsyncClient) -> None:
    """One schema, documented once."""
    await app.run(doubled, 5)

    shown = (await client.get("/api/runs/double-5")).json()
    told = (await client.get("/api/runs/double-5/history")).json()

    assert shown == to_plain(await app.detail("double-5"))
    assert told == to_plain(await app.history("double-5"))
    assert [(entry["kind"], entry["value"]) for entry in told["entries"]] == [("step", 10)]


async def test_ids_may_hold_any_character(app: Headrace, client: httpx2.AsyncClient) -> None:
    """Ids come from data: a slash in one must not make the run unreachable."""
    run = await app.start(mail, "a/history")
    path = f"/api/runs/{quote(run.id, safe='')}"

    sent = await client.post(f"{path}/send", json={"topic": "letter", "value": "hello"})
    answer = await client.get(f"{path}/result", params={"wait": 30})

    assert sent.status_code == 201
    assert sent.json()["id"] == "mail/a/history?"
    assert answer.json()["result"] == "hello"


async def test_cancel_and_retry(app: Headrace, client: httpx2.AsyncClient) -> None:
    """The two buttons of an operator."""
    run = await app.start(long, 2)
    failed = await app.start(bad, 4)
    await client.get(f"/api/runs/{failed.id}/result", params={"wait": 30})

    cancelled = await client.post(f"/api/runs/{run.id}/cancel", json={})
    ended = await client.get(f"/api/runs/{run.id}/result", params={"wait": 30})
    again = await client.post(f"/api/runs/{failed.id}/retry")

    assert cancelled.status_code == 200
    assert ended.json()["run"]["state"] == "cancelled"
    assert (again.status_code, again.json()["number"]) == (200, 2)


async def test_stack_names_the_line(app: Headrace, client: httpx2.AsyncClient) -> None:
    """Where it waits is the first question about a run that does not end."""
    await app.start(long, 3)

    answer = await client.get("/api/runs/long-3/stack")

    assert "conftest.py" in answer.json()["lines"][0]


async def test_pages_follow_each_other_without_gap(app: Headrace, client: httpx2.AsyncClient) -> None:
    """A list of a million runs is read in pages, and new ones come meanwhile."""
    for number in range(5):
        await app.run(doubled, number)

    first = (await client.get("/api/runs", params={"limit": 2})).json()
    await app.run(doubled, 99)
    second = (await client.get("/api/runs", params={"limit": 2, "cursor": first["next"]})).json()
    third = (await client.get("/api/runs", params={"limit": 2, "cursor": second["next"]})).json()

    seen = [run["id"] for page in (first, second, third) for run in page["runs"]]
    assert seen == [f"double-{number}" for number in (4, 3, 2, 1, 0)]
    assert third["next"] is None


async def test_list_is_filtered(app: Headrace, client: httpx2.AsyncClient) -> None:
    """Nobody finds one run among thousands."""
    await app.run(doubled, 1)
    await app.start(long, 1)

    async def ids(**query: str | bool) -> list[str]:
        answer = await client.get("/api/runs", params=query)
        return [run["id"] for run in answer.json()["runs"]]

    assert await ids(flow="doubled") == await ids(state="completed") == await ids(search="ouble") == ["double-1"]
    assert await ids(only_open=True) == ["long-1"]


async def test_nan_is_text(app: Headrace, client: httpx2.AsyncClient) -> None:
    """JSON has no NaN; an answer that no parser reads would be a 500 in disguise."""
    run = await app.start(strange)

    answer = await client.get(f"/api/runs/{run.id}/result", params={"wait": 30})

    assert answer.json()["result"] == "NaN"


REFUSED: list[tuple[str, str, object, int, str]] = [
    ("GET", "/api/runs/nope", None, 404, "run_not_found"),
    ("GET", "/api/nope", None, 404, "no_such_page"),
    ("DELETE", "/api/runs", None, 405, "method_not_allowed"),
    ("GET", "/api/runs?limit=0", None, 422, "invalid_request"),
    ("GET", "/api/runs?flow=nope", None, 404, "flow_not_found"),
    ("POST", "/api/runs", {"flow": "nope"}, 404, "flow_not_found"),
    ("POST", "/api/runs", {"flow": "doubled"}, 422, "value_refused"),
    ("POST", "/api/runs", {"flow": "doubled", "arguments": {"number": "x"}}, 422, "value_refused"),
    ("POST", "/api/runs", {"flow": "doubled", "arguments": {"number": 1, "other": 1}}, 422, "value_refused"),
    ("POST", "/api/runs", {"flow": "doubled", "argument": {}}, 422, "invalid_request"),
    ("POST", "/api/runs", {"flow": "doubled", "arguments": {"number": 1}, "id": " x"}, 422, "value_refused"),
    ("POST", "/api/runs", [], 422, "invalid_request"),
    ("POST", "/api/runs/nope/send", {"topic": "x"}, 404, "run_not_found"),
    ("POST", "/api/runs/done/cancel", {}, 409, "run_already_ended"),
    ("POST", "/api/runs/done/retry", None, 409, "conflict"),
    ("POST", "/api/runs/done/send", {"topic": "x"}, 409, "run_already_ended"),
]


@pytest.mark.parametrize("method,path,body,status,code", REFUSED)
async def test_refusals_have_one_shape(
    app: Headrace, client: httpx2.AsyncClient, method: str, path: str, body: object, status: int, code: str
) -> None:
    """A client that reads one error reads them all."""
    started = await app.start_as(doubled, "done", "join", 1)
    await started.result()

    answer = await client.request(method, path, json=body)

    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    assert answer.json()["error"]["code"] == code
    assert sorted(answer.json()["error"]) == ["code", "hint", "message"]


async def test_policy_reject_is_a_conflict(app: Headrace, client: httpx2.AsyncClient) -> None:
    """Who asked for a new run must not be given an old one."""
    await app.run(doubled, 6)

    answer = await client.post("/api/runs", json={"flow": "doubled", "arguments": {"number": 6}, "policy": "reject"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "run_already_exists")


async def test_too_large_a_body_is_refused(client: httpx2.AsyncClient) -> None:
    """It would be read into memory before anybody looks at it."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(BODY_LIMIT // 1_000_000 + 1):
            yield b"x" * 1_000_000

    as_json = {"content-type": "application/json"}
    told = await client.post("/api/runs", content=b"x" * (BODY_LIMIT + 1), headers=as_json)
    chunked = await client.post("/api/runs", content=chunks(), headers=as_json)
    with_key = await client.post("/api/runs", content=chunks(), headers=as_json | {"idempotency-key": "a"})

    assert [answer.status_code for answer in (told, chunked, with_key)] == [413] * 3
    assert with_key.json()["error"]["code"] == "too_large"


async def test_a_stopped_engine_is_not_ready(app: Headrace, client: httpx2.AsyncClient) -> None:
    """A supervisor must be able to tell a process that lives from one that works."""
    app.engine.fail(OSError("the disk is gone"))

    ready = await client.get("/readyz")
    started = await client.post("/api/runs", json={"flow": "doubled", "arguments": {"number": 1}})

    assert (ready.status_code, ready.json()) == (503, {"ok": False, "reason": "the disk is gone"})
    assert (started.status_code, started.json()["error"]["code"]) == (503, "engine_unavailable")


async def test_a_defect_is_not_told_to_the_caller(
    app: Headrace, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stack trace in an answer tells strangers what they should not know."""

    async def broken(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(app, "detail", broken)

    answer = await client.get("/api/runs/x")

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "secret" not in answer.text


async def test_status_names_what_runs(client: httpx2.AsyncClient) -> None:
    """`headrace doctor` asks it."""
    status = (await client.get("/api/status")).json()

    assert status["ready"] is True
    assert status["flows"] == {"web": ["doubled", "mail", "bad", "long", "strange"]}
