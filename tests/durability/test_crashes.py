"""Deaths in the middle of work: what was recorded is not done again, what was interrupted is, and order is order."""

from __future__ import annotations

import asyncio
import random as chance_of
import zlib
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import Retry, Statement, Transaction, flow, sleep, step, use
from headrace._engine.engine import Limits
from headrace._store.sqlite import open_sqlite_reader
from headrace.errors import OutcomeUnknown, RunFailed, ServiceUnavailable
from headrace.testing import Harness
from tests.durability.one_transaction import gathered_at

MINUTE = timedelta(minutes=1)


class World:
    """What steps find outside, and what they leave there."""

    def __init__(self, store: Path | None = None) -> None:
        self.store = store
        self.ran: Counter[str] = Counter()
        self.reached = asyncio.Event()
        self.dying = True

    def rows(self, query: str) -> int:
        """What the file has at this moment."""
        assert self.store is not None
        with open_sqlite_reader(self.store) as reader:
            found = reader.read(lambda tx: tx.one(Statement("rows", query)))
        assert found is not None
        return int(found[0])


# In the middle of a step


@step
async def work(number: int) -> int:
    world = use(World)
    world.ran[step.key] += 1
    if number == 5 and world.dying:
        world.reached.set()
        await asyncio.Event().wait()
    return number


@flow(id="ten-steps")
async def ten_steps() -> list[int]:
    return [await work(number) for number in range(10)]


async def test_a_death_in_the_sixth_of_ten_steps_repeats_that_one_alone() -> None:
    """The promise in one line; the repeated step has the key of the interrupted one."""
    world = World()
    async with Harness(ten_steps, ports=world) as harness:
        run = await harness.start(ten_steps)
        await world.reached.wait()
        world.dying = False
        await harness.crash()

        assert await run.result() == list(range(10))

    assert world.ran == {f"ten-steps/1/{number}": 2 if number == 5 else 1 for number in range(10)}


@step
async def long_work() -> object:
    world = use(World)
    before = step.previous_progress()
    step.progress(7)
    if world.dying:
        world.reached.set()
        await sleep(timedelta(hours=1))
    return before


@flow(id="one-long-step")
async def one_long_step() -> object:
    return await long_work()


async def test_the_next_attempt_finds_how_far_the_interrupted_one_was() -> None:
    """A step of an hour would begin anew after each crash."""
    world = World()
    async with Harness(one_long_step, ports=world) as harness:
        run = await harness.start(one_long_step)
        await harness.settle()
        world.dying = False
        await harness.crash()

        assert await run.result() == 7


# Branches


@step
async def stage(name: str, text: str) -> str:
    await sleep(zlib.crc32(f"{name} {text}".encode()) % 60 * MINUTE)
    return f"{name}({text})"


@flow(id="branches")
async def branches(count: int) -> list[str]:
    async def branch(number: int) -> str:
        return await stage("stored", await stage("parsed", await stage("fetched", str(number))))

    return await asyncio.gather(*(branch(number) for number in range(count)))


@pytest.mark.slow
async def test_results_of_a_hundred_branches_keep_their_places_through_twenty_deaths() -> None:
    """Elsewhere the results of gathered branches change places when a replay finds other steps quicker."""
    chance = chance_of.Random(4)
    async with Harness(branches) as harness:
        for commit in chance.sample(range(2, 120), 20):
            harness.crash_once(at_commit=commit)

        assert await harness.run(branches, 100) == [f"stored(parsed(fetched({number})))" for number in range(100)]
        assert harness.crashes == 20


@flow(id="in-order-of-completion")
async def in_order_of_completion(count: int) -> list[Any]:
    told: list[int] = []

    async def branch(number: int) -> int:
        await stage("worked", str(number))
        told.append(number)
        if len(told) % 3 == 0:  # what a branch does depends on how many were there before it
            await stage("third", str(len(told)))
        return number

    found = [await next_one for next_one in asyncio.as_completed([branch(number) for number in range(count)])]
    return [told, found]


async def test_what_branches_have_seen_of_each_other_stays_so_after_a_death() -> None:
    """A journal whose beginning reads otherwise after a restart is another story."""
    async with Harness(in_order_of_completion, replay_prefixes=3) as harness:
        run = await harness.start(in_order_of_completion, 12)
        for _ in range(6):
            await harness.advance(9 * MINUTE)
            before = harness.history(run)
            await harness.crash()
            await harness.settle()
            assert harness.history(run)[: len(before)] == before
        told, found = await run.result()

    assert sorted(told) == sorted(found) == list(range(12))
    assert told != list(range(12))


@step
async def at_once(number: int) -> int:
    return number


@flow(id="as-they-come")
async def as_they_come() -> list[int]:
    seen: list[int] = []

    async def branch(number: int) -> None:
        seen.append(await at_once(number))

    await asyncio.gather(*map(branch, range(8)))
    return seen


async def test_completions_of_one_transaction_enter_in_their_order() -> None:
    """They come back together; a flow that saw them in another order than the journal has could not be replayed."""
    async with Harness(as_they_come) as harness:
        seen = await harness.run(as_they_come)
        rows = harness.history("as-they-come")

    assert seen == [row.command for row in rows] == list(range(8))


# Nothing before its cause is on disk


@step
async def second_look(before: int) -> int:
    assert use(World).rows("SELECT count(*) FROM journal WHERE outcome = 'ok'") == 1, (
        "it begins before its cause is on disk"
    )
    return before


