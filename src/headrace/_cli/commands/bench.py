"""``headrace bench``: what this machine gives, in a few seconds."""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from headrace._app.app import Headrace
from headrace._authoring.flow import flow
from headrace._authoring.pipeline import Pipeline
from headrace._authoring.step import step
from headrace._cli.screen import Screen, common
from headrace._cli.store_file import store_path
from headrace._store import health
from headrace._store.file_system import file_system_of

_STEPS = 10
_CONCURRENT = 50
_IN_SEQUENCE = 30
_MOUNTS = Path("/proc/self/mountinfo")


@step
async def add(left: int, right: int) -> int:
    return left + right


@flow(id="bench-{number}")
async def ten_steps(number: int) -> int:
    total = number
    for term in range(_STEPS):
        total = await add(total, term)
    return total


@dataclass(frozen=True, kw_only=True)
class Machine:
    processor: str
    processors: int
    load: float
    system: str
    python: str
    sqlite: str
    file_system: str


@dataclass(frozen=True, kw_only=True)
class Measured:
    """``sync`` is a bare write of 4 KiB; the rest are durable steps of Headrace."""

    syncs_per_second: float
    sync_ms: float
    steps_per_second: float
    concurrent_runs: int
    step_in_sequence_ms: float
    seconds: float


@click.command()
@click.option("--folder", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The disk to measure; by default that of the store.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0.1, 600), default=3.0, show_default=True, help="How long each part may take.")  # fmt: skip
@common
def bench(screen: Screen, folder: Path | None, seconds: float) -> None:
    """Measure this disk and this machine.

    How often the disk answers for a write, durable steps a second of 50 runs at once, and the time of one step in sequence.
    Other programs that run now make it slower; the load at the start is part of the report.
    """
    place = folder or store_path(None, instead="--folder says which disk is to be measured").parent
    machine = _machine(place)
    with tempfile.TemporaryDirectory(dir=place, prefix="headrace-bench-") as scratch:
        syncs = health.sync_times(Path(scratch), seconds=seconds)
        measured = asyncio.run(_measure(Path(scratch) / "bench.db", seconds, syncs))
    if screen.as_json:
        screen.give({"machine": asdict(machine), "measured": asdict(measured)})
        return
    screen.facts(
        [
            ("Processor", f"{machine.processor}, {machine.processors} of them, load {machine.load:.1f} at the start"),
            ("System", f"{machine.system}, Python {machine.python}, SQLite {machine.sqlite}, {machine.file_system}"),
            ("Bare sync", f"{measured.syncs_per_second:,.0f} a second, {measured.sync_ms:.2f} ms in the middle"),
            (
                "Durable steps",
                f"{measured.steps_per_second:,.0f} a second, {_CONCURRENT} runs of {_STEPS} steps at once",
            ),
            (
                "One after another",
                f"{measured.step_in_sequence_ms:.2f} ms a step in the middle, one run of {_STEPS} steps",
            ),
        ]
    )


async def _measure(store: Path, seconds: float, syncs: list[float]) -> Measured:
    async with Headrace([Pipeline("bench", flows=[ten_steps])], store=store) as app:
        await app.run(ten_steps, 0)
        steps_per_second = await _concurrent(app, seconds)
        in_sequence = await _in_sequence(app, seconds)
    return Measured(
        syncs_per_second=len(syncs) / sum(syncs),
        sync_ms=statistics.median(syncs) * 1000,
        steps_per_second=steps_per_second,
        concurrent_runs=_CONCURRENT,
        step_in_sequence_ms=statistics.median(in_sequence) * 1000 / _STEPS,
        seconds=seconds,
    )


async def _concurrent(app: Headrace, seconds: float) -> float:
    began = time.perf_counter()
    finished = 0

    async def one_after_another(lane: int) -> None:
        nonlocal finished
        number = (lane + 1) * 1_000_000_000
        while time.perf_counter() < began + seconds:
            await app.run(ten_steps, number)
            number += 1
            finished += 1

    await asyncio.gather(*(one_after_another(lane) for lane in range(_CONCURRENT)))
    return finished * _STEPS / (time.perf_counter() - began)


async def _in_sequence(app: Headrace, seconds: float) -> list[float]:
    taken: list[float] = []
    until = time.perf_counter() + seconds
    while len(taken) < _IN_SEQUENCE and (not taken or time.perf_counter() < until):
        began = time.perf_counter()
        await app.run(ten_steps, -1 - len(taken))
        taken.append(time.perf_counter() - began)
    return taken


def _machine(folder: Path) -> Machine:
    return Machine(
        processor=_processor(),
        processors=os.cpu_count() or 1,
        load=os.getloadavg()[0],
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        sqlite=health.sqlite_version(),
        file_system=file_system_of(folder.resolve(), _MOUNTS.read_text(errors="replace")) if _MOUNTS.exists() else "",
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
