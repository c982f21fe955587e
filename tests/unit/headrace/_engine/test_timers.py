from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from headrace._base.clock import Instant
from headrace._engine import timers
from headrace._engine.timers import Timers
from headrace.testing import VirtualClock

SECOND = 1_000_000


class OnDisk:
    """Runs that are due, as the table of runs has them, and who was woken."""

    def __init__(self, clock: VirtualClock, dues: list[int]) -> None:
        self._start = clock.now()
        self.rows = [(pk, self._start + due * SECOND) for pk, due in enumerate(dues, 1)]
        self.woken: list[int] = []
        self.timers = Timers(clock, due_runs=self.due_runs, wake=self.woken.append)

    def due_runs(self, until: Instant, after: tuple[Instant, int], count: int) -> list[tuple[int, Instant]]:
        found = sorted((due, pk) for pk, due in self.rows if (due, pk) > after and due <= until)
        return [(pk, due) for due, pk in found[:count]]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


async def pass_time(clock: VirtualClock, seconds: int) -> None:
    for _ in range(seconds):
        clock.advance(timedelta(seconds=1))
        await asyncio.sleep(0)  # noqa: TID251  one turn, in which what is due is called


async def test_runs_are_woken_when_they_are_due_and_once(clock: VirtualClock) -> None:
    """Also those that lie beyond the window that is held in memory."""
    disk = OnDisk(clock, [5, 59, 61, 100, 300])
    disk.timers.open()
    seen = []
    for _ in range(320):
        await pass_time(clock, 1)
        seen.append(len(disk.woken))

    assert disk.woken == [1, 2, 3, 4, 5]
    assert [seen.index(count) + 1 for count in range(1, 6)] == [5, 59, 61, 100, 300]


async def test_more_runs_than_a_page_are_all_woken(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that wait for midnight fall due in one moment; those behind the first page would sleep on."""
    monkeypatch.setattr(timers, "_PAGE", 4)
    disk = OnDisk(clock, [10] * 11)
    disk.timers.open()

    await pass_time(clock, 12)

    assert sorted(disk.woken) == list(range(1, 12))


async def test_a_run_that_leaves_memory_is_woken_within_the_window(clock: VirtualClock) -> None:
    """The window was read before the run was written there."""
    disk = OnDisk(clock, [])
    disk.timers.open()
    disk.timers.leave_on_disk(7, clock.now() + 20 * SECOND)
    disk.timers.leave_on_disk(8, None)

    await pass_time(clock, 25)

    assert disk.woken == [7]


async def test_cancelled_entries_do_not_pile_up(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flow that sets and cancels a time limit for each of a million steps must not fill the memory with them."""
    monkeypatch.setattr(timers, "_STALE_BEFORE_REBUILD", 10)
    disk = OnDisk(clock, [])
    disk.timers.open()

    for _ in range(100):
        disk.timers.cancel(disk.timers.add(clock.now() + 3_600 * SECOND, disk.woken.append, 1))

    assert len(disk.timers._heap) < 20


async def test_a_clock_that_is_put_back_wakes_nobody_twice(clock: VirtualClock) -> None:
    """An administrator sets the clock back an hour; what has been done is done."""
    disk = OnDisk(clock, [5, 50])
    disk.timers.open()
    await pass_time(clock, 10)

    clock.set(clock.moment - timedelta(hours=1))
    await pass_time(clock, 10)
    clock.set(clock.moment + timedelta(hours=2))
    await pass_time(clock, 70)

    assert disk.woken == [1, 2]
