"""How often the stand-in may be asked, counted as the service counts: by the second, by the hour, by the day."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace_pipelines.services.clock import Clock


class Window:
    """So many requests in any stretch of time of this length."""

    def __init__(self, clock: Clock, most: int, length: float) -> None:
        self.most = most
        self.length = length
        self.largest = 0
        """The most that ever came in one stretch, those refused included."""
        self._clock = clock
        self._came: deque[float] = deque()

    def take(self) -> bool:
        now = self._clock.monotonic()
        while self._came and self._came[0] + self.length <= now:
            self._came.popleft()
        self._came.append(now)
        self.largest = max(self.largest, len(self._came))
        return len(self._came) <= self.most

    @property
    def remaining(self) -> int:
        return max(0, self.most - len(self._came))

    @property
    def reset(self) -> int:
        """Whole seconds until there is room again."""
        if not self._came:
            return 0
        return max(1, -int(-(self._came[0] + self.length - self._clock.monotonic()) // 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """As it is after a request."""

    requests: int
    remaining: int
    resets_at: datetime
    reset_in_words: str


class Day:
    """Downloads of one account; all of them are given anew at the reset."""

    def __init__(self, allowed: int, now: Callable[[], datetime]) -> None:
        self.allowed = allowed
        self.used = 0
        self._now = now
        self._resets_at: datetime | None = None

    @property
    def resets_at(self) -> datetime:
        now = self._now()
        if self._resets_at is None or self._resets_at <= now:
            if self._resets_at is not None:
                self.used = 0
            self._resets_at = now.replace(hour=23, minute=59, second=59, microsecond=0)
            if self._resets_at <= now:
                self._resets_at += timedelta(days=1)
        return self._resets_at

    def has_left(self, left: int, resets_at: datetime | None = None) -> None:
        self._resets_at = resets_at or self.resets_at
        self.used = self.allowed - left

    @property
    def left(self) -> int:
        _ = self.resets_at
        return self.allowed - self.used

    def take(self) -> bool:
        if self.left <= 0:
            return False
        self.used += 1
        return True

    def standing(self, *, refused: bool = False) -> Standing:
        resets_at = self.resets_at
        minutes = max(0, int((resets_at - self._now()).total_seconds() // 60))
        return Standing(
            requests=self.used + (1 if refused else 0),
            remaining=-1 if refused else self.left,
            resets_at=resets_at,
            reset_in_words=f"{minutes // 60} hours and {minutes % 60} minutes",
        )
