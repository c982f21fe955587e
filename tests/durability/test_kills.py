"""A real process under load, killed at every named point and at random moments; nothing acknowledged may be lost and nothing recorded repeated."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from headrace._ports.database import Statement
from headrace._store.sqlite import open_sqlite_reader
from headrace.testing.faults import FAULT_POINTS, kill_environment
from headrace.testing.invariants import check_invariants

TRIES = int(os.environ.get("TRIES", "30"))
RUNS = 40
_RECORDED = Statement(
    "recorded",
    "SELECT r.id || '/' || r.number || '/' || j.command FROM journal AS j JOIN runs AS r ON r.pk = j.run "
    "WHERE j.kind = 'step' AND j.outcome <> 'mark'",
)
_IDS = Statement("ids", "SELECT id FROM runs")
_OPEN = Statement("open", "SELECT id, state FROM runs WHERE finished_at IS NULL")
_COUNTED = Statement("counted", "SELECT key, count(*) FROM load_counted GROUP BY key")
_TALLIED = Statement("tallied", "SELECT count(*) FROM load_tallied GROUP BY run")
_TOPICS = Statement("topics", "SELECT topic, count(*) FROM events GROUP BY topic")
_ALREADY_MADE = Statement("made", "SELECT count(*) FROM sqlite_master WHERE name = 'load_counted'")

pytestmark = [pytest.mark.e2e, pytest.mark.allow_blocking]


class Victim:
    """The program, its folder, and what must be true of both."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, runs: int = RUNS, *, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.durability.load_program", str(self.folder), str(runs)],
            env=os.environ | (environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )

    def lines(self, name: str) -> list[str]:
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def recorded(self) -> set[str]:
        with open_sqlite_reader(self.folder / "store.db") as reader:
            return {row[0] for row in reader.read(lambda tx: tx.all(_RECORDED))}

    def check_after_death(self) -> tuple[set[str], int]:
        """What is recorded now must never run again; what was acknowledged must be there."""
        if not (self.folder / "store.db").exists():
            assert not self.lines("acknowledged")
            return set(), len(self.lines("steps"))
        with open_sqlite_reader(self.folder / "store.db") as reader:
            known = {row[0] for row in reader.read(lambda tx: tx.all(_IDS))}
        assert set(self.lines("acknowledged")) <= known, "an acknowledged start is lost"
        return self.recorded(), len(self.lines("steps"))

    def check_not_repeated(self, recorded: set[str], ran_before: int) -> None:
        repeated = recorded.intersection(self.lines("steps")[ran_before:])
        assert not repeated, f"recorded steps ran again: {sorted(repeated)[:5]}"

    def check_at_the_end(self, runs: int = RUNS) -> None:
        with open_sqlite_reader(self.folder / "store.db") as reader:
            assert reader.read(lambda tx: tx.all(_OPEN)) == []
            counted: dict[str, int] = dict(reader.read(lambda tx: tx.all(_COUNTED)))
            tallied: list[int] = [row[0] for row in reader.read(lambda tx: tx.all(_TALLIED))]
            topics: dict[str, int] = dict(reader.read(lambda tx: tx.all(_TOPICS)))
        assert check_invariants(self.folder / "store.db") == []
        assert len(counted) == runs
        assert set(counted.values()) == {1}, "a transactional step had its effect twice"
        assert topics == {"load.grown": runs, "load.weighed": runs}, "an event is lost, or was published twice"
        assert tallied == [2] * runs, "a transactional handler handled an event twice, or not at all"
        assert len(set(self.lines("weighed"))) == runs
        ran = Counter(self.lines("steps"))
        assert len(ran) == runs * 8, "effects and recorded steps do not match"


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return Victim(tmp_path)


def run_to_the_end(victim: Victim, runs: int = RUNS) -> None:
    process = victim.start(runs)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert output == "all done\n"


@pytest.mark.parametrize(
    "point", [point for point in FAULT_POINTS if point not in ("cancel.before", "eviction.before")]
)
def test_a_process_that_is_killed_at_a_named_point_goes_on(victim: Victim, point: str) -> None:
    """Each point is a moment at which memory and disk say different things; none may be a bad one."""
    nth = random.Random(point).randrange(1, 40)

    process = victim.start(environment=kill_environment(point, nth))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -9, f"{point} was not passed {nth} times: {errors}"
    recorded, ran = victim.check_after_death()
    run_to_the_end(victim)

    victim.check_not_repeated(recorded, ran)
    victim.check_at_the_end()


def test_a_process_that_is_killed_again_and_again_loses_nothing(victim: Victim) -> None:
    """Moments that nobody thought of."""
    seed = int(os.environ.get("SEED", "0")) or random.randrange(2**32)
    chance = random.Random(seed)
    print(f"repeat with: SEED={seed} pytest {__file__}")
    deaths, runs = 0, RUNS
    for life in range(TRIES):
        recorded, ran = victim.check_after_death()
        runs = RUNS + 6 * life  # each life finds some new work, so that it is not done before it is killed
        process = victim.start(runs)
        _wait_for_lines(victim, process, ran + chance.randrange(0, 25), chance.random() * 0.02)
        process.kill()
        process.communicate()
        deaths += process.returncode == -9
        victim.check_not_repeated(recorded, ran)
    recorded, ran = victim.check_after_death()
    run_to_the_end(victim, runs)

    victim.check_not_repeated(recorded, ran)
    victim.check_at_the_end(runs)
    assert deaths > TRIES / 2, "it was done before it could be killed; raise RUNS"


def _wait_for_lines(victim: Victim, process: subprocess.Popen[str], count: int, pause: float) -> None:
    steps = victim.folder / "steps"
    while process.poll() is None and (not steps.exists() or steps.read_bytes().count(b"\n") < count):
        time.sleep(0.002)
    time.sleep(pause)
