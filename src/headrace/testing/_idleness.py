"""Knows when an event loop has nothing to do.

A loop that has run all its callbacks asks its selector to wait. Just before that moment nothing can happen any more but
what comes from outside, from threads and from timers; so it is the moment at which a virtual clock may jump. Asking then
costs nothing, and no test waits for a poll.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

OnIdle = Callable[[], bool]

_SECONDS_BETWEEN_POLLS = 0.001


class _Waiter(Protocol):
    def select(self, timeout: float | None = None) -> Any: ...


class _Selector:
    """Stands before the loop's selector."""

    def __init__(self, behind: _Waiter) -> None:
        self.behind = behind
        self.watchers: list[OnIdle] = []

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout > 0:
            for on_idle in tuple(self.watchers):
                if on_idle():
                    timeout = 0
        return self.behind.select(timeout)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


class IdleWatch:
    """Calls ``on_idle`` whenever the loop is about to wait; True means that there is something to do after all."""

    def __init__(self, on_idle: OnIdle) -> None:
        self._on_idle = on_idle
        self._loop = asyncio.get_running_loop()
        self._selector: _Selector | None = None
        self._poll: asyncio.TimerHandle | None = None

    def start(self) -> None:
        loop: Any = self._loop
        behind = getattr(loop, "_selector", None)
        if behind is None:  # not asyncio's own loop, for example uvloop
            self._look()
            return
        if not isinstance(behind, _Selector):
            behind = loop._selector = _Selector(behind)
        self._selector = behind
        behind.watchers.append(self._on_idle)

    def stop(self) -> None:
        if self._poll is not None:
            self._poll.cancel()
        if self._selector is None:
            return
        self._selector.watchers.remove(self._on_idle)
        loop: Any = self._loop
        if not self._selector.watchers and loop._selector is self._selector:
            loop._selector = self._selector.behind

    def _look(self) -> None:
        self._on_idle()
        self._poll = self._loop.call_later(_SECONDS_BETWEEN_POLLS, self._look)
