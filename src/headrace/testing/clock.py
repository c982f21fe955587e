"""A clock that stands still until somebody moves it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from headrace._base.clock import Instant, from_datetime, to_datetime, to_micros

__all__ = ["BEGINNING", "VirtualClock", "VirtualTimer"]

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualTimer:
    """What ``call_at`` and ``call_after`` return; ``cancel`` makes it never happen."""

    __slots__ = ("_callback", "due")

    def __init__(self, due: Instant, callback: Callable[[], object]) -> None:
        self.due = due
        self._callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self._callback = None

    @property
    def cancelled(self) -> bool:
        return self._callback is None

    def fire(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()


class VirtualClock:
    """The clock of a harness: it jumps when everything waits, and goes where a test sends it.

    What falls due is called on the event loop, in the order of the due times, after the call that moved the clock has returned.
    """

    def __init__(self, start: datetime = BEGINNING) -> None:
        self._now = from_datetime(start)
        self._passed = 0
        self._timers: list[tuple[Instant, int, VirtualTimer]] = []
        self._count = 0

    def __repr__(self) -> str:
        return f"<virtual clock at {self.moment.isoformat()}>"

    @property
    def moment(self) -> datetime:
        """What the clock shows."""
        return to_datetime(self._now)

    def now(self) -> Instant:
        return self._now

    def monotonic(self) -> float:
        """Seconds that the clock went forward in all; going back is no time that passes."""
        return self._passed / 1_000_000

    def advance(self, duration: timedelta) -> None:
        """Let time pass at once, as for a machine that was suspended; ``Harness.advance`` lets everything happen on the way."""
        if duration < timedelta(0):
            raise ValueError(f"time does not pass backward ({duration}); to put the clock back use set(...)")
        self.go_to(self._now + to_micros(duration))

    def set(self, moment: datetime) -> None:
        """Put the clock forward or back, as an administrator does to a wall clock."""
        self.go_to(from_datetime(moment))

    def go_to(self, instant: Instant) -> None:
        self._passed += max(0, instant - self._now)
        self._now = instant
        while self._timers and self._timers[0][0] <= instant:
            timer = heapq.heappop(self._timers)[2]
            if not timer.cancelled:
                asyncio.get_running_loop().call_soon(timer.fire)

    def call_at(self, due: Instant, callback: Callable[[], object]) -> VirtualTimer:
        timer = VirtualTimer(due, callback)
        if due <= self._now:
            asyncio.get_running_loop().call_soon(timer.fire)
        else:
            self._count += 1
            heapq.heappush(self._timers, (due, self._count, timer))
        return timer

    def call_after(self, duration: timedelta, callback: Callable[[], object]) -> VirtualTimer:
        """Call back when so much time has passed; for stand-ins that change with time."""
        return self.call_at(self._now + to_micros(duration), callback)

    def waiting(self) -> list[VirtualTimer]:
        """What will fall due, the earliest first."""
        return [timer for _, _, timer in sorted(self._timers, key=lambda item: item[:2]) if not timer.cancelled]
