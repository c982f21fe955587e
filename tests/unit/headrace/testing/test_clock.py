from __future__ import annotations

import asyncio
import functools
from datetime import UTC, datetime, timedelta

import pytest

from headrace._base.clock import from_datetime
from headrace.testing import VirtualClock

MINUTE = timedelta(minutes=1)


async def loop_turns() -> None:
    turn = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turn.set_result, None)
    await turn


def test_stands_still_at_a_known_moment() -> None:
    """Recorded times in tests could not be compared if the clock began anywhere else."""
    clock = VirtualClock()

    assert clock.moment == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.now() == clock.now() == from_datetime(clock.moment)


async def test_calls_what_falls_due_in_order() -> None:
    """Two timers that fall due in one jump must come in the order in which a real clock would ring them."""
    clock, rung = VirtualClock(), list[str]()
    clock.call_after(2 * MINUTE, lambda: rung.append("second"))
    clock.call_after(MINUTE, lambda: rung.append("first"))
    clock.call_after(4 * MINUTE, lambda: rung.append("later"))

    clock.advance(3 * MINUTE)
    await loop_turns()

    assert rung == ["first", "second"]
    assert [timer.due for timer in clock.waiting()] == [clock.now() + 60_000_000]


async def test_timers_of_one_moment_ring_in_the_order_in_which_they_were_set() -> None:
    """A test about two things at once says by its lines which one comes first."""
    clock, rung = VirtualClock(), list[int]()
    for number in range(5):
        clock.call_after(MINUTE, functools.partial(rung.append, number))

    clock.advance(MINUTE)
    await loop_turns()

    assert rung == [0, 1, 2, 3, 4]


async def test_what_is_due_already_is_called_at_once() -> None:
    """A timer for a moment that has passed would wait for ever for a jump that nobody plans."""
    clock, rung = VirtualClock(), list[str]()

    clock.call_at(clock.now(), lambda: rung.append("now"))
    await loop_turns()

    assert rung == ["now"]


async def test_a_cancelled_timer_never_rings() -> None:
    """Also not when it was cancelled between the jump and its call."""
    clock, rung = VirtualClock(), list[str]()
    early, late = (clock.call_after(MINUTE, lambda: rung.append("rung")) for _ in range(2))

    early.cancel()
    clock.advance(MINUTE)
    late.cancel()
    await loop_turns()

    assert rung == []


def test_going_back_is_no_time_that_passes() -> None:
    """Durations are measured with monotonic time; a clock that is put back must not make them negative."""
    clock = VirtualClock()

    clock.advance(MINUTE)
    clock.set(datetime(2025, 12, 31, tzinfo=UTC))

    assert clock.moment == datetime(2025, 12, 31, tzinfo=UTC)
    assert clock.monotonic() == 60.0


def test_time_does_not_pass_backward() -> None:
    """A negative duration is a slip of the pen; a clock that is put back on purpose is set."""
    with pytest.raises(ValueError, match=r"use set\(\.\.\.\)"):
        VirtualClock().advance(-MINUTE)
