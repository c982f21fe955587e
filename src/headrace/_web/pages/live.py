"""One stream for each page that is open: it says when the store has changed, and the page asks for itself again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Header
from starlette.responses import Response

from headrace._web.live import LiveEvent, Streams
from headrace._web.pages.frame import Frame, InFrame, page_router

router = page_router()

SECONDS_BETWEEN_LOOKS = 0.5
LOOKS_BETWEEN_TICKS = 20


@router.get("/live/changes")
async def changes(frame: InFrame, since: str = "", last_event_id: Annotated[str | None, Header()] = None) -> Response:
    """`changed` whenever something was committed, at most twice a second; `tick` now and then, for what changes with time alone."""
    streams: Streams = frame.request.app.state.streams
    return streams.answer(_changes(frame, streams, last_event_id or since))


async def _changes(frame: Frame, streams: Streams, seen: str) -> AsyncGenerator[LiveEvent]:
    looks = 0
    while True:
        looks += 1
        revision = frame.app.revision
        if revision != seen:
            seen = revision
            yield LiveEvent(event="changed", data=revision, id=revision)
        elif looks % LOOKS_BETWEEN_TICKS == 0:
            yield LiveEvent(event="tick", data=revision)
        await _pause(streams)


async def _pause(streams: Streams) -> None:
    try:
        async with asyncio.timeout(SECONDS_BETWEEN_LOOKS):
            await streams.closed()
    except TimeoutError:
        return
