from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from headrace._base.clock import Instant, TimerHandle


class Clock(Protocol):
    """The only source of time; tests put a virtual one in its place."""

    def now(self) -> Instant: ...

    def monotonic(self) -> float:
        """Seconds that never go backward; for measuring durations, never stored."""
        ...

    def call_at(self, due: Instant, callback: Callable[[], object]) -> TimerHandle:
        """Call back on the running event loop at or shortly after ``due``; an early call is harmless, callers look at ``now`` again."""
        ...
