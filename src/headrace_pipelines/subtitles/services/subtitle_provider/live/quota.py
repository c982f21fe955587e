"""Downloads are few and are counted by the provider, so each is put aside here before it is asked for.

With three left, ten callers make three requests: the others wait until those are settled, and learn then that nothing is
left. While the number is not known, one caller goes ahead and its answer tells.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace_pipelines.subtitles.services.subtitle_provider.port import QuotaUsedUp

_SAME_RESET = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an answer says about the quota."""

    remaining: int | None = None
    resets_at: datetime | None = None


class Quota:
    def __init__(self, provider: str, now: Callable[[], datetime]) -> None:
        self._provider = provider
        self._now = now
        self._changed = asyncio.Condition()
        self._under_way = 0
        self._least_told: int | None = None
        self.allowed: int | None = None
        self.remaining: int | None = None
        self.resets_at: datetime | None = None

    def restore(self, *, allowed: int | None, remaining: int | None, resets_at: datetime | None) -> None:
        self.allowed, self.remaining, self.resets_at = allowed, remaining, resets_at
        self._begin_anew_if_due()

    async def learn(self, *, allowed: int | None, remaining: int | None) -> None:
        """What the provider says when it is asked how the account stands."""
        async with self._changed:
            self.allowed = allowed if allowed is not None else self.allowed
            if remaining is not None:
                self._take(Told(remaining=remaining))
            self._changed.notify_all()

    @asynccontextmanager
    async def reservation(self) -> AsyncIterator[Reservation]:
        """One download; raises ``QuotaUsedUp`` without asking if there is none left."""
        async with self._changed:
            while not self._is_one_free():
                await self._changed.wait()
            if self._under_way == 0:
                self._least_told = None
            self._under_way += 1
        reservation = Reservation()
        try:
            yield reservation
        finally:
            # No await before this: a caller that is cancelled must give back what it put aside.
            self._settle(reservation)
            async with self._changed:
                self._changed.notify_all()

    def _is_one_free(self) -> bool:
        self._begin_anew_if_due()
        if self.remaining is None:
            return self._under_way == 0
        if self.remaining > self._under_way:
            return True
        if self.remaining > 0 or self._under_way > 0:
            return False
        if self.resets_at is None:
            return True  # the refusal of this one tells how long there is none
        raise QuotaUsedUp(self._provider, self.resets_at)

    def _begin_anew_if_due(self) -> None:
        if self.resets_at is not None and self.resets_at <= self._now():
            self.remaining, self.resets_at, self._least_told = None, None, None

    def _settle(self, reservation: Reservation) -> None:
        self._under_way -= 1
        if reservation.is_spent and self.remaining is not None:
            self.remaining = max(0, self.remaining - 1)
        self._take(reservation.told)

    def _take(self, told: Told) -> None:
        if told.resets_at is not None:
            if self.resets_at is not None and told.resets_at > self.resets_at + _SAME_RESET:
                self.remaining, self._least_told = None, None
            self.resets_at = told.resets_at
        if told.remaining is None:
            return
        # Answers overtake each other, so the least of those under way together is the newest.
        self._least_told = min(told.remaining, self._least_told if self._least_told is not None else told.remaining)
        known = self.remaining if self._under_way and self.remaining is not None else self._least_told
        self.remaining = max(0, min(known, self._least_told))


class Reservation:
    """As long as nothing is said, nothing was spent."""

    def __init__(self) -> None:
        self.is_spent = False
        self.told = Told()

    def answered(self, told: Told, *, spent: bool) -> None:
        self.is_spent = spent
        self.told = told
