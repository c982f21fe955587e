"""One stream for each page that is open: it says when the store has changed, and the page asks for itself again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import Header
from fastapi.sse import format_sse_event
from starlette.responses import Response, StreamingResponse

from headrace._web.pages.frame import Frame, InFrame, page_router

router = page_router()

SECONDS_BETWEEN_LOOKS = 0.5
LOOKS_BETWEEN_TICKS = 20


@router.get("/live/changes")
async def changes(frame: InFrame, since: str = "", last_event_id: Annotated[str | None, Header()] = None) -> Response:
    """`changed` whenever something was committed, at most twice a second; `tick` now and then, for what changes with time alone."""
    return StreamingResponse(_changes(frame, last_event_id or since), media_type="text/event-stream")


async def _changes(frame: Frame, seen: str) -> AsyncGenerator[bytes]:
    stopping: asyncio.Event = frame.request.app.state.stopping
    yield format_sse_event(comment="connected")
    looks = 0
    while not stopping.is_set():
        looks += 1
        revision = frame.app.revision
        if revision != seen:
            seen = revision
            yield format_sse_event(event="changed", data_str=revision, id=revision)
        elif looks % LOOKS_BETWEEN_TICKS == 0:
            yield format_sse_event(event="tick", data_str=revision)
        await _pause(stopping)


async def _pause(stopping: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(SECONDS_BETWEEN_LOOKS):
            await stopping.wait()
    except TimeoutError:
        return
