"""What a pipeline is tested with: the same tools that test Headrace itself."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.testing.clock import VirtualClock
    from headrace.testing.disk import FakeDisk
    from headrace.testing.faults import (
        FAULT_POINTS,
        Crash,
        Fault,
        Flaky,
        arm_from_environment,
        crash_at,
        kill_at,
        kill_environment,
    )
    from headrace.testing.harness import Harness, HarnessRun, InvariantBroken, ReplaySummary, Stuck
    from headrace.testing.invariants import check_invariants
    from headrace.testing.visitor import visitor

__all__ = [
    "FAULT_POINTS",
    "Crash",
    "FakeDisk",
    "Fault",
    "Flaky",
    "Harness",
    "HarnessRun",
    "InvariantBroken",
    "ReplaySummary",
    "Stuck",
    "VirtualClock",
    "arm_from_environment",
    "check_invariants",
    "crash_at",
    "kill_at",
    "kill_environment",
    "visitor",
]

# Loaded when they are used first: the pytest plugin lives here and must cost nothing in tests that do not need it.
_HOME = {
    "FakeDisk": "disk",
    "Harness": "harness",
    "HarnessRun": "harness",
    "InvariantBroken": "harness",
    "ReplaySummary": "harness",
    "Stuck": "harness",
    "VirtualClock": "clock",
    "check_invariants": "invariants",
    "visitor": "visitor",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"headrace.testing.{_HOME.get(name, 'faults')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
