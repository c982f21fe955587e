"""Small charts, drawn by the server: no script, and they print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

HEIGHT = 40
_COLUMNS = 60
_STEP = 4


class Column(NamedTuple):
    x: int
    y: float
    height: float
    amount: int


def columns(amounts: Sequence[int]) -> list[Column]:
    """One column for each amount, the newest at the right edge."""
    highest = max(amounts, default=0)
    first = _COLUMNS - len(amounts)
    return [
        Column(x=(first + at) * _STEP, y=HEIGHT - height, height=height, amount=amount)
        for at, amount in enumerate(amounts)
        for height in (_height(amount, highest),)
    ]


def _height(amount: int, highest: int) -> float:
    # What is not nothing can be seen.
    return round(max(1.0, HEIGHT * amount / highest), 1) if amount else 0.0
