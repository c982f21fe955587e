"""Sending one webhook, and what its answer means."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headrace._authoring.context import now
from headrace._authoring.retry import Seconds, to_timedelta
from headrace._base.clock import from_datetime
from headrace._base.webhook import ID, sign
from headrace._events.model import Event
from headrace.errors import EndpointGone, RateLimited, ServiceError, ServiceRefused, ServiceUnavailable, ValueRefused
from headrace.webhooks._cloud_event import CONTENT_TYPE, cloud_event, webhook_id

if TYPE_CHECKING:
    import httpcore2

TIMEOUT = timedelta(seconds=15)
_MOST_OF_AN_ANSWER = 16 * 1024
_SECONDS_FOR_THE_REST = 1.0
_LONGEST_PAUSE = timedelta(days=1)
_LONGEST_URL = 2_000


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """The other side has it."""

    status: int
    seconds: float


async def send(
    url: str,
    event: Event[Any],
    *,
    secret: str | Sequence[str] = (),
    timeout: Seconds = TIMEOUT,
    allow_private: bool = False,
) -> Delivered:
    """POST an event to an address, once; for handlers and steps, whose retries decide about the next attempt.

    The body is CloudEvents 1.0 in JSON, signed as Standard Webhooks says with each ``secret``; ``webhook-id`` is the event's id, the
    same in every attempt. Addresses of this machine and of private networks are refused unless ``allow_private``; redirects are not
    followed. Raises ``ServiceUnavailable``, ``RateLimited`` (with ``retry_after``) and ``ServiceRefused``, ``EndpointGone`` among them.
    """
    secrets = (secret,) if isinstance(secret, str) else tuple(secret)
    async with Sender(allow_private=allow_private) as sender:
        return await sender.send(url, event, secrets=secrets, timeout=to_timedelta(timeout, what="timeout"), at=now())


def check_url(url: str) -> str:
    """An address that webhooks may have; raises ``ValueRefused`` with the reason."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueRefused(f"{url[:80]!r} is no address of a web server") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueRefused(f"{url[:80]!r} is no address of a web server; use https://host/path")
    if parts.username is not None or parts.password is not None:
        raise ValueRefused("the address holds a user name or a password; webhooks are signed instead")
    if parts.fragment:
        raise ValueRefused("the address has a part behind '#', which is never sent")
    if len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueRefused(
            f"the address is not up to {_LONGEST_URL} visible ASCII characters; percent-encode the others"
        )
    return url


class Sender:
    """Keeps connections for those who send often."""

    def __init__(self, *, allow_private: bool) -> None:
        self._allow_private = allow_private
        self._opening: asyncio.Future[httpcore2.AsyncConnectionPool] | None = None

    async def __aenter__(self) -> Sender:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._opening is not None:
            opening, self._opening = self._opening, None
            await (await opening).aclose()

    async def send(
        self, url: str, event: Event[Any], *, secrets: Sequence[str], timeout: timedelta, at: datetime
    ) -> Delivered:
        body, id = cloud_event(event), webhook_id(event.id)
        headers = {"content-type": CONTENT_TYPE, "user-agent": "Headrace", "accept": "*/*", ID: id}
        if secrets:
            headers |= sign(id=id, at=from_datetime(at), body=body, secrets=secrets)
        began = asyncio.get_running_loop().time()
        status, answered = await self._post(check_url(url), body, headers, timeout.total_seconds())
        _judge(_name_of(url), status, answered, at)
        return Delivered(status=status, seconds=asyncio.get_running_loop().time() - began)

    async def _post(
        self, url: str, body: bytes, headers: Mapping[str, str], seconds: float
    ) -> tuple[int, dict[str, str]]:
        """The status of the answer and its headers."""
        pool = await self._pool()
        import httpcore2

        found: tuple[int, dict[str, str]] | None = None
        try:
            async with (
                asyncio.timeout(seconds),
                pool.stream("POST", url, headers=_raw(url, headers, body), content=body) as response,
            ):
                found = response.status, _texts(response.headers)
                await _read_a_little(response)
        except TimeoutError:
            if found is None:
                raise ServiceUnavailable(f"{_name_of(url)} did not answer within {seconds:g} s") from None
        except (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError) as error:
            if found is None:
                raise ServiceUnavailable(
                    f"{_name_of(url)} could not be asked: {str(error) or type(error).__name__}"
                ) from error
        assert found is not None
        return found

    async def _pool(self) -> httpcore2.AsyncConnectionPool:
        if self._opening is None:
            self._opening = asyncio.ensure_future(asyncio.to_thread(_open_pool, self._allow_private))
        return await asyncio.shield(self._opening)


def _open_pool(allow_private: bool) -> httpcore2.AsyncConnectionPool:
    # What is imported there is only for those who send something.
    from headrace.webhooks._connection import open_pool

    return open_pool(allow_private=allow_private)


def _raw(url: str, headers: Mapping[str, str], body: bytes) -> list[tuple[str, str]]:
    return [("host", urlsplit(url).netloc), *headers.items(), ("content-length", str(len(body)))]


def _texts(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


async def _read_a_little(response: httpcore2.Response) -> None:
    """A short answer is read to its end, so that the connection can be used again; of a long one nobody wants the rest."""
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_SECONDS_FOR_THE_REST):
            async for part in response.aiter_stream():
                size += len(part)
                if size > _MOST_OF_AN_ANSWER:
                    return


def _judge(name: str, status: int, headers: Mapping[str, str], at: datetime) -> None:
    if not 200 <= status < 300:
        error = _refusal(f"{name} answered {status}", status, headers, at)
        error.status = status
        raise error


def _refusal(said: str, status: int, headers: Mapping[str, str], at: datetime) -> ServiceError:
    if status == 410:
        return EndpointGone(f"{said}: it wants no more webhooks")
    if status in (429, 503):
        return RateLimited(said, retry_after=pause_asked(headers.get("retry-after", ""), at))
    if 300 <= status < 400:
        return ServiceRefused(f"{said}: redirects are not followed; use the address that it leads to")
    if status >= 500 or status == 408:
        return ServiceUnavailable(said)
    return ServiceRefused(said)


def pause_asked(text: str, at: datetime) -> timedelta | None:
    """What ``Retry-After`` asks for, up to a day; None where it says nothing that could be understood."""
    if text.isascii() and text.isdecimal():
        return min(timedelta(seconds=min(int(text[:9]), 10**8)), _LONGEST_PAUSE)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    pause = until.replace(tzinfo=until.tzinfo or UTC) - at
    return min(max(pause, timedelta(0)), _LONGEST_PAUSE)


def _name_of(url: str) -> str:
    """Scheme and host: the rest of an address may be as good as a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
