"""How late other work of the same event loop is while Headrace is at full load: what an HTTP request would wait."""

from __future__ import annotations

import tempfile

from bench.child import Child
from bench.figures import OURS, Figure, Plan, cost


def measure_heartbeat(plan: Plan) -> list[Figure]:
    with (
        tempfile.TemporaryDirectory(dir=plan.folder) as folder,
        Child("bench.peers.embedded", folder) as child,
    ):
        child.ask("throughput", concurrency=50, runs=500)
        rounds = [child.ask("heartbeat", concurrency=500, runs=plan.pick(1_500, 6_000)) for _ in range(plan.rounds)]
    return [
        cost("lag of the event loop", f"under 500 runs at once, {name}", OURS, [each[place] for each in rounds], "ms")
        for place, name in enumerate(("p50", "p99", "most"))
    ]
