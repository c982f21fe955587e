from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import httpx2
import pytest
from pydantic import SecretStr

from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.services.subtitle_provider.live import Account, OpenSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.memory import MemoryOfThisProcess
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import LocalSubtitles

T = TypeVar("T")
Through = Callable[[Awaitable[T]], Awaitable[T]]
Connect = Callable[..., OpenSubtitles]


class Counting(httpx2.AsyncBaseTransport):
    """Knows whether an answer is under way."""

    def __init__(self) -> None:
        self.sent = 0
        self.under_way = 0
        self._real = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent += 1
        self.under_way += 1
        try:
            response = await self._real.handle_async_request(request)
        finally:
            self.under_way -= 1
        return response

    async def aclose(self) -> None:
        await self._real.aclose()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def server(clock: VirtualClock) -> AsyncIterator[LocalSubtitles]:
    async with LocalSubtitles(clock=clock, now=lambda: clock.moment) as running:
        yield running


@pytest.fixture
def memory() -> MemoryOfThisProcess:
    return MemoryOfThisProcess()


@pytest.fixture
def transport() -> Counting:
    return Counting()


@pytest.fixture
async def connect(
    clock: VirtualClock, server: LocalSubtitles, memory: MemoryOfThisProcess, transport: Counting
) -> AsyncIterator[Connect]:
    """Clients of the stand-in that share what is remembered, as one process after the other does."""
    made: list[OpenSubtitles] = []

    def make(**changes: Any) -> OpenSubtitles:
        settings: dict[str, Any] = {
            "key": SecretStr("stand-in-key"),
            "user_agent": "Headrace v0.1",
            "account": Account(username="demo", password=SecretStr("demo")),
            "url": server.api,
            "memory": memory,
            "clock": clock,
            "now": lambda: clock.moment,
            "jitter": lambda: 0.5,
            "transport": transport,
        }
        made.append(OpenSubtitles(**{**settings, **changes}))
        return made[-1]

    yield make
    for client in made:
        await client.__aexit__(None, None, None)


@pytest.fixture
def provider(connect: Connect) -> OpenSubtitles:
    return connect()


@pytest.fixture
def through(clock: VirtualClock, server: LocalSubtitles, transport: Counting) -> Through[Any]:
    """Do something while the clock jumps to whatever is waited for; it does not jump while an answer is under way."""

    async def run(work: Awaitable[T]) -> T:
        task = asyncio.ensure_future(work)
        seen = -1
        while not task.done():
            await asyncio.wait([task], timeout=0.002)
            quiet, seen = seen == transport.sent and transport.under_way == 0, transport.sent
            timers = clock.waiting()
            if quiet and timers and not task.done():
                clock.go_to(timers[0].due)
        return await task

    return run
