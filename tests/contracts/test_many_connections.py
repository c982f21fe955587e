"""Decisions that several processes make at the same moment: each capability's, on one file and on several connections of a server."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from headrace import Event, Lifecycle
from headrace._access.model import Scope
from headrace._access.secret import new_token
from headrace._access.store import add_token, tokens
from headrace._base.clock import Instant
from headrace._engine.event_log import EventLog
from headrace._events.model import NewEvent, PartLost, Subject, Wait
from headrace._events.sharing import Shared, Worker, take_share
from headrace._events.store import SQL, check_fence, first_match, history_of, open_cursors
from headrace._idempotency.store import Request
from headrace._jobs.catalogue import Catalogue
from headrace._jobs.store import LOCK_LOG, job_of
from headrace._ports.database import Database, Operation, Statement, Transaction
from headrace._runs.model import NewRun, RunState
from headrace._runs.store import SQL as RUNS
from headrace._runs.store import add_wait, begin
from headrace._store.location import Location, PostgresUrl
from headrace._store.opening import open_store
from headrace._store.postgres import open_postgres
from headrace.errors import Conflict

WRITERS = 4


@pytest.fixture
async def databases(each_place: Location) -> AsyncIterator[list[Database]]:
    """As many as can write at once: one on a file, several on a server."""
    opened: list[Database] = [
        await open_store(each_place, durability="fast" if isinstance(each_place, Path) else "safe")
    ]
    if isinstance(each_place, PostgresUrl):
        opened += [await open_postgres(each_place, owner=False) for _ in range(WRITERS - 1)]
    yield opened
    for database in reversed(opened):
        await database.close()


async def by_all(databases: list[Database], operation: Operation[Any], times: int = WRITERS) -> list[Any]:
    """The answers, or what was raised, when all do the same at once."""
    asked = (databases[number % len(databases)].write(operation, isolated=True) for number in range(times))
    return await asyncio.gather(*asked, return_exceptions=True)


def new_run(id: str) -> NewRun:
    return NewRun(id=id, flow="p.f", input=b"{}", seed=1, state=RunState.QUEUED, at=1)


async def test_a_run_is_begun_once(databases: list[Database]) -> None:
    """An event that starts it, and a person who starts it, meet."""
    for number in range(10):
        begun = await by_all(databases, lambda tx: begin(tx, new_run(f"r{number}"), "join"))  # noqa: B023 - awaited

        assert Counter(item.created for item in begun) == {True: 1, False: WRITERS - 1}
        assert len({item.pk for item in begun}) == 1


async def test_runs_that_replace_each_other_are_numbered_without_a_gap(databases: list[Database]) -> None:
    """Only the last one may be open."""
    begun = await by_all(databases, lambda tx: begin(tx, new_run("r"), "replace"), times=12)

    open_runs = Statement("open_runs", "SELECT number FROM runs WHERE finished_at IS NULL")
    assert sorted(item.number for item in begun) == list(range(1, 13))
    assert databases[0].read(lambda reader: reader.all(open_runs)) == [(12,)]


async def test_a_name_is_given_to_one_token(databases: list[Database]) -> None:
    """Two of one name cannot be told apart in a log."""
    made = await by_all(databases, lambda tx: add_token(tx, new_token(), name="ci", scope=Scope.READ, at=1))

    assert Counter(type(item) for item in made)[Conflict] == WRITERS - 1
    assert [token.name for token in databases[0].read(tokens)] == ["ci"]


async def test_a_request_is_carried_out_once(databases: list[Database]) -> None:
    """The same request reaches two processes, and neither has seen the other's."""
    chance = random.Random(1)
    effect = Statement("effect", "INSERT INTO calls (run) VALUES (1)")

    def carry_out(tx: Transaction) -> None:
        tx.run(effect)
        Request(key="k", route="POST /x", hash=b"h", at=chance.randrange(10**9)).note(tx)

    asked = await by_all(databases, carry_out)

    assert Counter(type(item) for item in asked) == {type(None): 1, Conflict: WRITERS - 1}
    assert len(databases[0].read(lambda reader: reader.all(SQL.calls, {"count": 99}))) == 1


def count_moves(before: int | None, event: Event[int]) -> int:
    return (before or 0) + event.data


COUNTED: Lifecycle[int] = Lifecycle(
    "counted", moves=[("c.begun", None, "on"), ("c.more", "on", "on"), ("c.done", "on", "off")], terminal=["off"],
    data=int, fold=count_moves,
)  # fmt: skip
CATALOGUE = Catalogue([], [COUNTED])
JOB = Subject("counted", "j")


def event(id: str, topic: str, at: Instant = 1) -> NewEvent:
    return NewEvent(
        id=id, topic=topic, subject=JOB, data=b"1", source="", time=at, version=1, cause="", at=at, generation=None
    )


async def test_every_event_moves_its_job_once(databases: list[Database]) -> None:
    """What two add to a job at the same moment must both be in it, and a duplicate not twice."""
    log = EventLog(CATALOGUE)
    await databases[0].write(lambda tx: log.write(tx, event("begun", "c.begun")))
    said = [f"e{number}" for number in range(20) for _ in range(2)]
    random.Random(2).shuffle(said)

    written = (
        databases[number % len(databases)].write(lambda tx, name=name: log.write(tx, event(name, "c.more")))  # type: ignore[misc]
        for number, name in enumerate(said)
    )
    published = [publication.published for publication in await asyncio.gather(*written)]

    job = databases[0].read(lambda reader: job_of(reader, JOB))
    history = databases[0].read(lambda reader: history_of(reader, JOB, after=0))
    assert job is not None
    assert job.data == b"21"
    assert Counter(item.duplicate for item in published) == {False: 20, True: 20}
    assert [record.sequence for record in history] == list(range(1, 22))


