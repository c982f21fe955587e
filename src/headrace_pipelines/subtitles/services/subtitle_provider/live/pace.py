"""How often a service is asked."""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import timedelta

from headrace.errors import RateLimited
from headrace_pipelines.services.clock import Clock, wait

_SHORTEST_WAIT = 0.001


class Pace:
    """So many turns in each window of time; callers take theirs in the order in which they came."""

    def __init__(
        self, clock: Clock, *, turns: int, window: timedelta, patience: timedelta | None = None, of: str = ""
    ) -> None:
        """With ``patience`` nobody waits longer than that for a free turn; the next one gets `RateLimited` instead."""
        self._clock = clock
        self._turns = turns
        self._window = window.total_seconds()
        self._patience = patience
        self._of = of
        self._taken: deque[float] = deque()
        self._line = asyncio.Lock()
        self._held_until = float("-inf")

    async def turn(self) -> None:
        async with self._line:
            while (pause := self._pause()) > 0:
                if self._patience is not None and pause > self._patience.total_seconds():
                    raise RateLimited(
                        f"{self._of} allows no more for now; it can go on in {pause:.0f} s",
                        retry_after=timedelta(seconds=pause),
                    )
                await wait(self._clock, max(pause, _SHORTEST_WAIT))
            self._taken.append(self._clock.monotonic())

    def hold(self, pause: timedelta) -> None:
        """The service asks everybody for patience."""
        self._held_until = max(self._held_until, self._clock.monotonic() + pause.total_seconds())

    def _pause(self) -> float:
        now = self._clock.monotonic()
        while self._taken and self._taken[0] + self._window <= now:
            self._taken.popleft()
        pause = self._held_until - now
        if len(self._taken) >= self._turns:
            pause = max(pause, self._taken[0] + self._window - now)
        return pause
