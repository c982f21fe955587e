"""How fast journals are replayed, which is what bringing runs back into memory costs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.child import Child
from bench.figures import OURS, Figure, Plan, rate


def measure_replay(plan: Plan) -> list[Figure]:
    return [
        _case(plan, "one journal of 10,000 rows", "replay_one", count=1, steps=10_000),
        _case(plan, "pre-flight of 1,000 journals of 10 rows", "replay_all", count=1_000, steps=10),
    ]


def _case(plan: Plan, case: str, command: str, *, count: int, steps: int) -> Figure:
    with (
        tempfile.TemporaryDirectory(dir=plan.folder) as folder,
        Child("bench.peers.stored", str(Path(folder) / "replay.db")) as child,
    ):
        # Reading is measured, so writing need not wait for the disk.
        child.ask("open", durability="fast")
        child.ask("long", count=count, steps=steps)
        child.ask(command)
        measured = [child.ask(command) for _ in range(plan.pick(3, 9))]
        child.ask("close")
    assert all(rows == count * steps for rows, _ in measured), measured
    return rate("replay", case, OURS, [rows / seconds for rows, seconds in measured], "rows/s")
