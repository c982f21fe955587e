"""Retry policies as data and plain arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from headrace.errors import DefinitionError, OutcomeUnknown, ValueRefused

Seconds = float | int | timedelta

# Another attempt cannot change these: the code or the value is wrong, or a person must decide.
_HOPELESS = (DefinitionError, ValueRefused, OutcomeUnknown)


def to_timedelta(duration: Seconds, *, what: str) -> timedelta:
    length = duration if isinstance(duration, timedelta) else timedelta(seconds=duration)
    if length < timedelta(0):
        raise DefinitionError(f"{what} is {length}, but a duration cannot be negative")
    return length


@dataclass(frozen=True, kw_only=True)
class Retry:
    """How often and how patiently a step is tried; durations are seconds or timedeltas.

    An error that carries ``retry_after`` is waited out at least that long.
    """

    attempts: int | None = 3
    """Attempts in all, the first one included; None: as many as it takes."""
    first: Seconds = 1
    """Wait after the first failure."""
    factor: float = 2
    """Each further wait is this much longer."""
    ceiling: Seconds = 60
    """No wait is longer (but ``retry_after`` may be)."""
    jitter: float = 0
    """Share of each wait, 0 to 1, that is left to chance."""
    deadline: Seconds | None = None
    """No attempt starts later than this after the step was called."""
    on: type[BaseException] | tuple[type[BaseException], ...] = field(default=Exception)
    """The errors that are worth another attempt."""

    def __post_init__(self) -> None:
        if self.attempts is not None and self.attempts < 1:
            raise DefinitionError(
                f"Retry(attempts={self.attempts}): at least 1 attempt is needed, or None for no limit"
            )
        if self.factor < 1:
            raise DefinitionError(f"Retry(factor={self.factor}): waits cannot shrink, use 1 or more")
        if not 0 <= self.jitter <= 1:
            raise DefinitionError(f"Retry(jitter={self.jitter}): use a share from 0 to 1")
        classes = self.on if isinstance(self.on, tuple) else (self.on,)
        for item in classes:
            if not (isinstance(item, type) and issubclass(item, BaseException)):
                raise DefinitionError(f"Retry(on={item!r}): name exception classes, for example on=ServiceUnavailable")
        for what in ("first", "ceiling", "deadline"):
            value = getattr(self, what)
            if value is not None:
                to_timedelta(value, what=f"Retry({what}=...)")

    def wait_after(self, attempt: int, error: BaseException, elapsed: timedelta, chance: Random) -> timedelta | None:
        """How long to wait before the attempt that follows ``attempt``, or None when there is none."""
        if not isinstance(error, self.on) or isinstance(error, _HOPELESS):
            return None
        if self.attempts is not None and attempt >= self.attempts:
            return None
        wait = self._pause(attempt, chance)
        asked = getattr(error, "retry_after", None)
        if isinstance(asked, timedelta):
            wait = max(wait, asked)
        if self.deadline is not None and elapsed + wait > to_timedelta(self.deadline, what="deadline"):
            return None
        return wait

    def _pause(self, attempt: int, chance: Random) -> timedelta:
        first = to_timedelta(self.first, what="first").total_seconds()
        ceiling = to_timedelta(self.ceiling, what="ceiling").total_seconds()
        try:
            grown = first * self.factor ** (attempt - 1)
        except OverflowError:
            grown = ceiling
        seconds = min(grown, ceiling)
        return timedelta(seconds=seconds * (1 - self.jitter * chance.random()))


NO_RETRY = Retry(attempts=1)