@flow(id="cause-and-effect")
async def cause_and_effect() -> int:
    return await second_look(await at_once(1))


@step(at_most_once=True)
async def only_once() -> int:
    assert use(World).rows("SELECT count(*) FROM journal WHERE outcome = 'mark'") == 1, (
        "it begins before its mark is on disk"
    )
    return 1


@flow(id="marked")
async def marked() -> int:
    return await only_once()


@step(at_most_once=True)
async def pay() -> str:
    world = use(World)
    world.ran["paid"] += 1
    if world.dying:
        await sleep(timedelta(hours=1))
    return "paid"


@flow(id="pays")
async def pays() -> str:
    try:
        return await pay()
    except OutcomeUnknown as error:
        return f"unknown: {error.key}"


@pytest.mark.parametrize("deaths", [1, 3])
async def test_an_at_most_once_step_that_was_interrupted_is_not_run_again(deaths: int) -> None:
    """Whether the money has gone is for a person to find out; paying again is no way to do that."""
    world = World()
    async with Harness(pays, ports=world) as harness:
        run = await harness.start(pays)
        await harness.settle()
        for _ in range(deaths):
            await harness.crash()

        assert await run.result() == "unknown: pays/1/0"

    assert world.ran == {"paid": 1}


@step(retry=Retry(attempts=2, first=0))
async def twice() -> int:
    if step.attempt == 1:
        raise ServiceUnavailable("not yet")
    assert use(World).rows("SELECT count(*) FROM attempts") == 1, "it is tried again before the failure is on disk"
    return 1


@flow(id="counted")
async def counted() -> int:
    return await twice()


@pytest.mark.allow_blocking
@pytest.mark.parametrize(
    "kind, point",
    [(cause_and_effect, "record.before"), (marked, "record.before"), (counted, "retry.before")],
    ids=["result", "mark", "failed attempt"],
)
async def test_nothing_begins_before_what_it_follows_from_is_on_disk(kind: Any, point: str, tmp_path: Path) -> None:
    """A crash in between would leave an effect without a cause: a step that ran on a result which then comes out otherwise."""
    async with Harness(kind, store=tmp_path / "test.db", ports=World(tmp_path / "test.db")) as harness:
        with gathered_at(harness, point) as slowed:
            assert await harness.run(kind) == 1

    assert slowed == [point]


# In the store's own transaction

MAKE = Statement("make", "CREATE TABLE IF NOT EXISTS effects (key TEXT PRIMARY KEY)")
EFFECT = Statement("effect", "INSERT INTO effects (key) VALUES (:key)")


@step(transactional=True)
def leave_a_mark(tx: Transaction) -> str:
    CALLED["good"] += 1
    tx.run(MAKE)
    tx.run(EFFECT, {"key": step.key})
    return step.key


@step(transactional=True)
def leave_no_mark(tx: Transaction) -> str:
    tx.run(MAKE)
    tx.run(EFFECT, {"key": step.key})
    raise LookupError("it had already written")


CALLED: Counter[str] = Counter()


@flow(id="exactly-once")
async def exactly_once() -> list[str]:
    return [await leave_a_mark() for _ in range(3)]


@pytest.mark.parametrize("commit", range(1, 7))
async def test_a_transactional_step_has_its_effect_once_whatever_dies(commit: int, tmp_path: Path) -> None:
    """Its effect and its row are one thing; the table refuses a second effect, and the flow would fail."""
    world = World(tmp_path / "test.db")
    async with Harness(exactly_once, store=world.store) as harness:
        harness.crash_once(at_commit=commit)
        keys = await harness.run(exactly_once)

    assert world.rows("SELECT count(*) FROM effects") == len(set(keys)) == 3


@flow(id="neighbours")
async def neighbours() -> list[str]:
    found = await asyncio.gather(leave_a_mark(), leave_no_mark(), return_exceptions=True)
    return [str(item) for item in found]


async def test_a_transactional_step_is_run_once_though_its_neighbour_fails() -> None:
    """What else it does, such as counting, would be done again for a stranger's sake."""
    CALLED.clear()
    async with Harness(neighbours) as harness:
        assert await harness.run(neighbours) == ["neighbours/1/0", "it had already written"]

    assert CALLED == {"good": 1}


@flow(id="fails-in-transaction")
async def fails_in_transaction() -> str:
    return await leave_no_mark()


async def test_a_transactional_step_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Half an effect is no effect that anybody has asked for."""
    world = World(tmp_path / "test.db")
    async with Harness(fails_in_transaction, exactly_once, store=world.store) as harness:
        await harness.run(exactly_once)
        with pytest.raises(RunFailed, match="already written"):
            await harness.run(fails_in_transaction)

    assert world.rows("SELECT count(*) FROM effects") == 3


# In line


@flow(id="in-line-{number}")
async def in_line(number: int) -> int:
    await stage("worked", str(number))
    return number


async def test_runs_that_stand_in_line_at_a_death_come_to_their_turn() -> None:
    """They have not begun, so nothing of them is under way and nothing is due."""
    async with Harness(in_line, limits=Limits(active_runs=1, loop_steps=1)) as harness:
        runs = [await harness.start(in_line, number) for number in range(4)]
        assert [view.state for view in harness.runs()].count("queued") == 3
        await harness.crash()

        assert await asyncio.gather(*(run.result() for run in runs)) == [0, 1, 2, 3]
