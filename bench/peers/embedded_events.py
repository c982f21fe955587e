"""Headrace, embedded: events move jobs; with ``handled`` an event is done only when a handler has returned."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.child import serve
from bench.event_workload import LAST_STATE, MOVES, EventSystem, Said
from headrace import Event, Headrace, Lifecycle, Pipeline, on

_LOOK_EVERY = 0.001
_lifecycle = Lifecycle("subtitle", moves=MOVES, terminal=[LAST_STATE])
_handled: dict[tuple[str, str], float] = {}


async def handle(event: Event[Any]) -> None:
    _handled[event.subject, event.topic] = time.monotonic()


class EmbeddedEvents(EventSystem):
    def __init__(self, app: Headrace, *, handled: bool) -> None:
        self._app = app
        self._answered: dict[tuple[str, str], float] = {}
        self._done = _handled if handled else self._answered

    async def publish(self, said: Said) -> None:
        await self._app.publish(said.topic, said.data, subject=said.job, source="bench")
        self._answered[said.job, said.topic] = time.monotonic()

    async def done(self, events: Sequence[Said]) -> list[float]:
        wanted = [(said.job, said.topic) for said in events]
        while len(self._done) < len(self._answered):  # noqa: ASYNC110 - a handler has nobody to tell
            await asyncio.sleep(_LOOK_EVERY)
        found = [self._done[each] for each in wanted]
        self._done.clear()
        self._answered.clear()
        return found

    async def read(self, job: str) -> tuple[str, list[str]]:
        found = await self._app.job(_lifecycle, job)
        return found.state, [event.topic for event in await self._app.job_history(_lifecycle, job)]


async def main(folder: str, *more: str) -> None:
    handled = "handled" in more
    pipeline = Pipeline("bench", lifecycles=[_lifecycle], triggers=[on("subtitle.#", handle)] if handled else [])
    async with Headrace([pipeline], store=Path(folder) / "events.db") as app:
        measured = EmbeddedEvents(app, handled=handled)
        await serve({"open": lambda: "", "throughput": measured.throughput, "latency": measured.latency})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
