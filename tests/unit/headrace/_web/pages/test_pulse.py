"""Steps per minute."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace import Headrace
from headrace._web.pages.chart import HEIGHT, columns
from headrace._web.pages.pulse import Pulse


@pytest.fixture
def pulse(tmp_path: Path) -> Pulse:
    return Pulse(Headrace([], store=tmp_path / "x.db"))


def test_a_minute_is_counted_when_it_is_over(pulse: Pulse) -> None:
    """Half a minute beside whole ones would look like a collapse."""
    for second in range(90):
        pulse.note(2 * (second + 1))

    beat = pulse.beat()

    assert (beat.minutes, beat.last_minute) == ((120,), 120)


def test_a_fresh_pulse_has_nothing_to_say(pulse: Pulse) -> None:
    """The first page comes before the first second."""
    beat = pulse.beat()

    assert (beat.minutes, beat.last_minute) == ((), 0)


def test_small_amounts_can_be_seen_beside_large_ones() -> None:
    """One step in a minute is not none."""
    drawn = columns([0, 1, 10_000])

    assert [column.height for column in drawn] == [0, 1, HEIGHT]
    assert drawn[-1].x == 59 * 4
