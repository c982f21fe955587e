"""Streams of events: their form, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import pytest
from starlette.responses import Response

from headrace._web import live
from headrace._web.live import LiveEvent, LiveResponse, Streams

ENCODED = [
    (LiveEvent(data="a"), b"data: a\n\n"),
    (LiveEvent(data="a\nb\r\nc\rd"), b"data: a\ndata: b\ndata: c\ndata: d\n\n"),
    (LiveEvent(data="ü", event="run", id="1-2"), "event: run\nid: 1-2\ndata: ü\n\n".encode()),
    (LiveEvent(data=""), b"data: \n\n"),
]


@pytest.mark.parametrize("event,encoded", ENCODED)
def test_events_have_the_form_of_the_standard(event: LiveEvent, encoded: bytes) -> None:
    """A line of the data that is not marked as such would be a field of its own."""
    assert event.encode() == encoded


@pytest.mark.parametrize(
    "event", [LiveEvent(data="", event="a\nid: 7"), LiveEvent(data="", id="a\r"), LiveEvent(data="", id="\0")]
)
def test_names_and_ids_cannot_smuggle_lines(event: LiveEvent) -> None:
    """They may come from data, and a line break in them would forge an event."""
    with pytest.raises(ValueError, match="one line"):
        event.encode()


class Reader:
    """The other side of a response."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        await self.reads.wait()
        self.sent.put_nowait(message)

    async def body(self) -> bytes:
        body: bytes = (await self.sent.get())["body"]
        return body

    def open(self, response: Response) -> asyncio.Task[None]:
        return asyncio.create_task(response({"type": "http", "path": "/live"}, self.receive, self.send))


class Source:
    """Events as a test hands them out, which knows whether anybody still wants them."""

    def __init__(self) -> None:
        self.next: asyncio.Queue[str | Exception] = asyncio.Queue()
        self.taken = 0
        self.closed = False

    async def events(self) -> AsyncIterator[LiveEvent]:
        try:
            while True:
                found = await self.next.get()
                if isinstance(found, Exception):
                    raise found
                self.taken += 1
                yield LiveEvent(data=found)
        finally:
            self.closed = True


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
async def reader() -> Reader:
    return Reader()


async def opened(reader: Reader, source: Source, streams: Streams) -> asyncio.Task[None]:
    stream = reader.open(streams.answer(source.events()))
    start = await reader.sent.get()
    assert start["status"] == 200
    assert (b"content-type", b"text/event-stream; charset=utf-8") in start["headers"]
    assert (await reader.body()).startswith(b"retry: ")
    return stream


async def test_events_come_as_they_happen(reader: Reader, source: Source) -> None:
    """A stream that gathers is no stream."""
    stream = await opened(reader, source, Streams())

    for text in ("one", "two"):
        source.next.put_nowait(text)
        assert await reader.body() == f"data: {text}\n\n".encode()

    reader.gone.set()
    await stream


async def test_a_reader_that_leaves_ends_the_stream(reader: Reader, source: Source) -> None:
    """Otherwise each page that was ever opened would be written to until the next event."""
    streams = Streams()
    stream = await opened(reader, source, streams)

    reader.gone.set()
    await stream

    assert source.closed
    assert streams.open == 0


async def test_closing_ends_all_streams(source: Source) -> None:
    """The server would wait for them when it stops."""
    streams = Streams()
    readers = [Reader() for _ in range(3)]
    running = [await opened(reader, Source(), streams) for reader in readers]

    streams.close()
    await asyncio.gather(*running)

    assert [(await reader.sent.get())["more_body"] for reader in readers] == [False] * 3


async def test_an_idle_stream_gives_signs_of_life(
    reader: Reader, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proxies cut what is silent."""
    monkeypatch.setattr(live, "SECONDS_BETWEEN_SIGNS", 0.01)
    stream = await opened(reader, source, Streams())

    assert [await reader.body() for _ in range(2)] == [b": still here\n\n"] * 2
    source.next.put_nowait("one")
    while (body := await reader.body()) == b": still here\n\n":
        pass

    assert body == b"data: one\n\n"
    reader.gone.set()
    await stream


async def test_a_reader_that_does_not_read_gathers_nothing(reader: Reader, source: Source) -> None:
    """A stopped browser must not fill the memory of the server; leaving still ends the stream."""
    stream = await opened(reader, source, Streams())
    reader.reads.clear()
    for number in range(1_000):
        source.next.put_nowait(str(number))
    for _ in range(100):
        await asyncio.wait((stream,), timeout=0)

    assert source.taken == 1
    reader.gone.set()
    await stream


async def test_a_reader_that_does_not_read_cannot_keep_the_server_from_stopping(reader: Reader, source: Source) -> None:
    """A laptop that was closed in the middle still holds its connection."""
    streams = Streams()
    stream = await opened(reader, source, streams)
    reader.reads.clear()
    source.next.put_nowait("one")

    streams.close()
    await stream

    assert streams.open == 0


async def test_a_source_that_ends_ends_the_stream(reader: Reader) -> None:
    """The engine may stop while somebody reads."""

    async def three() -> AsyncIterator[LiveEvent]:
        for number in range(3):
            yield LiveEvent(data=str(number))

    await reader.open(Streams().answer(three()))

    assert reader.sent.qsize() == 6  # start, retry, three events, end


async def test_a_source_that_breaks_is_in_the_log(
    reader: Reader, source: Source, caplog: pytest.LogCaptureFixture
) -> None:
    """The reader only sees that it has ended."""
    stream = await opened(reader, source, Streams())
    source.next.put_nowait(ZeroDivisionError("odd"))
    await stream

    assert "http.stream_failed" in caplog.text
    assert (await reader.body()) == b""


async def test_streams_are_not_without_number(monkeypatch: pytest.MonkeyPatch, source: Source) -> None:
    """Each holds a connection and a task."""
    monkeypatch.setattr(live, "MOST_STREAMS", 0)

    answer = Streams().answer(source.events())

    assert not isinstance(answer, LiveResponse)
    assert answer.status_code == 503
