"""What a measurement says, and the few statistics that it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

OURS = "headrace"
RABBIT_REDIS = "RabbitMQ + Redis, synced"
RABBIT_REDIS_DEFAULTS = "RabbitMQ + Redis, as they come"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number of one system. ``case`` says under which conditions, ``what`` says of what."""

    what: str
    case: str
    system: str
    value: float
    unit: str
    samples: int
    better: Literal["more", "less"]
    spread: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is measured, and where."""

    quick: bool
    folder: Path
    rounds: int
    missing: dict[str, str] = field(default_factory=dict)
    """What a measurement went on without, and why."""

    def pick(self, quick: int, full: int) -> int:
        return quick if self.quick else full


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def rate(what: str, case: str, system: str, values: Sequence[float], unit: str, note: str = "") -> Figure:
    """More is better: the median of the rounds."""
    return Figure(
        what=what,
        case=case,
        system=system,
        value=median(values),
        unit=unit,
        samples=len(values),
        better="more",
        spread=(min(values), max(values)),
        note=note,
    )


def cost(what: str, case: str, system: str, values: Sequence[float], unit: str, note: str = "") -> Figure:
    """Less is better: the median of the samples."""
    return Figure(
        what=what,
        case=case,
        system=system,
        value=median(values),
        unit=unit,
        samples=len(values),
        better="less",
        spread=(min(values), max(values)),
        note=note,
    )


def tail(what: str, case: str, system: str, values: Sequence[float], unit: str, note: str = "") -> list[Figure]:
    """Less is better, and the slowest of a hundred counts: two figures, p50 and p99."""
    spread = (min(values), max(values))
    return [
        Figure(
            what=what,
            case=f"{case}, {name}",
            system=system,
            value=percentile(values, share),
            unit=unit,
            samples=len(values),
            better="less",
            spread=spread,
            note=note,
        )
        for name, share in (("p50", 0.5), ("p99", 0.99))
    ]
