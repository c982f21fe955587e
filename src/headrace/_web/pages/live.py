"""One stream for each page that is open: it says when the store has changed, and the page asks for itself again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated

from fastapi import Header
from starlette.responses import Response

from headrace._events.store import last_position, scan
from headrace._events.topic import check_pattern, matches
from headrace._ports.database import Reader
from headrace._web.live import LiveEvent, Streams
from headrace._web.pages.frame import Frame, InFrame, page_router

router = page_router()

SECONDS_BETWEEN_LOOKS = 0.5
LOOKS_BETWEEN_TICKS = 20
_LOOKED_AT = 2_000


@router.get("/live/changes")
async def changes(
    frame: InFrame, since: str = "", topic: str = "", last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    """`changed` whenever something was committed, at most twice a second; `tick` now and then, for what changes with time alone.

    With ``topic`` only whenever such an event came behind position ``since``.
    """
    streams: Streams = frame.request.app.state.streams
    seen = last_event_id or since
    if topic:
        return streams.answer(_happenings(frame, streams, check_pattern(topic), int(seen) if seen.isdecimal() else 0))
    return streams.answer(_changes(frame, streams, seen))


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


async def _happenings(frame: Frame, streams: Streams, pattern: str, reached: int) -> AsyncGenerator[LiveEvent]:
    revision = ""
    while True:
        if frame.app.revision != revision:
            revision = frame.app.revision
            told, reached = await frame.ask(partial(_heard, pattern=pattern, after=reached))
            if told:
                yield LiveEvent(event="changed", data=str(reached), id=str(reached))
        await _pause(streams)


def _heard(reader: Reader, *, pattern: str, after: int) -> tuple[bool, int]:
    """Whether such an event came, and where the log ends. Of very many at once one may be such."""
    end, rows = last_position(reader), scan(reader, after, _LOOKED_AT)
    told = len(rows) == _LOOKED_AT or any(matches(pattern, topic) for _, topic, _, _ in rows)
    return told, max(after, end)


async def _pause(streams: Streams) -> None:
    try:
        async with asyncio.timeout(SECONDS_BETWEEN_LOOKS):
            await streams.closed()
    except TimeoutError:
        return
