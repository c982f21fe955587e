"""What falls due: timers, retries and deadlines of runs in memory, and the runs on disk that have to be woken.

A sleeping run is a row. Only those that fall due within the window stand in the heap; the rest is read when the window moves on.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from headrace._base.clock import Instant, TimerHandle
from headrace._ports.clock import Clock
from headrace.errors import StoreBusy

WINDOW = 60_000_000
_BEFORE_ASKING_AGAIN = 500_000
_PAGE = 20_000
_STALE_BEFORE_REBUILD = 1_000


class Entry:
    """One thing that falls due; cancelled by forgetting its action."""

    __slots__ = ("action", "argument", "due")

    def __init__(self, due: Instant, action: Callable[[Any], None], argument: Any) -> None:
        self.due = due
        self.action: Callable[[Any], None] | None = action
        self.argument = argument


class Timers:
    def __init__(
        self,
        clock: Clock,
        *,
        due_runs: Callable[[Instant, tuple[Instant, int], int], list[tuple[int, Instant]]],
        wake: Callable[[int], None],
    ) -> None:
        self._clock = clock
        self._due_runs = due_runs
        self._wake = wake
        self._heap: list[tuple[Instant, int, Entry]] = []
        self._count = 0
        self._stale = 0
        self._handle: TimerHandle | None = None
        self._armed_for: Instant | None = None
        self._covered: tuple[Instant, int] = (-1, 0)
        self._closed = False

    def open(self) -> None:
        self._refill()

    def close(self) -> None:
        self._closed = True
        if self._handle is not None:
            self._handle.cancel()

    def add(self, due: Instant, action: Callable[[Any], None], argument: Any = None) -> Entry:
        entry = Entry(due, action, argument)
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, entry))
        self._arm()
        return entry

    def cancel(self, entry: Entry) -> None:
        if entry.action is None:
            return
        entry.action = None
        entry.argument = None
        self._stale += 1
        if self._stale > _STALE_BEFORE_REBUILD and self._stale > len(self._heap) // 2:
            self._heap = [item for item in self._heap if item[2].action is not None]
            heapq.heapify(self._heap)
            self._stale = 0

    def leave_on_disk(self, pk: int, due: Instant | None) -> None:
        """A run left memory; if it falls due before the window moves on, remember to wake it."""
        if due is not None and (due, pk) <= self._covered:
            self.add(due, self._wake, pk)

    def is_due(self, due: Instant | None) -> bool:
        return due is not None and due <= self._clock.now()

    def next_due(self) -> Instant | None:
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
            self._stale -= 1
        return self._heap[0][0] if self._heap else None

    def next_event(self) -> Instant | None:
        """When something falls due that a run or a step waits for; looking for more on disk does not count."""
        due = self.next_due()
        if due is None or self._heap[0][2].action != self._refill:
            return due
        return min(
            (due for due, _, entry in self._heap if entry.action is not None and entry.action != self._refill),
            default=None,
        )

    def _refill(self, _: Any = None) -> None:
        """Read the runs that fall due within the window."""
        now = self._clock.now()
        until = now + WINDOW
        try:
            found = self._due_runs(until, self._covered, _PAGE)
        except StoreBusy:
            self.add(now + _BEFORE_ASKING_AGAIN, self._refill)
            return
        for pk, due in found:
            self.add(due, self._wake, pk)
        if len(found) == _PAGE:
            self._covered = (found[-1][1], found[-1][0])
            again = max(now, found[len(found) // 2][1])
        else:
            self._covered = (max(until, self._covered[0]), 2**62)
            again = now + WINDOW // 2
        self.add(again, self._refill)

    def _arm(self) -> None:
        due = self.next_due()
        if due is None or self._closed or (self._armed_for is not None and self._armed_for <= due):
            return
        if self._handle is not None:
            self._handle.cancel()
        self._armed_for = due
        self._handle = self._clock.call_at(due, self._fire)

    def _fire(self) -> None:
        self._armed_for = None
        self._handle = None
        now = self._clock.now()
        while not self._closed and (due := self.next_due()) is not None and due <= now:
            _, _, entry = heapq.heappop(self._heap)
            action, argument = entry.action, entry.argument
            entry.action = None
            if action is not None:
                action(argument)
        self._arm()
