"""Server-sent events: a stream that ends when the reader leaves or the server stops, and says now and then that it is still there.

A reader that is slow holds up nothing but its own stream: what is sent waits for the reader, and what is to be sent waits where it comes
from, so an iterator that is given here must not gather without bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace._base import log
from headrace._web import errors

SECONDS_BETWEEN_SIGNS = 15.0
"""Proxies cut connections on which nothing is heard."""
MOST_STREAMS = 256
_MILLISECONDS_TO_COME_BACK = 2_000
_SECONDS_TO_SAY_GOODBYE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEvent:
    """``data`` of any number of lines; ``id`` comes back as ``Last-Event-ID`` when a reader that was cut off returns.

    Without data it is no event to the reader, who only takes note of the id.
    """

    data: str | None
    event: str = ""
    id: str = ""

    def encode(self) -> bytes:
        lines = [f"{name}: {value}" for name, value in (("event", self.event), ("id", self.id)) if value]
        if any(character in line for line in lines for character in "\r\n\0"):
            raise ValueError("the name and the id of an event are one line each")
        if self.data is not None:
            lines += [f"data: {line}" for line in self.data.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        return ("\n".join(lines) + "\n\n").encode()


class Streams:
    """All streams of one server; it stops quickly only if they do."""

    def __init__(self) -> None:
        self._closing = asyncio.Event()
        self.open = 0

    def answer(self, events: AsyncIterator[LiveEvent]) -> Response:
        """The answer of a route that streams, or 503 where there are too many already."""
        if self.open >= MOST_STREAMS:
            message = f"{MOST_STREAMS} streams are open, which is all that this server gives"
            return errors.answer(503, "too_many_streams", message, "close some, or come back later")
        return LiveResponse(events, self)

    def close(self) -> None:
        """End them all; readers come back when the server does."""
        self._closing.set()

    async def closed(self) -> None:
        await self._closing.wait()


class LiveResponse(Response):
    media_type = "text/event-stream"

    def __init__(self, events: AsyncIterator[LiveEvent], streams: Streams) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.open += 1
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sending = asyncio.ensure_future(self._send_all(send))
        left = asyncio.ensure_future(_until_left(receive))
        closed = asyncio.ensure_future(self._streams.closed())
        try:
            await asyncio.wait((sending, left, closed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.open -= 1
            for task in (sending, left, closed):
                task.cancel()
            await asyncio.gather(sending, left, closed, return_exceptions=True)
        if not sending.cancelled() and (error := sending.exception()) is not None:
            # Too late for a status; the reader sees the end, comes back, and learns what is wrong then.
            log.warning("http.stream_failed", path=scope["path"], error=type(error).__name__, detail=str(error))
        with suppress(TimeoutError):  # of a reader that does not read
            async with asyncio.timeout(_SECONDS_TO_SAY_GOODBYE):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_all(self, send: Send) -> None:
        await _send(send, f"retry: {_MILLISECONDS_TO_COME_BACK}\n\n".encode())
        coming = asyncio.ensure_future(_next(self._events))
        try:
            while True:
                await asyncio.wait((coming,), timeout=SECONDS_BETWEEN_SIGNS)
                if not coming.done():
                    await _send(send, b": still here\n\n")
                    continue
                event = coming.result()
                if event is None:
                    return
                await _send(send, event.encode())
                coming = asyncio.ensure_future(_next(self._events))
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
            close = getattr(self._events, "aclose", None)
            if close is not None:
                await close()


async def _next(events: AsyncIterator[LiveEvent]) -> LiveEvent | None:
    async for event in events:
        return event
    return None


async def _send(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
