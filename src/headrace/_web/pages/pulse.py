"""How many steps are recorded in a minute. In memory, since the server began."""

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
    """``minutes`` are the steps of each minute that is over, the oldest first."""

    minutes: tuple[int, ...]
    last_minute: int


class Pulse:
    def __init__(self, app: Headrace) -> None:
        self._app = app
        self._minutes: deque[int] = deque(maxlen=_MINUTES)
        self._seconds: deque[int] = deque(maxlen=_SECONDS)
        self._known = 0
        self._ticks = 0

    def begin(self) -> None:
        """Look once a second, as long as the engine runs."""
        asyncio.get_running_loop().call_later(_EVERY, self._tick)

    def _tick(self) -> None:
        try:
            self.note(sum(self._app.engine.tally.steps_ended.values()))
        except EngineUnavailable:
            return  # it has stopped, and a stopped engine does not start again
        self.begin()

    def note(self, steps: int) -> None:
        """A second has passed, and so many steps were recorded since the start."""
        self._seconds.append(steps - self._known)
        self._known = steps
        self._ticks += 1
        if self._ticks % _SECONDS == 0:
            self._minutes.append(sum(self._seconds))

    def beat(self) -> Beat:
        return Beat(minutes=tuple(self._minutes), last_minute=sum(self._seconds))
