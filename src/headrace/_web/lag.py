"""How late the event loop is: what it is asked to do at once is done so much later."""

from __future__ import annotations

import asyncio
from collections import deque

_EVERY = 0.25
_MINUTE = 60.0


class LoopLag:
    """Asks for a call now and then, and looks when it comes."""

    def __init__(self) -> None:
        self._late: deque[float] = deque(maxlen=round(_MINUTE / _EVERY))
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._ask(asyncio.get_running_loop())

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    @property
    def longest(self) -> float:
        """Seconds, the most of the last minute."""
        return max(self._late, default=0.0)

    @property
    def usual(self) -> float:
        """Seconds, half of the time of the last minute it was less."""
        return sorted(self._late)[len(self._late) // 2] if self._late else 0.0

    def _ask(self, loop: asyncio.AbstractEventLoop) -> None:
        due = loop.time() + _EVERY
        self._handle = loop.call_at(due, self._look, loop, due)

    def _look(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self._late.append(max(0.0, loop.time() - due))
        self._ask(loop)
