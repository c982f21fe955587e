"""The only place that asks the operating system for the time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

Instant = int
"""Microseconds since 1970-01-01 UTC: exact in SQLite, in JSON and in arithmetic."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_datetime(instant: Instant) -> datetime:
    return _EPOCH + timedelta(microseconds=instant)


def from_datetime(moment: datetime) -> Instant:
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; say which one, for example datetime(..., tzinfo=UTC)")
    return (moment - _EPOCH) // _MICROSECOND


def to_micros(duration: timedelta) -> int:
    return duration // _MICROSECOND


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


class SystemClock:
    """Wall time for due dates, the event loop's monotonic time for waiting."""

    def now(self) -> Instant:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()

    def call_at(self, due: Instant, callback: Callable[[], object]) -> TimerHandle:
        delay = max(0.0, (due - self.now()) / 1_000_000)
        return asyncio.get_running_loop().call_later(delay, callback)
