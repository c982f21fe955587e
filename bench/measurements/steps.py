"""Durable steps: many runs at once, and one after the other, of all systems in turns."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass

from bench.child import Child
from bench.figures import OURS, Figure, Plan, cost, rate


@dataclass(frozen=True, kw_only=True)
class _System:
    """A system, and how many runs it gets: enough to measure it, not more than it does in seconds."""

    name: str
    module: str
    runs: int
    most_at_once: int
    sequence: int


def _systems(plan: Plan) -> list[_System]:
    fast = plan.pick(1_000, 4_000)
    return [
        _System(name=OURS, module="embedded", runs=fast, most_at_once=500, sequence=plan.pick(40, 100)),
        _System(name="bare group commit", module="bare_loop", runs=fast, most_at_once=500, sequence=plan.pick(40, 100)),
        _System(
            name="DBOS on SQLite", module="dbos_sqlite", runs=plan.pick(50, 120), most_at_once=60, sequence=plan.pick(5, 10)
        ),
        _System(
            name="Temporal dev server",
            module="temporal_server",
            runs=plan.pick(30, 100),
            most_at_once=plan.pick(60, 100),
            sequence=plan.pick(3, 5),
        ),
    ]  # fmt: skip


def measure_steps(plan: Plan) -> list[Figure]:
    with ExitStack() as stack:
        running = [(system, _begin(system, plan, stack)) for system in _systems(plan)]
        return [
            *_at_once(running, 50, plan.rounds),
            *_at_once(running, 500, plan.rounds),
            *_in_sequence(running, plan.rounds),
        ]


def _begin(system: _System, plan: Plan, stack: ExitStack) -> Child:
    folder = stack.enter_context(tempfile.TemporaryDirectory(dir=plan.folder, ignore_cleanup_errors=True))
    child = stack.enter_context(Child(f"bench.peers.{system.module}", folder))
    # Warm: imports, caches, and a write-ahead log that has grown once and is written over from then on.
    child.ask("throughput", concurrency=50, runs=min(system.runs, 10 if system.runs < 1_000 else 1_000))
    return child


def _at_once(running: list[tuple[_System, Child]], concurrency: int, rounds: int) -> list[Figure]:
    rates: dict[str, list[float]] = {}
    for _ in range(rounds):
        for system, child in running:
            at_once = min(concurrency, system.most_at_once)
            done = child.ask("throughput", concurrency=at_once, runs=max(system.runs, min(at_once, system.runs)))
            rates.setdefault(system.name, []).append(done)
    return [
        rate(
            "durable steps",
            f"{concurrency} runs of 10 steps at once",
            system.name,
            rates[system.name],
            "steps/s",
            note=_note(system, concurrency),
        )
        for system, _ in running
    ]


def _note(system: _System, concurrency: int) -> str:
    at_once = min(concurrency, system.most_at_once, system.runs)
    return "" if at_once == concurrency else f"{at_once} at once"


def _in_sequence(running: list[tuple[_System, Child]], rounds: int) -> list[Figure]:
    taken: dict[str, list[float]] = {}
    for _ in range(rounds):
        for system, child in running:
            taken.setdefault(system.name, []).extend(child.ask("sequence", runs=system.sequence))
    names = {"bare group commit": "ten bare commits"}
    return [
        cost(
            "latency", "one run of 10 steps in sequence", names.get(system.name, system.name), taken[system.name], "ms"
        )
        for system, _ in running
    ]
