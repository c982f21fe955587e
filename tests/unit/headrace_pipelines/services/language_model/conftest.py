from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import pytest

from headrace.testing import VirtualClock
from headrace_pipelines.services.language_model.stand_in import LocalLanguageModel

T = TypeVar("T")
Through = Callable[[Coroutine[Any, Any, T]], Awaitable[T]]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def server(clock: VirtualClock) -> AsyncIterator[LocalLanguageModel]:
    async with LocalLanguageModel(clock=clock) as running:
        yield running


@pytest.fixture
def through(clock: VirtualClock) -> Through[Any]:
    """Do something while the clock jumps to whatever is waited for."""

    async def run(work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(work)
        while not task.done():
            for _ in range(20):
                await asyncio.sleep(0)  # noqa: TID251  whoever can go on does
            if not task.done() and (timers := clock.waiting()):
                clock.go_to(timers[0].due)
            else:
                await asyncio.wait([task], timeout=0.001)
        return await task

    return run
