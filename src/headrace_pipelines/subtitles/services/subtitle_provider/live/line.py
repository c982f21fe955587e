"""The line to OpenSubtitles: headers, pace, patience, and what every answer may mean whatever was asked."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

import httpx2
from pydantic import JsonValue, SecretStr

from headrace.errors import RateLimited, ServiceRefused, ServiceUnavailable, UnexpectedAnswer
from headrace_pipelines.services.clock import Clock, wait
from headrace_pipelines.subtitles.services.subtitle_provider.live.breaker import Breaker
from headrace_pipelines.subtitles.services.subtitle_provider.live.pace import Pace
from headrace_pipelines.subtitles.services.subtitle_provider.live.pause import retry_after
from headrace_pipelines.subtitles.services.subtitle_provider.port import AccessRefused

_logger = logging.getLogger(__name__)

_TRIES = 3
_FIRST_WAIT = 0.5
_SHOWN = 200
_AT_ONCE = 8
_PATIENCE = timedelta(seconds=10)
_PAUSE_IF_NOT_TOLD = timedelta(seconds=1)
_LARGEST_FILE = 10 * 1024 * 1024
# A little more than a second: a request that travels faster than the fifth before it must not be one too many.
_SECOND = timedelta(seconds=1.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer that says something; what it means depends on the question."""

    status: int
    body: Mapping[str, JsonValue]
    shown: str
    """Its beginning, for messages."""

    @property
    def message(self) -> str:
        errors = self.body.get("errors")
        listed = ", ".join(map(str, errors)) if isinstance(errors, list) else ""
        return str(self.body.get("message") or self.body.get("error") or listed or self.shown or "nothing")


