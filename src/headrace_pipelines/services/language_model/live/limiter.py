"""How fast a service is asked: not faster than agreed, and not before it wants to be asked again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass
from datetime import timedelta

from headrace.errors import RateLimited, ServiceError
from headrace_pipelines.services.clock import Clock, wait

# Half a second more than a minute: a request that travels faster than the one a minute before it must not be one too many.
_WINDOW = 60.5
_SHORTEST_WAIT = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    at_once: int = 4
    patience: timedelta = timedelta(seconds=10)
    """A pause that the service asks for is waited out here if it is no longer; else `RateLimited` tells the caller to wait."""


class Limiter:
    """Callers take turns in the order in which they came."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._slots = asyncio.Semaphore(limits.at_once)
        self._line = asyncio.Lock()
        self._window: deque[Turn] = deque()
        self._held_until = float("-inf")
        self._closed: tuple[float, ServiceError] | None = None
        self._tokens_left: tuple[int, float] | None = None

    @asynccontextmanager
    async def turn(self, tokens: int) -> AsyncIterator[Turn]:
        """Wait until about so many tokens may be asked for, and hold the turn until the end of the block."""
        async with self._slots:
            async with self._line:
                await self._room_for(tokens)
                turn = Turn(self._clock.monotonic(), tokens)
                self._window.append(turn)
            yield turn

    def hold(self, pause: timedelta) -> None:
        """The service asks everybody for patience."""
        self._held_until = max(self._held_until, self._clock.monotonic() + pause.total_seconds())

    def close(self, error: ServiceError, duration: timedelta) -> None:
        """The service answers nobody for so long; callers get this error without asking it."""
        self._closed = (self._clock.monotonic() + duration.total_seconds(), error)

    def tokens_left(self, tokens: int, reset: timedelta) -> None:
        """The service says how many it still gives before ``reset`` has passed."""
        self._tokens_left = (tokens, self._clock.monotonic() + reset.total_seconds())

    async def _room_for(self, tokens: int) -> None:
        while True:
            now = self._clock.monotonic()
            self._refuse(now)
            pause = max(self._pause_for_window(now, tokens), self._pause_for_service(now, tokens))
            if pause <= 0:
                break
            await wait(self._clock, max(pause, _SHORTEST_WAIT))
        if self._tokens_left is not None:
            left, until = self._tokens_left
            self._tokens_left = (left - tokens, until)

    def _refuse(self, now: float) -> None:
        if self._closed is not None and now < self._closed[0]:
            raise copy(self._closed[1])
        pause = timedelta(seconds=self._held_until - now) if self._held_until > now else timedelta(0)
        if pause > self._limits.patience:
            raise RateLimited(
                f"the language model asks for a pause, {pause.total_seconds():.0f} s of it are left; ask again after it",
                retry_after=pause,
            )

    def _pause_for_service(self, now: float, tokens: int) -> float:
        pause = self._held_until - now
        if self._tokens_left is not None:
            left, until = self._tokens_left
            if now >= until:
                self._tokens_left = None
            elif tokens > left:
                pause = max(pause, until - now)
        return pause

    def _pause_for_window(self, now: float, tokens: int) -> float:
        window = self._window
        while window and window[0].at + _WINDOW <= now:
            window.popleft()
        pause = 0.0
        most = self._limits.requests_per_minute
        if most is not None and len(window) >= most:
            pause = window[len(window) - most].at + _WINDOW - now
        return max(pause, self._pause_for_tokens(now, tokens))

    def _pause_for_tokens(self, now: float, tokens: int) -> float:
        most = self._limits.tokens_per_minute
        if most is None:
            return 0.0
        # What alone is more than a minute's worth can only go when nothing else did.
        excess = sum(turn.tokens for turn in self._window) + min(tokens, most) - most
        for turn in self._window:
            if excess <= 0:
                break
            excess -= turn.tokens
            if excess <= 0:
                return turn.at + _WINDOW - now
        return 0.0


class Turn:
    __slots__ = ("at", "tokens")

    def __init__(self, at: float, tokens: int) -> None:
        self.at = at
        self.tokens = tokens

    def used(self, tokens: int) -> None:
        """It were so many in truth."""
        self.tokens = tokens
