"""From the call of ``start`` to the first line of the step."""

from __future__ import annotations

import tempfile

from bench.child import Child
from bench.figures import OURS, Figure, Plan, tail


def measure_first_step(plan: Plan) -> list[Figure]:
    with (
        tempfile.TemporaryDirectory(dir=plan.folder) as folder,
        Child("bench.peers.embedded", folder) as child,
    ):
        child.ask("throughput", concurrency=50, runs=500)
        taken = child.ask("first_step", runs=plan.pick(200, 1_000))
        return tail("start to first step", "one run at a time", OURS, taken, "ms", note="one commit lies between")
