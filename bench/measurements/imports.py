"""How long a start of the interpreter takes before anything is done."""

from __future__ import annotations

import subprocess
import sys
import time

from bench.figures import OURS, Figure, Plan, cost

_CASES = {
    "python -c pass": ("interpreter", ["-c", "pass"]),
    "import headrace": (OURS, ["-c", "import headrace"]),
    "from headrace import Headrace": (OURS, ["-c", "from headrace import Headrace"]),
    "headrace --help": (OURS, ["-m", "headrace", "--help"]),
}


def measure_imports(plan: Plan) -> list[Figure]:
    taken: dict[str, list[float]] = {case: [] for case in _CASES}
    for _ in range(plan.pick(5, 15)):
        for case, (_, arguments) in _CASES.items():
            taken[case].append(_run(arguments))
    return [
        cost("start of a process", case, system, taken[case], "ms")
        for case, (system, _) in _CASES.items()
    ]  # fmt: skip


def _run(arguments: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return (time.perf_counter() - begun) * 1000
