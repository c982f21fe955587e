"""Runs that sleep: what they cost, when a restart wakes what fell due meanwhile, and how punctual they are."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench.child import Child
from bench.clones import clone_newest_run
from bench.figures import OURS, Figure, Plan, cost, rate

_SECOND = 1_000_000
_LATER = 30 * 86_400 * _SECOND
_SOON = 2 * _SECOND
_WAKES_PER_SECOND = 1_000
_CLONE_FROM = 100_000


def measure_sleepers(plan: Plan) -> list[Figure]:
    return [figure for count in (20_000, 1_000_000) for figure in _case(plan, count)]


def _case(plan: Plan, count: int) -> list[Figure]:
    case = f"{count:,} sleeping runs"
    with tempfile.TemporaryDirectory(dir=plan.folder) as folder:
        path = Path(folder) / "sleepers.db"
        clone = plan.quick and count >= _CLONE_FROM
        made = _make_clones(path, count, case) if clone else _make(path, count, case)
        return made + _restart(plan, path, count, case)


def _now() -> int:
    return time.time_ns() // 1_000


def _make(path: Path, count: int, case: str) -> list[Figure]:
    with Child("bench.peers.stored", str(path)) as child:
        before = child.ask("memory")
        child.ask("open")
        taken = child.ask("sleepers", count=count, due=_now() + _LATER)
        grown = child.ask("memory") - before
        due = _now() + _SOON
        child.ask("sleepers", count=1, due=due)
        child.kill()
    _wait_until(due)
    return [
        rate("create", case, OURS, [count / taken], "runs/s", note="through the API, each durable and parked"),
        cost("memory", f"{case}, after creating them", OURS, [grown / 2**20], "MiB"),
    ]


def _make_clones(path: Path, count: int, case: str) -> list[Figure]:
    with Child("bench.peers.stored", str(path)) as child:
        child.ask("open")
        due = _now() + _SOON
        child.ask("sleepers", count=1, due=due)
        child.ask("sleepers", count=1, due=_now() + _LATER)
        child.kill()
    begun = time.perf_counter()
    clone_newest_run(path, count - 1)
    taken = time.perf_counter() - begun
    _wait_until(due)
    return [rate("create", case, "direct inserts", [count / taken], "runs/s", note="--quick: copies of a real row")]


def _wait_until(due: int) -> None:
    time.sleep(max(0.0, (due - _now()) / _SECOND))


def _restart(plan: Plan, path: Path, count: int, case: str) -> list[Figure]:
    with Child("bench.peers.stored", str(path)) as child:
        before = child.ask("memory")
        opened = child.ask("open")
        first = child.ask("first_wake") - child.spawned_at
        grown = child.ask("memory") - before
        assert child.ask("waiting") == count
        punctual = child.ask("wakes", count=plan.pick(3_000, 20_000), per_second=_WAKES_PER_SECOND)
        busy = child.ask("memory") - before
        child.ask("close")
    assert punctual["spare_seconds"] > 0, "the first of them fell due while they were being made"
    note = f"{_WAKES_PER_SECOND:,} fall due per second"
    return [
        cost("memory", f"{case}, after a restart", OURS, [grown / 2**20], "MiB"),
        cost("memory", f"{case}, after the wake-ups", OURS, [busy / 2**20], "MiB"),
        cost("restart", f"{case}: store open", OURS, [opened], "s"),
        cost("restart", f"{case}: first overdue wake-up", OURS, [first], "s", note="from the start of the process"),
        rate("wake-ups", case, OURS, [punctual["rate"]], "runs/s", note=note),
        *(
            cost("lateness of wake-ups", f"{case}, {name}", OURS, [punctual[key]], "ms", note=note)
            for key, name in (("p50", "p50"), ("p99", "p99"), ("most", "most"))
        ),
    ]
