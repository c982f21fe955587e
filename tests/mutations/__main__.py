"""Plants one bug after the other in copies of the tree and runs the tests that have to catch it: ``python -m tests.mutations``."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.mutations.planted import Bug, planted
from tests.tree import ROOT

_COPIED = ("pyproject.toml", "src", "tests", "examples", "scripts", "docs", "bench")
_SECONDS_OF_A_TEST = 60
_SECONDS_OF_A_BUG = 600
_SECONDS_WITHOUT = 3_600
_TESTS_FAILED = 1


class Fate(StrEnum):
    CAUGHT = "caught"
    SURVIVED = "SURVIVED"
    UNTRIED = "UNTRIED"
    """The tests could not even be run, which says nothing about them."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    bug: Bug
    fate: Fate
    by: str

    def __str__(self) -> str:
        return f"{self.fate:9} {self.bug.name}: {self.by or self.bug.breaks}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("words", nargs="*", help="only bugs whose name or file has one of these words in it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--table", action="store_true", help="print the verdicts as a table for the documents")
    options = parser.parse_args()
    bugs = [bug for bug in planted() if _is_wanted(bug, options.words)]
    with tempfile.TemporaryDirectory(prefix="headrace-mutants-") as folder:
        if trouble := _trouble_without_bugs(bugs, Path(folder)):
            print(f"without any bug: {trouble}")
            return 2
        return _try_all(bugs, Path(folder), options)


def _is_wanted(bug: Bug, words: list[str]) -> bool:
    return not words or any(word in f"{bug.name} {bug.file}" for word in words)


def _trouble_without_bugs(bugs: Iterable[Bug], folder: Path) -> str | None:
    """A test that fails anyway would catch everything."""
    tests = dict.fromkeys(test for bug in bugs for test in bug.caught_by)
    tree = _copy(folder / "sound")
    status, output = _run(tree, tuple(tests), seconds=_SECONDS_WITHOUT)
    shutil.rmtree(tree)
    return None if status == 0 else _first_failure(output) or output[-2_000:] or "the tests did not come to an end"


def _try_all(bugs: list[Bug], folder: Path, options: argparse.Namespace) -> int:
    verdicts = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for verdict in pool.map(lambda numbered: _tried(numbered[1], folder / str(numbered[0])), enumerate(bugs)):
            verdicts.append(verdict)
            print(_table_row(verdict) if options.table else verdict, flush=True)
    fates = Counter(verdict.fate for verdict in verdicts)
    print(", ".join(f"{count} {fate.lower()}" for fate, count in fates.items()), file=sys.stderr)
    return 0 if set(fates) == {Fate.CAUGHT} else 1


def _tried(bug: Bug, folder: Path) -> Verdict:
    tree = _copy(folder)
    bug.plant(tree)
    status, output = _run(tree, bug.caught_by, seconds=_SECONDS_OF_A_BUG)
    shutil.rmtree(tree)
    if status == 0:
        return Verdict(bug=bug, fate=Fate.SURVIVED, by="")
    if status is None:
        return Verdict(bug=bug, fate=Fate.CAUGHT, by="the tests did not come to an end")
    if status == _TESTS_FAILED and (failure := _first_failure(output)):
        return Verdict(bug=bug, fate=Fate.CAUGHT, by=failure)
    return Verdict(bug=bug, fate=Fate.UNTRIED, by=output[-2_000:])


def _copy(folder: Path) -> Path:
    folder.mkdir()
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy2(source, folder / name)
    return folder


def _run(tree: Path, tests: tuple[str, ...], *, seconds: float) -> tuple[int | None, str]:
    """The exit status of pytest, None when it had to be killed, and what it has said."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "--timeout", str(_SECONDS_OF_A_TEST), "-m", "not network"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=tree,
        # Before the place to which the installed package points.
        env=os.environ | {"PYTHONPATH": str(tree / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, ""
    return process.returncode, output


def _first_failure(output: str) -> str:
    """The name of the test, as pytest's summary has it."""
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("FAILED", "ERROR") and "::" in rest:
            return rest.partition(" - ")[0].strip()
    return ""


def _table_row(verdict: Verdict) -> str:
    test = verdict.by.rpartition("::")[2].partition("[")[0] or verdict.by
    return f"| {verdict.bug.name} | {verdict.bug.breaks} | {verdict.fate}: `{test}` |"


if __name__ == "__main__":
    sys.exit(main())