class Line:
    """Shared by everything that one provider asks, so that together they keep to its limits."""

    def __init__(
        self,
        url: str,
        *,
        key: SecretStr,
        user_agent: str,
        timeout: timedelta,
        clock: Clock,
        jitter: Callable[[], float],
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """``jitter`` gives numbers from 0 to 1."""
        self.url = url.rstrip("/")
        self.breaker = Breaker(clock)
        self._own_url = self.url
        self._clock = clock
        self._jitter = jitter
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._pace = Pace(clock, turns=5, window=_SECOND, patience=_PATIENCE, of="OpenSubtitles")
        self._busy = 0
        self._headers = {"user-agent": user_agent}
        self._api_headers = {"api-key": key.get_secret_value(), "accept": "application/json"}
        self._client = httpx2.AsyncClient(timeout=timeout.total_seconds(), headers=self._headers, transport=transport)

    async def close(self) -> None:
        await self._client.aclose()

    def move_to(self, host: str) -> None:
        """Ask there from now on; a host of somebody else would be given our key, so it is refused."""
        if not host:
            self.url = self._own_url
            return
        own = urlsplit(self._own_url)
        there = urlsplit(host if "://" in host else f"{own.scheme}://{host}")
        same = there.hostname == own.hostname or _owner(there.hostname or "") == _owner(own.hostname or "")
        if not same or there.scheme != own.scheme:
            raise UnexpectedAnswer(f"OpenSubtitles wants to be asked at {host!r}, which is not its own address")
        self.url = f"{there.scheme}://{there.netloc}{own.path}"

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        body: Mapping[str, JsonValue] | None = None,
        token: str | None = None,
    ) -> Reply:
        """Ask until there is an answer that says something; 403, 429 and what is broken never come back from here."""
        headers = {**self._api_headers, **({"authorization": f"Bearer {token}"} if token else {})}
        for attempt in range(_TRIES):
            self.breaker.check()
            try:
                response = await self._once(method, path, query, body, headers)
                reply = self._judged(response)
            except RateLimited as limited:
                pause = limited.retry_after or _PAUSE_IF_NOT_TOLD
                self._pace.hold(pause)
                if pause > _PATIENCE or attempt == _TRIES - 1:
                    raise
            except ServiceUnavailable as gone:
                if attempt == _TRIES - 1:
                    self.breaker.failed(gone)
                    raise
                await self._wait_before(attempt)
            else:
                self.breaker.passed()
                return reply
        raise AssertionError("the last attempt returns or raises")

    async def _wait_before(self, attempt: int) -> None:
        await wait(self._clock, _FIRST_WAIT * 2**attempt * (1 + self._jitter() / 2))

    async def _once(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]],
        body: Mapping[str, JsonValue] | None,
        headers: Mapping[str, str],
    ) -> httpx2.Response:
        url = httpx2.URL(self.url + path, params=list(query)) if query else httpx2.URL(self.url + path)
        async with self._slots:
            response = await self._send(method, url, body, headers)
            moved = response.headers.get("location", "")
            there = url.join(moved)
            if not (response.is_redirect and moved and method == "GET" and there.host == url.host):
                return response
            # It costs one of our five requests a second, so somebody should hear of it.
            values = {"asked": path, "moved_to": moved}
            _logger.warning("provider.redirected", extra={"event": "provider.redirected", "values": values})
            return await self._send(method, there, body, headers)

    async def _send(
        self, method: str, url: httpx2.URL, body: Mapping[str, JsonValue] | None, headers: Mapping[str, str]
    ) -> httpx2.Response:
        await self._pace.turn()
        with _transport_errors_named():
            return await self._client.request(method, url, json=body, headers=dict(headers))

    def _judged(self, response: httpx2.Response) -> Reply:
        status = response.status_code
        shown = response.text[:_SHOWN]
        said = f"OpenSubtitles answered {status}"
        if status == 429:
            raise RateLimited(f"{said}: too many requests", retry_after=retry_after(response.headers))
        if status >= 500 or status == 408:
            raise ServiceUnavailable(f"{said}: {' '.join(shown.split())!r}")
        body = _object(response)
        if status == 403:
            reply = Reply(status=status, body=body or {}, shown=shown)
            error = AccessRefused(f"{said}: {reply.message}. Look at the Api-Key and at the user agent")
            self.breaker.locked_out(error)
            raise error
        if body is None:
            raise ServiceUnavailable(f"{said} with something that is no JSON object: {' '.join(shown.split())!r}")
        if status == 400 or status in {404, 405, 413, 415, 422}:
            reply = Reply(status=status, body=body, shown=shown)
            raise ServiceRefused(f"{said}: {reply.message}")
        return Reply(status=status, body=body, shown=shown)

    async def content(self, link: str) -> bytes | None:
        """What lies at a link; None if the link has expired or leads nowhere. Our key does not go there."""
        if urlsplit(link).scheme not in {"http", "https"}:
            raise UnexpectedAnswer(f"OpenSubtitles gave a link that is no web address: {link[:_SHOWN]!r}")
        for attempt in range(_TRIES):
            try:
                return await self._content_once(link)
            except ServiceUnavailable:
                if attempt == _TRIES - 1:
                    raise
                await self._wait_before(attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _content_once(self, link: str) -> bytes | None:
        content = bytearray()
        with _transport_errors_named():
            async with self._client.stream("GET", link, follow_redirects=True) as response:
                if response.status_code in {404, 410}:
                    return None
                if response.status_code == 429:
                    raise RateLimited(
                        "the download of OpenSubtitles answered 429", retry_after=retry_after(response.headers)
                    )
                if response.status_code != 200:
                    raise ServiceUnavailable(f"the download of OpenSubtitles answered {response.status_code}")
                async for piece in response.aiter_bytes():
                    content += piece
                    if len(content) > _LARGEST_FILE:
                        raise UnexpectedAnswer(f"the file is larger than {_LARGEST_FILE // 1024**2} MB: no subtitle is")
        return bytes(content)


@contextmanager
def _transport_errors_named() -> Iterator[None]:
    try:
        yield
    except httpx2.TimeoutException as error:
        raise ServiceUnavailable(f"OpenSubtitles did not answer in time ({type(error).__name__})") from error
    except (httpx2.TransportError, httpx2.DecodingError) as error:
        raise ServiceUnavailable(
            f"the connection to OpenSubtitles failed: {str(error) or type(error).__name__}"
        ) from error


def _object(response: httpx2.Response) -> Mapping[str, JsonValue] | None:
    try:
        body = json.loads(response.content)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _owner(host: str) -> str:
    return ".".join(host.rsplit(".", 2)[-2:])
