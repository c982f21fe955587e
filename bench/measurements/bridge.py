"""A backlog goes to a broker, and another one comes from it: Headrace, and beside it what the client alone gets confirmed."""

from __future__ import annotations

import tempfile

from bench.child import Child, ChildDied
from bench.figures import OURS, Figure, Plan, rate

_CLIENT = "aio-pika alone"


def measure_bridge(plan: Plan) -> list[Figure]:
    events = plan.pick(2_000, 10_000)
    with (
        tempfile.TemporaryDirectory(dir=plan.folder, ignore_cleanup_errors=True) as folder,
        Child("bench.peers.bridged", folder) as child,
    ):
        try:
            broker = child.ask("open")
        except ChildDied as error:
            plan.missing["bridge"] = str(error)
            return []
        child.ask("relay", events=events // 10)  # warm, and the queues are there
        rounds = [[child.ask(what, events=events) for what in ("relay", "bare", "feed")] for _ in range(plan.rounds)]
    sent, bare, came = zip(*rounds, strict=True)
    return [
        rate("events over a bridge", "to the broker, until confirmed", OURS, sent, "events/s", broker),
        rate("events over a bridge", "to the broker, until confirmed", _CLIENT, bare, "events/s"),
        rate("events over a bridge", "from the broker, until on disk", OURS, came, "events/s"),
    ]
