"""A service that is down is left alone for a while, and so is one that does not let us in."""

from __future__ import annotations

from datetime import timedelta

from headrace.errors import ServiceError, ServiceUnavailable
from headrace_pipelines.services.clock import Clock
from headrace_pipelines.subtitles.services.subtitle_provider.port import AccessRefused

_FAILURES = 3
_FIRST_PAUSE = timedelta(minutes=1)
_LONGEST_PAUSE = timedelta(minutes=15)
_LOCKED_OUT = timedelta(hours=1)


class Breaker:
    """Opens after three calls in a row that failed for good; each failure after a pause makes the next pause longer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._pause = _FIRST_PAUSE
        self._until = float("-inf")
        self._error: ServiceError | None = None

    @property
    def error(self) -> ServiceError | None:
        """Why nothing is asked at present."""
        return self._error if self._clock.monotonic() < self._until else None

    @property
    def left(self) -> timedelta:
        return timedelta(seconds=max(0.0, self._until - self._clock.monotonic()))

    def check(self) -> None:
        """Raise what was wrong, without asking again; see `error`."""
        if (error := self.error) is None:
            return
        if isinstance(error, AccessRefused):
            raise AccessRefused(*error.args)
        raise ServiceUnavailable(f"{error}; it is asked again in {self.left.total_seconds():.0f} s")

    def passed(self) -> None:
        self._failures = 0
        self._pause = _FIRST_PAUSE

    def failed(self, error: ServiceUnavailable) -> None:
        self._failures += 1
        if self._failures < _FAILURES:
            return
        self._open(error, self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def locked_out(self, error: AccessRefused) -> None:
        """Asking again with the same key or password makes it worse."""
        self._open(error, _LOCKED_OUT)

    def _open(self, error: ServiceError, pause: timedelta) -> None:
        self._error = error
        self._until = self._clock.monotonic() + pause.total_seconds()
