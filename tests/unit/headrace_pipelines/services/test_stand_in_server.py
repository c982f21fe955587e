from __future__ import annotations

import asyncio
import logging

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from headrace_pipelines.services.stand_in_server import HEADER, StandInServer


async def greet(request: Request) -> Response:
    return PlainTextResponse(f"hello {request.path_params['name']}, {(await request.body()).decode()}")


def greeter() -> StandInServer:
    return StandInServer("greeter", [("POST", "/greetings/{name}", greet)])


async def test_it_answers_over_http_and_notes_what_it_is_asked() -> None:
    """Tests ask the log of a stand-in instead of patching a client."""
    async with greeter() as server, httpx2.AsyncClient(base_url=server.url) as client:
        answer = await client.post("/greetings/ann?loud=1", content=b"welcome", headers={"X-Who": "me"})

    (asked,) = server.asked
    assert answer.text == "hello ann, welcome"
    assert (asked.method, asked.path, asked.query, asked.body) == ("POST", "/greetings/ann", {"loud": "1"}, b"welcome")
    assert asked.headers["x-who"] == "me"


async def test_every_answer_says_that_it_is_a_stand_in() -> None:
    """Nobody shall take it for the real service, not even when it fails."""
    async with greeter() as server, httpx2.AsyncClient(base_url=server.url) as client:
        found, lost = await client.post("/greetings/ann"), await client.get("/nowhere")

    assert [answer.headers[HEADER] for answer in (found, lost)] == ["greeter", "greeter"]
    assert lost.status_code == 404


async def test_it_announces_itself_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever runs on stand-ins finds out from the first lines of the log."""
    with caplog.at_level(logging.WARNING):
        async with greeter() as server:
            url = server.url

    (record,) = [record for record in caplog.records if record.getMessage() == "stand_in.started"]
    assert vars(record)["values"] == {"service": "greeter", "url": url}


async def test_it_listens_on_this_machine_only_while_it_runs() -> None:
    """A stand-in that outlives its test answers the next one."""
    async with greeter() as server:
        url = server.url
        assert url.startswith("http://127.0.0.1:")

    async with httpx2.AsyncClient() as client:
        with pytest.raises(httpx2.ConnectError):
            await client.post(f"{url}/greetings/ann")
    with pytest.raises(RuntimeError, match="async with"):
        _ = server.url


async def test_leaving_does_not_wait_for_held_back_answers() -> None:
    """A test of a time limit ends when the test ends, not when the slow answer would have come."""
    arrived = asyncio.Event()

    async def never(_: Request) -> Response:
        arrived.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with httpx2.AsyncClient() as client:
        async with StandInServer("slow", [("GET", "/", never)]) as server:
            asking = asyncio.create_task(client.get(server.url))
            await arrived.wait()

        assert (await asking).status_code == 503
