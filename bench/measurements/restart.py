"""A process was killed while very many runs were under way: when does the next one go on with them?"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.child import Child
from bench.clones import clone_newest_run
from bench.figures import OURS, Figure, Plan, cost, rate


def measure_restart(plan: Plan) -> list[Figure]:
    count = plan.pick(20_000, 100_000)
    with tempfile.TemporaryDirectory(dir=plan.folder) as folder:
        path = Path(folder) / "restart.db"
        _leave_half_done(path, count)
        with Child("bench.peers.stored", str(path)) as child:
            child.ask("open")
            seen = child.ask("resumed")
            spawned = child.spawned_at
            child.ask("close")
    assert seen["runs"] == count, seen
    case = f"{count:,} unfinished runs of 5 recorded steps"
    note = "from the start of the process; one run was made through the API, the others are copies of its rows"
    return [
        cost("restart", f"{case}: first step", OURS, [seen["first"] - spawned], "s", note=note),
        cost("restart", f"{case}: all done", OURS, [seen["last"] - spawned], "s"),
        rate("restart", f"{case}: steps meanwhile", OURS, [count * 5 / (seen["last"] - seen["first"])], "steps/s"),
    ]


def _leave_half_done(path: Path, count: int) -> None:
    with Child("bench.peers.stored", str(path)) as child:
        child.ask("open")
        child.ask("half_done")
        child.kill()
    clone_newest_run(path, count - 1)
