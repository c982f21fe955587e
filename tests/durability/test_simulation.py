"""T2: populations of flows drawn by lot, crashed at commits and named points drawn by lot, some on a disk that loses its power.

Whatever happens, every run must end as plain Python says it must, and no recorded step may run again. `TRIES=5000` searches further, `FIRST=`
begins at another seed, `SEED=` repeats one; the writer is a thread, so a seed that failed may need several tries to fail again.
"""

from __future__ import annotations

import asyncio
import functools
import os
import random
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from headrace._engine.engine import Limits
from headrace._ports.database import Reader, Statement
from headrace._store.sqlite import open_sqlite_reader
from headrace.errors import Conflict, EngineUnavailable, RunCancelled, StoreError
from headrace.testing import FAULT_POINTS, Crash, FakeDisk, Harness
from tests.durability import simulated_load as load
from tests.durability.simulated_load import Act, Ledger

TRIES = int(os.environ.get("TRIES", "200"))
FIRST = int(os.environ.get("FIRST", "0"))
SEED = os.environ.get("SEED")
_TRIES_OF_ONE_SEED = 20
_PARTS = 1 if SEED else 8
"""So that several workers of the test runner can share the work."""
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
        kinds = {number: "restless" if number % 2 else "stopped" for number in range(self.victims)}
        return states | {f"{kind}-victim{number}": "cancelled" for number, kind in kinds.items()}

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


def armed(harness: Harness, chance: random.Random) -> None:
    """Several deaths: most after some commit, some at a named point."""
    for _ in range(chance.randrange(1, 5)):
        if chance.random() < 0.6:
            harness.crash_once(at_commit=chance.randrange(1, 120))
        else:
            harness.crash_once(at=chance.choice(sorted(FAULT_POINTS)), nth=chance.randrange(1, 25))


