from __future__ import annotations

from datetime import UTC, datetime, timedelta

from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.limits import Day, Window


async def test_a_window_slides() -> None:
    """Counted by the full second, ten could pass around its end."""
    clock = VirtualClock()
    window = Window(clock, 2, 1.0)
    assert [window.take(), window.take(), window.take()] == [True, True, False]
    assert (window.remaining, window.reset, window.largest) == (0, 1, 3)

    clock.advance(timedelta(seconds=1))

    assert (window.take(), window.remaining) == (True, 1)


def test_a_day_ends_at_its_reset() -> None:
    """Not a day after the first download."""
    now = datetime(2026, 1, 1, 20, 0, tzinfo=UTC)
    day = Day(2, lambda: now)
    assert [day.take(), day.take(), day.take()] == [True, True, False]
    standing = day.standing(refused=True)
    assert (standing.requests, standing.remaining, standing.reset_in_words) == (3, -1, "3 hours and 59 minutes")

    now = standing.resets_at

    assert day.left == 2
    assert day.take()
