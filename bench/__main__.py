"""``python -m bench [NAMES...]``: all systems in one run, one table."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from bench.child import ChildDied
from bench.figures import Figure, Plan
from bench.machine import describe, load
from bench.measurements import MEASUREMENTS
from bench.report import Report

_ROOT = Path(__file__).parent.parent
_PAGE = _ROOT / "docs" / "explanation" / "performance.md"
_BEGIN, _END = "<!-- figures -->", "<!-- end of figures -->"


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="headrace-bench-", dir=options.folder) as folder:
        report = _measure(options.names or list(MEASUREMENTS), options.quick, Path(folder))
    print(report.as_markdown())
    _keep(report, options)
    sys.exit(3 if report.missing else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Headrace beside its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(MEASUREMENTS)}")
    parser.add_argument(
        "--quick", action="store_true", help="about a minute: fewer samples, sleeping runs by direct inserts"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--folder", type=Path, help="where stores are made; it decides which disk is measured")
    parser.add_argument("--docs", action="store_true", help="put the figures into docs/explanation/performance.md")
    options = parser.parse_args()
    for name in options.names:
        if name not in MEASUREMENTS:
            parser.error(f"there is no measurement {name!r}; there are {', '.join(MEASUREMENTS)}")
    return options


def _measure(names: list[str], quick: bool, folder: Path) -> Report:
    begun = time.perf_counter()
    machine = describe(folder) | {"load before": load()}
    plan = Plan(quick=quick, folder=folder, rounds=2 if quick else 5)
    figures: list[Figure] = []
    for name, measure in MEASUREMENTS.items():
        if name in names:
            print(f"{time.perf_counter() - begun:5.0f} s  {name}", file=sys.stderr, flush=True)
            try:
                figures += measure(plan)
            except (ChildDied, OSError, AssertionError, subprocess.CalledProcessError) as error:
                plan.missing[name] = f"{type(error).__name__}: {error}"[:300]
    return Report(
        date=datetime.now(UTC).date().isoformat(),
        quick=quick,
        seconds=time.perf_counter() - begun,
        machine=machine | {"load after": load()},
        figures=figures,
        missing=plan.missing,
    )


def _keep(report: Report, options: argparse.Namespace) -> None:
    if options.json:
        options.json.write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")
    if not options.names:
        name = f"{report.date}-quick.md" if report.quick else f"{report.date}.md"
        (_ROOT / "bench" / "results" / name).write_text(report.as_markdown(), encoding="utf-8")
    if options.docs:
        before, _, rest = _PAGE.read_text("utf-8").partition(_BEGIN)
        _, _, after = rest.partition(_END)
        kind = "a short run" if report.quick else "a full run"
        figures = f"{_BEGIN}\n\nFrom {kind} on {report.date}.\n\n{report.body()}\n\n{_END}"
        _PAGE.write_text(before + figures + after, encoding="utf-8")


if __name__ == "__main__":
    main()
