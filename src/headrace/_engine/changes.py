"""Tells those who listen which runs have changed.

Nothing but numbers of runs is passed on: a listener reads how a run is when it gets to it, so a run that changed ten times
meanwhile is told once, and whoever is slow costs no memory.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import NamedTuple

from headrace._base.clock import Instant

_MOST_WAITING = 10_000


class Changed(NamedTuple):
    """Runs by primary key, in the order of their last change; ``missed``: there were too many to remember them all."""

    runs: tuple[int, ...]
    missed: bool


class Changes:
    def __init__(self, began_at: Instant) -> None:
        self.began_at = began_at
        # Weak, so that a listener that was forgotten, not closed, is gone with its last reference.
        self._listeners: list[weakref.ref[Listener]] = []
        self._closed = False
        self.count = 0
        """Changes so far; whoever remembers it can tell whether anything has happened since."""

    def touched(self, pk: int) -> None:
        """This run has changed, and the file says so."""
        self.count += 1
        if self._listeners:
            self._tell(pk)

    def listen(self) -> Listener:
        """Hear of all changes from this moment on."""
        listener = Listener(self.count)
        self._listeners.append(weakref.ref(listener))
        if self._closed:
            listener.close()
        return listener

    def close(self) -> None:
        """No more will come; listeners are told so."""
        self._closed = True
        for listener in self._living():
            listener.close()

    def _tell(self, pk: int) -> None:
        for listener in self._living():
            listener.add(pk, self.count)

    def _living(self) -> list[Listener]:
        living = [listener for one in self._listeners if (listener := one()) is not None and not listener.closed]
        if len(living) < len(self._listeners):
            self._listeners = [weakref.ref(listener) for listener in living]
        return living


class Listener:
    """What one listener has not taken yet."""

    def __init__(self, count: int) -> None:
        self._waiting: dict[int, None] = {}
        self._missed = False
        self._news = asyncio.Event()
        self.count = count
        """``Changes.count`` up to which all is either taken or waiting."""
        self.closed = False

    def add(self, pk: int, count: int) -> None:
        self.count = count
        self._waiting.pop(pk, None)
        if len(self._waiting) == _MOST_WAITING:
            self._waiting.clear()
            self._missed = True
        self._waiting[pk] = None
        self._news.set()

    async def take(self, most: int) -> Changed | None:
        """Wait for a change, then take what has come; None: no more will."""
        await self._news.wait()
        if self.closed:
            return None
        taken = tuple(self._waiting)[:most]
        for pk in taken:
            del self._waiting[pk]
        missed, self._missed = self._missed, False
        if not self._waiting:
            self._news.clear()
        return Changed(taken, missed)

    @property
    def is_behind(self) -> bool:
        return bool(self._waiting)

    def close(self) -> None:
        self.closed = True
        self._news.set()
