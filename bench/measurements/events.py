"""An event is published, its job moves, both can be read: Headrace beside a broker with a store behind it, in turns."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field

from bench.child import Child, ChildDied
from bench.event_workload import MOVES
from bench.figures import OURS, RABBIT_REDIS, RABBIT_REDIS_DEFAULTS, Figure, Plan, cost, rate, tail
from bench.machine import processor_seconds, resident_bytes, sum_of_family

_AT_ONCE = 100
_PER_SECOND = 50


@dataclass(frozen=True, kw_only=True)
class _System:
    """A system, and how many jobs of four events it gets in a round. ``until``: what else an event has to wait for."""

    name: str
    module: str
    option: str = ""
    until: str = ""
    jobs: int
    jobs_one_by_one: int


@dataclass(kw_only=True)
class _Taken:
    """What the rounds say of a system."""

    system: _System
    child: Child
    versions: str = ""
    at_once: list[float] = field(default_factory=list)
    one_by_one: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)


def _systems(plan: Plan) -> list[_System]:
    fast, fast_one_by_one = plan.pick(1_000, 5_000), plan.pick(50, 250)
    slow, slow_one_by_one = plan.pick(75, 250), plan.pick(25, 100)
    return [
        _System(name=OURS, module="embedded_events", jobs=fast, jobs_one_by_one=fast_one_by_one),
        _System(name=RABBIT_REDIS, module="rabbit_redis", option="synced", jobs=slow, jobs_one_by_one=slow_one_by_one),
        _System(name=RABBIT_REDIS_DEFAULTS, module="rabbit_redis", jobs=slow, jobs_one_by_one=slow_one_by_one),
        _System(
            name=OURS, module="embedded_events", option="handled", until=", until a handler has returned",
            jobs=fast, jobs_one_by_one=fast_one_by_one,
        ),
    ]  # fmt: skip


def measure_events(plan: Plan) -> list[Figure]:
    with ExitStack() as stack:
        begun = [_begin(system, plan, stack) for system in _systems(plan)]
        taken = [each for each in begun if _is_there(each, plan)]
        for each in taken:
            # Warm: imports, caches, queues, and a write-ahead log that has grown once.
            each.child.ask("throughput", in_flight=_AT_ONCE, jobs=each.system.jobs // 5)
        for _ in range(plan.rounds):
            for each in taken:
                _take_turn(each, plan)
    return [figure for until in dict.fromkeys(each.system.until for each in taken) for figure in _figures(taken, until)]


def _begin(system: _System, plan: Plan, stack: ExitStack) -> _Taken:
    folder = stack.enter_context(tempfile.TemporaryDirectory(dir=plan.folder, ignore_cleanup_errors=True))
    child = stack.enter_context(Child(f"bench.peers.{system.module}", folder, *filter(None, [system.option])))
    return _Taken(system=system, child=child)


def _is_there(taken: _Taken, plan: Plan) -> bool:
    """Without its servers a system is missing, and the others are measured."""
    try:
        taken.versions = taken.child.ask("open")
    except ChildDied as error:
        plan.missing[f"events: {taken.system.name}"] = str(error)
        return False
    return True


def _take_turn(taken: _Taken, plan: Plan) -> None:
    system, child = taken.system, taken.child
    before = sum_of_family(child.pid, processor_seconds)
    taken.at_once.append(child.ask("throughput", in_flight=_AT_ONCE, jobs=system.jobs))
    used = sum_of_family(child.pid, processor_seconds) - before
    taken.processor.append(used / (system.jobs * len(MOVES)) * 1_000_000)
    taken.memory.append(sum_of_family(child.pid, resident_bytes) / 2**20)
    taken.one_by_one.append(child.ask("throughput", in_flight=1, jobs=system.jobs_one_by_one))
    taken.latency += child.ask("latency", per_second=_PER_SECOND, jobs=plan.pick(25, 75))


def _figures(taken: list[_Taken], until: str) -> list[Figure]:
    named = [(each.system.name, each) for each in taken if each.system.until == until]
    tails = [
        tail("latency of an event", f"{_PER_SECOND} events/s{until}", name, each.latency, "ms") for name, each in named
    ]
    return [
        *(rate("events", f"{_AT_ONCE} publishes in flight{until}", name, each.at_once, "events/s", each.versions) for name, each in named),
        *(rate("events", f"1 publish in flight{until}", name, each.one_by_one, "events/s") for name, each in named),
        *(figure for same_case in zip(*tails, strict=True) for figure in same_case),
        *(cost("processor time of an event", f"{_AT_ONCE} publishes in flight{until}", name, each.processor, "µs") for name, each in named),
        *(cost("memory of all processes", f"{_AT_ONCE} publishes in flight{until}", name, each.memory, "MiB") for name, each in named),
    ]  # fmt: skip