async def test_a_job_is_ended_by_one(databases: list[Database]) -> None:
    """Of several events that end it one did; the others are in the history with the reason why they did not."""
    log = EventLog(CATALOGUE)
    await databases[0].write(lambda tx: log.write(tx, event("begun", "c.begun")))
    ids = iter(range(WRITERS))
    names = [f"done {number}" for number in ids]

    ended = (
        databases[number % len(databases)].write(lambda tx, name=name: log.write(tx, event(name, "c.done")))  # type: ignore[misc]
        for number, name in enumerate(names)
    )
    published = [publication.published for publication in await asyncio.gather(*ended)]

    assert Counter(item.applied for item in published) == {True: 1, False: WRITERS - 1}
    assert all(item.reason for item in published if not item.applied)


async def test_an_event_and_a_run_that_waits_for_it_never_miss_each_other(databases: list[Database]) -> None:
    """Either the run finds the event, or whoever publishes it finds the run."""
    log = EventLog(CATALOGUE)
    wait = Wait(topic="c.begun", subject=None, after=0)

    for number in range(25):
        run = (await databases[0].write(lambda tx: begin(tx, new_run(f"w{number}"), "join"))).pk  # noqa: B023
        subject = Subject("", f"s{number}")
        here = Wait(topic=wait.topic, subject=subject, after=0)
        new = NewEvent(
            id=f"e{number}", topic="c.begun", subject=subject, data=b"1", source="", time=1, version=1, cause="", at=1
        )

        def look(tx: Transaction, run: int = run, here: Wait = here) -> bool:
            tx.one(LOCK_LOG)
            found = first_match(tx, here)
            time.sleep(random.random() * 0.002)  # noqa: TID251  in the writer's thread
            if found is None:
                add_wait(tx, run, 0, here)
            return found is not None

        found, publication = await asyncio.gather(
            databases[0].write(look),
            databases[-1].write(lambda tx, new=new: log.write(tx, new)),  # type: ignore[misc]
        )

        assert found != bool(publication.woken), "exactly one of them sees the other"
        await databases[0].write(lambda tx: tx.run(RUNS.forget_event_waits, {"run": run}))  # noqa: B023


async def test_parts_that_all_want_are_shared(databases: list[Database]) -> None:
    """Several workers begin at the same moment; nobody may have what another one has."""
    at = 1_000
    await databases[0].write(lambda tx: open_cursors(tx, "s", parts=7, beginning=True, at=at))
    workers = [Worker(name=f"w{number}", host="h", pid=number, parts={"s": 7}) for number in range(WRITERS)]
    shares: dict[str, dict[tuple[str, int], int]] = {worker.name: {} for worker in workers}

    async def look(number: int) -> None:
        me = workers[number]
        held = shares[me.name]
        database = databases[number % len(databases)]
        found: Shared = await database.write(lambda tx: take_share(tx, me, dict(held), at, lease=10**6))
        for cursor, _ in found.taken:
            held[cursor.subscription, cursor.part] = cursor.fence
        surplus = [(name, held.pop(name)) for name in found.surplus]
        for (subscription, part), fence in surplus:
            parameters: dict[str, Any] = {"subscription": subscription, "part": part, "fence": fence}
            await database.write(lambda tx, keys=parameters: tx.run(SQL.leave_part, keys))  # type: ignore[misc]

    for _ in range(4):
        await asyncio.gather(*(look(number) for number in range(WRITERS)))

    held = [name for share in shares.values() for name in share]
    assert sorted(held) == [("s", part) for part in range(7)]
    assert sorted(map(len, shares.values())) == [1, 2, 2, 2]


async def test_whoever_loses_a_part_writes_all_or_nothing(databases: list[Database]) -> None:
    """Between looking at the fence and committing the part must not change hands: the next one would do the same once more."""
    at = 1_000
    await databases[0].write(lambda tx: open_cursors(tx, "s", parts=1, beginning=True, at=at))
    old, new = (Worker(name=name, host="h", pid=1, parts={"s": 1}) for name in ("old", "new"))
    found = await databases[0].write(lambda tx: take_share(tx, old, {}, at, lease=10))
    cursor = found.taken[0][0]
    order: list[str] = []

    def write(tx: Transaction) -> None:
        check_fence(tx, cursor)
        time.sleep(0.05)  # noqa: TID251  in the writer's thread
        order.append("written")

    def take(tx: Transaction) -> Shared:
        shared = take_share(tx, new, {}, at + 100, lease=10)
        order.append("taken")
        return shared

    writing = asyncio.ensure_future(databases[0].write(write))
    taking = asyncio.ensure_future(databases[-1].write(take))
    results = await asyncio.gather(writing, taking, return_exceptions=True)

    lost = isinstance(results[0], PartLost)
    assert order == (["taken"] if lost else ["written", "taken"])
    with pytest.raises(PartLost):
        await databases[0].write(lambda tx: check_fence(tx, cursor))
