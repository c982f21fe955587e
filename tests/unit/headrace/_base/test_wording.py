"""Words for numbers, times and amounts."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headrace._base.wording import count, duration, size


@pytest.mark.parametrize(
    "length,text",
    [
        (timedelta(microseconds=1_400), "1 ms"),
        (timedelta(seconds=1.26), "1.3 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(minutes=5), "5 min"),
        (timedelta(hours=30), "30 h"),
        (timedelta(days=9), "9 d"),
    ],
)
def test_duration_has_the_digits_that_matter(length: timedelta, text: str) -> None:
    """Nobody reads 432000.123 s."""
    assert duration(length) == text


def test_one_is_singular() -> None:
    """`1 runs` reads like a defect."""
    assert (count(1, "run"), count(2, "run")) == ("1 run", "2 runs")


@pytest.mark.parametrize(
    "octets,text", [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (300 << 20, "300 MiB"), (5 << 40, "5.0 TiB")]
)
def test_size_has_the_digits_that_matter(octets: int, text: str) -> None:
    """Nobody reads 314572800 bytes."""
    assert size(octets) == text
