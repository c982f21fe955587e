"""Videos on the web, over HTTP; addresses that people give us never lead into the network behind the server."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self
from urllib.parse import urljoin, urlsplit

import httpcore2

from headrace.errors import ServiceRefused, ServiceUnavailable
from headrace.webhooks import open_pool
from headrace_pipelines.subtitles.rules.moviehash import PIECE, SMALLEST
from headrace_pipelines.subtitles.services.web_video.port import Ends

_REDIRECTS = 4
_OK, _PART = 200, 206


class HttpVideos:
    def __init__(self, *, allow_private: bool = False, timeout: float = 20.0) -> None:
        self._allow_private = allow_private
        self._timeout = timeout
        self._pool: httpcore2.AsyncConnectionPool | None = None

    async def __aenter__(self) -> Self:
        self._pool = await asyncio.to_thread(open_pool, allow_private=self._allow_private)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            await self._pool.aclose()

    async def ends_of(self, url: str) -> Ends:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise ServiceRefused(f"{url[:200]!r} is nowhere on the web, so nothing of the video can be read")
        head, size, url = await self._part(url, 0, PIECE)
        if size < SMALLEST:
            return Ends(size=size, head=b"", tail=b"")
        tail, _, _ = await self._part(url, size - PIECE, PIECE)
        return Ends(size=size, head=head, tail=tail)

    async def _part(self, url: str, start: int, length: int) -> tuple[bytes, int, str]:
        """So many bytes, the size of the whole, and where it was found in the end."""
        for _ in range(_REDIRECTS):
            try:
                async with asyncio.timeout(self._timeout):
                    found = await self._ask(url, start, length)
            except TimeoutError:
                raise ServiceUnavailable(f"{_host(url)} did not answer within {self._timeout:g} s") from None
            except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError) as error:
                raise ServiceUnavailable(
                    f"{_host(url)} could not be asked: {str(error) or type(error).__name__}"
                ) from error
            if not isinstance(found, str):
                return (*found, url)
            url = found
        raise ServiceRefused(f"{_host(url)} sends from one address to the next and never comes to a video")

    async def _ask(self, url: str, start: int, length: int) -> tuple[bytes, int] | str:
        """The part and the size of the whole, or another address to ask at."""
        assert self._pool is not None
        wanted = {"range": f"bytes={start}-{start + length - 1}", "host": _host(url), "user-agent": "Headrace"}
        raw = [(name.encode(), value.encode()) for name, value in wanted.items()]
        async with self._pool.stream("GET", url, headers=raw) as response:
            headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status in (301, 302, 303, 307, 308) and b"location" in headers:
                return urljoin(url, headers[b"location"])
            size = _size(response.status, headers, start, url)
            return await _read(response, length), size


def _size(status: int, headers: dict[bytes, str], start: int, url: str) -> int:
    if status >= 500:
        raise ServiceUnavailable(f"{_host(url)} answered {status}")
    told = headers.get(b"content-range", "").rpartition("/")[2] if status == _PART else ""
    if status == _OK and start == 0:
        told = headers.get(b"content-length", "")
    if not told.isdecimal():
        raise ServiceRefused(f"{_host(url)} answered {status} and gives no part of the video, so it has no hash")
    return int(told)


async def _read(response: httpcore2.Response, length: int) -> bytes:
    content = b""
    async for piece in response.aiter_stream():
        content += piece
        if len(content) >= length:
            break
    return content[:length]


def _host(url: str) -> str:
    return urlsplit(url).netloc
