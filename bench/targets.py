"""The numbers that the design asks for, beside what was measured. They are reported, never asserted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bench.figures import OURS, RABBIT_REDIS, Figure

Figures = list[Figure]


@dataclass(frozen=True, kw_only=True)
class Target:
    what: str
    wanted: float
    unit: str
    better: Literal["more", "less"]
    measure: Callable[[Figures], float | None]

    def reached(self, measured: float) -> bool:
        return measured >= self.wanted if self.better == "more" else measured <= self.wanted


def _value(figures: Figures, what: str, case: str, system: str = OURS) -> float | None:
    """The first figure of a system whose case begins or ends like this."""
    for figure in figures:
        fits = figure.case.startswith(case) or figure.case.endswith(case)
        if figure.what == what and figure.system == system and fits:
            return figure.value
    return None


def _of(what: str, case: str) -> Callable[[Figures], float | None]:
    return lambda figures: _value(figures, what, case)


def _ratio(what: str, case: str, other: str) -> Callable[[Figures], float | None]:
    def measure(figures: Figures) -> float | None:
        ours, theirs = _value(figures, what, case), _value(figures, what, case, other)
        return None if ours is None or theirs is None else ours / theirs

    return measure


def _at_least(what: str, wanted: float, unit: str, measure: Callable[[Figures], float | None]) -> Target:
    return Target(what=what, wanted=wanted, unit=unit, better="more", measure=measure)


def _at_most(what: str, wanted: float, unit: str, measure: Callable[[Figures], float | None]) -> Target:
    return Target(what=what, wanted=wanted, unit=unit, better="less", measure=measure)


def _side_by_side(at_once: int) -> list[Target]:
    case, steps = f"{at_once} runs of 10 steps at once", "durable steps"
    return [
        _at_least(f"{case}: beside DBOS on SQLite", 40, "x", _ratio(steps, case, "DBOS on SQLite")),
        _at_least(f"{case}: beside Temporal's dev server", 100, "x", _ratio(steps, case, "Temporal dev server")),
        _at_least(f"{case}: beside a bare group commit", 1 / 3, "x", _ratio(steps, case, "bare group commit")),
        _at_least(f"{case}", 10_000, "steps/s", _of(steps, case)),
    ]


_EVENTS = "100 publishes in flight"
_ONE, _MILLION = "one run of 10 steps in sequence", "1,000,000 sleeping runs"

TARGETS: tuple[Target, ...] = (
    *_side_by_side(50),
    *_side_by_side(500),
    _at_least(f"{_EVENTS}: beside {RABBIT_REDIS}", 10, "x", _ratio("events", _EVENTS, RABBIT_REDIS)),
    _at_most(f"{_ONE}: beside ten bare commits", 2, "x", _ratio("latency", _ONE, "ten bare commits")),
    _at_least("replay of a long journal", 50_000, "rows/s", _of("replay", "one journal")),
    _at_least("replay of short journals", 50_000, "rows/s", _of("replay", "pre-flight")),
    _at_most(f"{_MILLION}: memory after the wake-ups", 300, "MiB", _of("memory", f"{_MILLION}, after the wake-ups")),
    _at_most(f"{_MILLION}: wake-ups late, p99", 100, "ms", _of("lateness of wake-ups", f"{_MILLION}, p99")),
    _at_most("restart with unfinished runs: first step", 3, "s", _of("restart", "recorded steps: first step")),
    _at_most("import headrace", 100, "ms", _of("start of a process", "import headrace")),
    _at_most("headrace --help", 200, "ms", _of("start of a process", "headrace --help")),
)