class Play:
    """One population in one harness, from its start to what must be true at the end."""

    def __init__(self, harness: Harness, population: Population, ledger: Ledger, chance: random.Random) -> None:
        self.harness = harness
        self.population = population
        self.ledger = ledger
        self.chance = chance

    async def through(self) -> None:
        harness, population = self.harness, self.population
        runs = [await harness.start(load.perform, place, act) for place, act in population.places().items()]
        doing = [asyncio.create_task(self._cancel(number)) for number in range(population.victims)]
        if population.letters:
            doing.append(asyncio.create_task(self._post(population.letters)))
        if self.chance.random() < 0.3:
            await harness.advance(timedelta(minutes=self.chance.randrange(2_000)))
            await self._die_or_leave()
        for run, act in zip(runs, population.acts, strict=True):
            assert await run.result() == load.expected(act), f"{run.id} came to something else"
        await asyncio.gather(*doing)
        for run_id, state in population.runs().items():
            if state == "completed":
                await harness.settle()  # a process that is just dying could not be asked
                await harness.app.handle(run_id).result()

    async def _die_or_leave(self) -> None:
        down_for = timedelta(minutes=self.chance.choice((0, 5, 60, 5_000)))
        if self.chance.random() < 0.5:
            await self.harness.crash(down_for=down_for)
        else:
            await self.harness.restart(down_for=down_for)

    async def _cancel(self, number: int) -> None:
        flow = load.restless if number % 2 else load.stopped
        run = await self.harness.start(flow, f"victim{number}", self.chance.randrange(5))
        ending = asyncio.create_task(run.result())  # the clock goes on while somebody waits
        await self._minutes(self.chance.randrange(20))
        acknowledged = False
        while not acknowledged:
            acknowledged = await self._asked(self.harness.cancel(run))
        with pytest.raises(RunCancelled):
            await ending

    async def _minutes(self, count: int) -> None:
        """Until the clock has jumped so far; on its way it meets timers of the flows that are due at the same moment."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.harness.clock.call_after(timedelta(minutes=count), lambda: over.set_result(None))
        await over

    async def _post(self, letters: int) -> None:
        run = await self.harness.start(load.from_outside, "letters", letters)
        for number in range(letters):
            while not await self._asked(self.harness.send(run, "number", number)):
                pass
        assert await run.result() == " ".join(map(str, range(letters))), (
            "an acknowledged message is lost, or out of order"
        )

    async def _asked(self, call: Awaitable[None]) -> bool:
        """Whether it was acknowledged; a process that died meanwhile may have done it or not, and is asked again."""
        try:
            await call
        except (Crash, EngineUnavailable, StoreError):
            return False
        except Conflict:  # the first time it had been heard, and the run is over
            return True
        return True

    def check(self, path: Path) -> None:
        assert self.ledger.broken == []
        states = {view.id: view.state for view in self.harness.runs()}
        assert states == self.population.runs(), "there are other runs than there should be, or they ended otherwise"
        with open_sqlite_reader(path) as reader:
            reader.read(self._check_effects)

    def _check_effects(self, reader: Reader) -> None:
        steps = {key: (name, outcome, attempt) for key, name, outcome, attempt in reader.all(_STEPS)}
        has_effects = any(name == "transact" and outcome == "ok" for name, outcome, _ in steps.values())
        effects: dict[str, int] = dict(reader.all(_EFFECTS)) if has_effects else {}
        ran = self.ledger.ran
        for key, (name, outcome, attempt) in steps.items():
            if name == "transact":
                assert effects.pop(key, 0) == (outcome == "ok"), (
                    f"I5: the transactional step {key} had another number of effects"
                )
            elif name == "once":
                assert ran[key] <= 1, f"I5: the at-most-once step {key} ran {ran[key]} times"
                assert ran[key] == 1 or outcome != "ok"
            elif outcome != "cancelled":
                assert ran[key] >= attempt, f"I5: {key} is recorded with attempt {attempt} and ran {ran[key]} times"
        assert not effects, "I5: effects of transactional steps that are not recorded"
        assert set(ran) <= set(steps), (
            f"I1: steps ran of which nothing is recorded: {sorted(set(ran) - set(steps))[:5]}"
        )


async def play(folder: Path, population: Population, seed: int, *, faults: Callable[[Harness], None]) -> int:
    """Play it to the end; returns how often it crashed."""
    chance = random.Random(f"{seed}/play")
    ledger = Ledger()
    with closing(FakeDisk()) as disk:
        harness = MortalHarness(
            folder, ledger, limits=population.limits, disk=disk if population.disk else None, seed=seed
        )
        async with asyncio.timeout(_SECONDS_OF_PATIENCE), harness:
            faults(harness)
            performance = Play(harness, population, ledger, chance)
            await performance.through()
            await harness.settle()
            performance.check(folder / "test.db")
            return harness.crashes


@contextmanager
def told_how_to_repeat(seed: int) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        error.add_note(f"seed {seed}; to repeat: SEED={seed} pytest {Path(__file__).relative_to(Path.cwd())} -k lot")
        raise


@pytest.mark.parametrize("part", range(_PARTS))
def test_populations_drawn_by_lot_survive_crashes_drawn_by_lot(tmp_path: Path, part: int) -> None:
    """Orders of events and deaths that nobody thought of; each has to end as if nobody had died."""
    seeds = [int(SEED)] * _TRIES_OF_ONE_SEED if SEED else range(FIRST + part, FIRST + TRIES, _PARTS)
    crashes = 0
    for index, seed in enumerate(seeds):
        folder = tmp_path / str(index)
        folder.mkdir()
        chance = random.Random(seed)
        population = drawn(chance)
        with told_how_to_repeat(seed):
            crashes += asyncio.run(play(folder, population, seed, faults=functools.partial(armed, chance=chance)))
        shutil.rmtree(folder)

    assert crashes > len(seeds) // 2 or SEED, "hardly anything died: the lots are drawn too far out"
