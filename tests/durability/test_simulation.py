"""T2: populations of flows drawn by lot, crashed at commits and named points drawn by lot, some on a disk that loses its power.

Whatever happens, every run must end as plain Python says it must, and no recorded step may run again. `TRIES=5000` searches further, `FIRST=`
begins at another seed, `SEED=` repeats one; the writer is a thread, so a seed that failed may need several tries to fail again.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from headrace._engine.engine import Limits
from headrace._ports.database import Reader, Statement
from headrace._store import group_commit
from headrace._store.sqlite import open_sqlite_reader
from headrace.errors import Conflict, EngineUnavailable, RunCancelled, StoreError
from headrace.testing import FAULT_POINTS, Crash, FakeDisk, Harness
from tests.durability import simulated_load as load
from tests.durability.simulated_load import Act, Ledger, Run

TRIES = int(os.environ.get("TRIES", "200"))
FIRST = int(os.environ.get("FIRST", "0"))
SEED = os.environ.get("SEED")
_TRIES_OF_ONE_SEED = 20
_SECONDS_OF_PATIENCE = 60

_STEPS = Statement(
    "steps",
    "SELECT r.id || '/' || r.number || '/' || j.command, j.name, j.outcome, j.attempt FROM journal AS j JOIN runs AS r ON r.pk = j.run "
    "WHERE j.kind = 'step' AND j.outcome <> 'mark'",
)
_EFFECTS = Statement("effects", "SELECT key, count(*) FROM simulated_effects GROUP BY key")

pytestmark = [pytest.mark.slow, pytest.mark.allow_blocking]


class MortalHarness(Harness):
    """Tells the ledger which file to look at, and takes the power away at each death if it has a disk of its own."""

    def __init__(self, folder: Path, ledger: Ledger, *, limits: Limits, disk: FakeDisk | None, seed: int) -> None:
        super().__init__(load.pipeline(), ports=ledger, store=folder / "test.db", limits=limits, disk=disk, seed=seed)
        self._folder = folder
        self._ledger = ledger

    async def _live(self) -> None:
        if self._disk is not None and self._lives:
            self._disk.lose_power(self._folder, seed=self.seed * 1_000 + self._lives)
        await super()._live()
        self._ledger.watch(self._folder / "test.db")


@dataclass(kw_only=True)
class Population:
    """What is started, and how."""

    acts: list[Act]
    letters: int = 0
    """Messages that the test sends to a run from outside."""
    victims: int = 0
    """Runs that the test cancels."""
    limits: Limits = field(default_factory=Limits)
    disk: bool = False

    def runs(self) -> dict[str, str]:
        """All runs that there must be in the end, and their states."""
        states = {f"perform-{place}": "completed" for place in self.places()}
        for place, act in self.places().items():
            states |= dict(load.runs_of(act, place))
        if self.letters:
            states["gather-letters"] = "completed"
        return states | {f"stopped-victim{number}": "cancelled" for number in range(self.victims)}

    def places(self) -> dict[str, Act]:
        return {f"run{index}": act for index, act in enumerate(self.acts)}


def drawn(chance: random.Random) -> Population:
    limits = Limits(
        active_runs=chance.randrange(2, 6),
        idle_runs=chance.randrange(0, 4),
        loop_steps=chance.choice((1, 2, 100)),
        thread_steps=chance.choice((1, 2)),
    )
    return Population(
        acts=[load.draw_act(chance, chance.randrange(1, 4)) for _ in range(chance.randrange(2, 6))],
        letters=chance.choice((0, 0, 3)),
        victims=chance.choice((0, 0, 2)),
        limits=limits,
        disk=chance.random() < 0.3,
    )
