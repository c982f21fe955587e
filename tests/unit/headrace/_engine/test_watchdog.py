from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace._base.clock import SystemClock
from headrace._engine.resident import Resident
from headrace._engine.watchdog import Watchdog

RUN = cast(Resident, SimpleNamespace(id="endless", flow="test.endless"))


class Reports:
    def __init__(self) -> None:
        self.found: list[tuple[Any, str]] = []
        self.came = threading.Event()

    def take(self, run: Resident, stack: str) -> None:
        self.found.append((run, stack))
        self.came.set()


@pytest.fixture
def reports() -> Reports:
    return Reports()


class WatchedClock(SystemClock):
    """Says when it was looked at."""

    def __init__(self) -> None:
        self.looks = threading.Semaphore(0)

    def monotonic(self) -> float:
        self.looks.release()
        return super().monotonic()

    def wait_for_looks(self, count: int) -> None:
        for _ in range(count):
            assert self.looks.acquire(timeout=10)


@pytest.fixture
def clock() -> WatchedClock:
    return WatchedClock()


@pytest.fixture
def watchdog(reports: Reports, clock: WatchedClock) -> Iterator[Watchdog]:
    watchdog = Watchdog(reports.take, clock, patience=0.02)
    watchdog.start()
    yield watchdog
    watchdog.stop()


def test_a_slice_that_does_not_end_is_reported_once_with_its_line(
    watchdog: Watchdog, reports: Reports, clock: WatchedClock
) -> None:
    """The loop is held, so nothing on it could tell; and one report is enough for a person."""
    watchdog.enter(RUN)
    assert reports.came.wait(10)
    clock.wait_for_looks(20)

    assert [run for run, _ in reports.found] == [RUN]
    assert "test_watchdog.py" in reports.found[0][1]
    assert watchdog.leave() is RUN


def test_a_slice_that_ends_in_time_is_no_news(watchdog: Watchdog, reports: Reports) -> None:
    """Thousands of slices a second pass here."""
    for _ in range(1_000):
        watchdog.enter(RUN)
        assert watchdog.leave() is None

    assert reports.found == []


def test_the_next_slice_is_watched_anew(watchdog: Watchdog, reports: Reports) -> None:
    """One report must not blind it for the runs that come after."""
    for _ in range(2):
        reports.came.clear()
        watchdog.enter(RUN)
        assert reports.came.wait(10)
        watchdog.leave()

    assert len(reports.found) == 2
