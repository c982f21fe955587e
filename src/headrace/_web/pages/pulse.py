"""How busy the process is: steps per minute, and how late the event loop comes to what is due. In memory, since the server began."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from headrace._app.app import Headrace
from headrace.errors import EngineUnavailable

_EVERY = 1.0
_SECONDS = 60
_MINUTES = 60


@dataclass(frozen=True, kw_only=True)
class Beat:
    """``minutes`` are the steps of each minute that is over, the oldest first; lags are seconds, of the last minute."""

    minutes: tuple[int, ...]
    last_minute: int
    usual_lag: float
    worst_lag: float


class Pulse:
    def __init__(self, app: Headrace) -> None:
        self._app = app
        self.minutes: deque[int] = deque(maxlen=_MINUTES)
        self._seconds: deque[int] = deque(maxlen=_SECONDS)
        self._lags: deque[float] = deque(maxlen=_SECONDS)
        self._known = 0
        self._ticks = 0

    def begin(self) -> None:
        """Look once a second, as long as the event loop runs."""
        loop = asyncio.get_running_loop()
        loop.call_later(_EVERY, self._tick, loop, loop.time() + _EVERY)

    def _tick(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        try:
            self.note(steps=self._app.engine.steps_recorded, lag=max(0.0, loop.time() - due))
        except EngineUnavailable:
            return  # it has stopped, and a stopped engine does not start again
        self.begin()

    def note(self, *, steps: int, lag: float) -> None:
        """A second has passed, and so many steps were recorded since the start."""
        self._seconds.append(steps - self._known)
        self._lags.append(lag)
        self._known = steps
        self._ticks += 1
        if self._ticks % _SECONDS == 0:
            self.minutes.append(sum(self._seconds))

    def beat(self) -> Beat:
        lags = sorted(self._lags) or [0.0]
        return Beat(
            minutes=tuple(self.minutes),
            last_minute=sum(self._seconds),
            usual_lag=lags[len(lags) // 2],
            worst_lag=lags[-1],
        )
