"""A request that is sent again is not carried out again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from headrace import Headrace
from headrace._app import inspection
from headrace._base.clock import to_micros
from headrace._idempotency.model import KEPT
from headrace._idempotency.store import SQL, Request
from headrace._runs.store import counts
from headrace._store.statements import parse
from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace._web.demand import demands
from headrace.errors import StoreFull
from tests.unit.headrace._web.conftest import PIPELINE, NewToken, client_of, long

START = {"flow": "strange"}  # its runs have no id of their own, so that two starts make two runs
REPLAYED = "idempotency-replayed"


def key(text: str) -> dict[str, str]:
    return {"Idempotency-Key": text}


def how_many(app: Headrace) -> int:
    return sum(app.database.read(counts).values())


async def test_the_first_answer_is_given_again(app: Headrace, client: httpx2.AsyncClient) -> None:
    """A client that lost the answer to a bad line must be able to ask for it."""
    first = await client.post("/api/runs", json=START, headers=key("a"))
    again = await client.post("/api/runs", json=START, headers=key("a"))

    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert REPLAYED not in first.headers
    assert again.headers[REPLAYED] == "true"
    assert again.headers["content-type"] == first.headers["content-type"]
    assert how_many(app) == 1


async def test_without_a_key_every_request_counts(app: Headrace, client: httpx2.AsyncClient) -> None:
    """Nobody asked for anything else."""
    for _ in range(2):
        await client.post("/api/runs", json=START)

    assert how_many(app) == 2


async def test_a_message_is_left_once(app: Headrace, client: httpx2.AsyncClient) -> None:
    """A message has no id by which the receiver could tell that it was sent twice."""
    await app.start(long, 1)
    answers = [await client.post("/api/runs/long-1/send", json={"topic": "x"}, headers=key("a")) for _ in range(3)]

    assert [(answer.status_code, answer.headers.get(REPLAYED)) for answer in answers] == [
        (201, None), (201, "true"), (201, "true"),
    ]  # fmt: skip
    assert len(app.database.read(lambda reader: inspection.detail_of(reader, "long-1")).messages) == 1


OTHER = [
    ("/api/runs", {"flow": "strange", "policy": "replace"}),
    ("/api/runs/nope/retry", {"flow": "strange"}),
]


@pytest.mark.parametrize("path,body", OTHER)
async def test_another_request_with_the_same_key_is_refused(
    app: Headrace, client: httpx2.AsyncClient, path: str, body: object
) -> None:
    """The first answer would be a lie, and doing it a surprise."""
    await client.post("/api/runs", json=START, headers=key("a"))

    answer = await client.post(path, json=body, headers=key("a"))

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "idempotency_key_reused")
    assert how_many(app) == 1


async def test_while_the_first_is_under_way_the_second_is_told_so(app: Headrace, client: httpx2.AsyncClient) -> None:
    """An impatient client must not get two runs, nor hang."""
    answers = await asyncio.gather(*(client.post("/api/runs", json=START, headers=key("a")) for _ in range(5)))

    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409]
    assert {answer.json()["error"]["code"] for answer in answers if answer.status_code == 409} == {"request_under_way"}
    assert how_many(app) == 1


async def test_a_refused_request_may_be_mended_and_sent_again(app: Headrace, client: httpx2.AsyncClient) -> None:
    """It has changed nothing."""
    refused = await client.post("/api/runs", json={"flow": "nope"}, headers=key("a"))
    mended = await client.post("/api/runs", json=START, headers=key("a"))

    assert [refused.status_code, mended.status_code] == [404, 201]


@pytest.mark.allow_blocking
async def test_the_answer_is_on_disk_before_it_is_sent(tmp_path: Path) -> None:
    """The process may die between the two, and the client asks the next one."""
    async with Headrace([PIPELINE], store=tmp_path / "a.db") as app, client_of(app) as client:
        first = await client.post("/api/runs", json=START, headers=key("a"))
        app.engine.kill()

    async with Headrace([PIPELINE], store=tmp_path / "a.db") as app, client_of(app) as client:
        again = await client.post("/api/runs", json=START, headers=key("a"))

    assert (again.content, again.headers[REPLAYED]) == (first.content, "true")


async def test_an_effect_whose_answer_was_lost_is_not_repeated(
    app: Headrace, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process died after the run was on disk and before its answer was: starting it again would be the second time."""

    def die(*_: object) -> None:
        raise StoreFull("as if the process had died here")

    with monkeypatch.context() as dying:
        dying.setattr(Request, "keep", die)
        lost = await client.post("/api/runs", json=START, headers=key("a"))
    again = await client.post("/api/runs", json=START, headers=key("a"))

    assert lost.status_code == 503
    assert (again.status_code, again.json()["error"]["code"]) == (409, "answer_lost")
    assert how_many(app) == 1


async def test_after_a_day_a_key_is_forgotten(app: Headrace, client: httpx2.AsyncClient) -> None:
    """Otherwise the table would grow for ever."""
    await client.post("/api/runs", json=START, headers=key("a"))
    age = parse("-- name: age\n-- For this test.\nUPDATE idempotency SET at = at - :by", origin="here").age
    await app.database.write(lambda tx: tx.run(age, {"by": to_micros(KEPT)}))

    await client.post("/api/runs", json=START, headers=key("b"))
    again = await client.post("/api/runs", json=START, headers=key("a"))

    assert REPLAYED not in again.headers
    assert how_many(app) == 3
    assert app.database.read(lambda reader: reader.one(SQL.remembered, {"key": "a", "after": 0})) is not None


@pytest.mark.parametrize("wrong", ["", "x" * 256, "ü", "a\tb"])
async def test_what_cannot_be_a_key_is_refused(client: httpx2.AsyncClient, wrong: str) -> None:
    """Taken for no key at all, it would promise what it does not keep."""
    headers = [(b"Idempotency-Key", wrong.encode("latin-1"))]

    answer = await client.post("/api/runs", json=START, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_idempotency_key")


async def test_a_secret_is_not_kept_for_later(app: Headrace, client: httpx2.AsyncClient) -> None:
    """The answer to a new token holds the token."""
    answer = await client.post("/api/tokens", json={"name": "ci"}, headers=key("a"))

    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "no_idempotency_key")
    assert (await client.get("/api/tokens")).json()["tokens"] == []


async def test_revoking_is_remembered_too(client: httpx2.AsyncClient, new_token: NewToken) -> None:
    """The second time there is no such token any more, which would look like a failure."""
    await new_token()

    first = await client.post("/api/tokens/tester/revoke", headers=key("a"))
    again = await client.post("/api/tokens/tester/revoke", headers=key("a"))

    assert [first.status_code, again.status_code] == [200, 200]
    assert first.content == again.content


async def test_reading_takes_no_key(client: httpx2.AsyncClient) -> None:
    """It can be repeated as it is."""
    assert (await client.get("/api/runs", headers=key("a"))).status_code == 200


async def test_what_is_too_large_to_be_remembered_takes_no_key(app: Headrace) -> None:
    """An upload of a gigabyte would stand in memory as a whole, to be compared with the next one."""
    api = create_app(app, Admission())

    @api.post("/upload")
    @demands(most=100_000_000)
    async def upload() -> str:
        return "taken"

    transport = httpx2.ASGITransport(app=api)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8420") as client:
        refused = await client.post("/upload", headers=key("a"))
        taken = await client.post("/upload")

    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "no_idempotency_key")
    assert taken.json() == "taken"
