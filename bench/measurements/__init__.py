"""What is measured, in the order in which it is measured; each is a function from a plan to figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.figures import Figure, Plan
from bench.measurements.bridge import measure_bridge
from bench.measurements.events import measure_events
from bench.measurements.first_step import measure_first_step
from bench.measurements.heartbeat import measure_heartbeat
from bench.measurements.imports import measure_imports
from bench.measurements.replay import measure_replay
from bench.measurements.restart import measure_restart
from bench.measurements.sleepers import measure_sleepers
from bench.measurements.steps import measure_steps

MEASUREMENTS: Mapping[str, Callable[[Plan], list[Figure]]] = {
    "imports": measure_imports,
    "steps": measure_steps,
    "events": measure_events,
    "bridge": measure_bridge,
    "first-step": measure_first_step,
    "heartbeat": measure_heartbeat,
    "replay": measure_replay,
    "restart": measure_restart,
    "sleepers": measure_sleepers,
}
