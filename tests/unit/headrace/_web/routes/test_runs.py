"""Runs while they change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from headrace import Headrace
from headrace._web.admission import Admission
from headrace._web.app import create_app
from tests.unit.headrace._web.conftest import bad, doubled, long


class Stream:
    """A reader of /api/runs/live."""

    def __init__(self) -> None:
        self._sent: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self._left = asyncio.Event()
        self._events: list[dict[str, str]] = []
        self.last_id = ""

    async def event(self) -> dict[str, str]:
        """The next one, its fields by name."""
        while True:
            body: bytes = (await self._sent.get()).get("body", b"")
            fields = dict(line.split(": ", 1) for line in body.decode().splitlines() if ": " in line)
            if "data" in fields:
                self.last_id = fields.get("id", self.last_id)
                return fields

    async def until(self, run_id: str, state: str) -> dict[str, Any]:
        while True:
            run: dict[str, Any] = json.loads((await self.event())["data"])
            if (run["id"], run["state"]) == (run_id, state):
                return run

    async def receive(self) -> MutableMapping[str, Any]:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self._sent.put_nowait(message)

    async def opened(self) -> None:
        assert (await self._sent.get())["status"] == 200
        assert (await self._sent.get())["body"].startswith(b"retry")

    def leave(self) -> None:
        self._left.set()


@asynccontextmanager
async def reading(app: Headrace, last_id: str | None = None) -> AsyncIterator[Stream]:
    stream = Stream()
    path = b"/api/runs/live"
    headers = [(b"host", b"127.0.0.1")] + ([] if last_id is None else [(b"last-event-id", last_id.encode())])
    scope = {
        "type": "http",
        "method": "GET",
        "path": path.decode(),
        "raw_path": path,
        "query_string": b"",
        "headers": headers,
    }
    serving = asyncio.create_task(create_app(app, Admission())(scope, stream.receive, stream.send))
    await stream.opened()
    yield stream
    stream.leave()
    await serving


async def test_changes_are_told_while_they_happen(app: Headrace) -> None:
    """A page that has to be reloaded is no live page."""
    async with reading(app) as stream:
        await app.start(long, 1)
        waiting = await stream.until("long-1", "waiting")
        await app.cancel("long-1")
        cancelled = await stream.until("long-1", "cancelled")

    assert waiting["reason"] == "timer"
    assert waiting["next_at"] is not None
    assert cancelled["finished_at"] is not None


async def test_every_end_is_told(app: Headrace) -> None:
    """The ones that fail are those that somebody waits to see."""
    async with reading(app) as stream:
        await app.run(doubled, 4)
        await app.start(bad, 1)

        await stream.until("double-4", "completed")
        await stream.until("bad-1", "failed")


async def test_after_a_break_without_changes_nothing_is_missed(app: Headrace) -> None:
    """A reader that reads the whole list anew each time its line breaks would be a load of its own."""
    async with reading(app) as stream:
        await app.run(doubled, 1)
        await stream.until("double-1", "completed")
        last_id = stream.last_id

    async with reading(app, last_id) as stream:
        await app.run(doubled, 2)
        first = await stream.event()

    assert (first["event"], json.loads(first["data"])["id"]) == ("run", "double-2")


async def test_after_a_break_with_changes_the_reader_is_told_to_look_anew(app: Headrace) -> None:
    """What happened meanwhile is not kept, and must not be passed over in silence."""
    async with reading(app) as stream:
        await app.run(doubled, 1)
        await stream.until("double-1", "completed")
        last_id = stream.last_id
    await app.run(doubled, 2)

    async with reading(app, last_id) as stream:
        first = await stream.event()
    async with reading(app, "of another process") as stream:
        other = await stream.event()

    assert first["event"] == other["event"] == "missed"
    assert first["id"] == other["id"]


async def test_a_run_called_live_can_be_reached(app: Headrace) -> None:
    """Ids come from data, and one of them may be the word that stands for the stream."""
    from tests.unit.headrace._web.conftest import client_of

    await app.start_as(doubled, "live", "join", 1)
    async with client_of(app) as client:
        answer = await client.get("/api/runs/%6Cive")

    assert answer.json()["run"]["id"] == "live"
