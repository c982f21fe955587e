"""The time that live clients and stand-ins wait by; tests put ``headrace.testing.VirtualClock`` in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    def monotonic(self) -> float:
        """Seconds that never go backward; good for differences only."""
        ...

    def call_after(self, duration: timedelta, callback: Callable[[], object]) -> Timer:
        """Call back on the running event loop when so much time has passed."""
        ...


class LoopClock:
    """The time of the running event loop."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def call_after(self, duration: timedelta, callback: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(duration.total_seconds(), callback)


async def wait(clock: Clock, seconds: float) -> None:
    """Return after so many seconds of this clock."""
    if seconds <= 0:
        return
    over = asyncio.Event()
    timer = clock.call_after(timedelta(seconds=seconds), over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()
