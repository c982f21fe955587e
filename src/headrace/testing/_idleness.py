"""Knows when an event loop has nothing to do.

A loop that has run all its callbacks asks its selector to wait. Just before that moment nothing can happen any more but
what comes from outside, from threads and from timers; so it is the moment at which a virtual clock may jump. Asking then
costs nothing, and no test waits for a poll.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

_SECONDS_BETWEEN_POLLS = 0.001


class Watcher(Protocol):
    def when_idle(self) -> float | None:
        """The loop is about to wait: 0 when there is something to do after all, seconds after which silence matters, or None."""
        ...

    def when_silent(self) -> None:
        """Not a thing has happened for so long."""
        ...


class _Waiting(Protocol):
    def select(self, timeout: float | None = None) -> Any: ...


class _Selector:
    """Stands before the loop's selector."""

    def __init__(self, behind: _Waiting) -> None:
        self.behind = behind
        self.watchers: list[Watcher] = []

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return self.behind.select(timeout)
        limits = [(limit, watcher) for watcher in tuple(self.watchers) if (limit := watcher.when_idle()) is not None]
        limit, watcher = min(limits, key=lambda item: item[0], default=(None, None))
        if limit is None or watcher is None or (timeout is not None and timeout <= limit):
            return self.behind.select(timeout)
        events = self.behind.select(limit)
        if limit > 0 and not events:
            watcher.when_silent()
        return events

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


class IdleWatch:
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._loop = asyncio.get_running_loop()
        self._selector: _Selector | None = None
        self._poll: asyncio.TimerHandle | None = None
        self._silence = 0.0

    def start(self) -> None:
        loop: Any = self._loop
        behind = getattr(loop, "_selector", None)
        if behind is None:  # not asyncio's own loop, for example uvloop
            self._look()
            return
        if not isinstance(behind, _Selector):
            behind = loop._selector = _Selector(behind)
        self._selector = behind
        behind.watchers.append(self._watcher)

    def stop(self) -> None:
        if self._poll is not None:
            self._poll.cancel()
        if self._selector is None:
            return
        self._selector.watchers.remove(self._watcher)
        loop: Any = self._loop
        if not self._selector.watchers and loop._selector is self._selector:
            loop._selector = self._selector.behind

    def _look(self) -> None:
        limit = self._watcher.when_idle()
        self._silence = self._silence + _SECONDS_BETWEEN_POLLS if limit else 0.0
        if limit and self._silence >= limit:
            self._silence = 0.0
            self._watcher.when_silent()
        self._poll = self._loop.call_later(_SECONDS_BETWEEN_POLLS, self._look)
