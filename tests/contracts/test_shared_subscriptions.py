"""Several processes that share subscriptions: who has what, and what happens to the events when one comes, goes or dies.

Here they are on one event loop, each with its own connections; ``tests/e2e/test_workers.py`` kills real ones.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace import (
    Event,
    Headrace,
    Pipeline,
    Retry,
    Statement,
    Transaction,
    flow,
    on,
    publish,
    step,
    use,
    wait_event,
)
from headrace._app.worker import Worker
from headrace._engine.engine import Limits
from headrace._events.sharing import Live, live_workers
from headrace._events.store import SQL, all_cursors
from headrace._store.location import PostgresUrl
from headrace._store.postgres_text import definitions_rewritten
from headrace.testing.invariants import check_invariants
from tests.receiver import Receiver

PARTS = 6
QUICK = Limits(lease_seconds=0.6, drain_seconds=5)
STEAL = Statement(
    "steal",
    "UPDATE cursors SET fence = fence + 1, holder = 'thief', until = :until WHERE subscription = 'shop.write'",
)
GIVE_BACK = Statement("give_back", "UPDATE cursors SET holder = NULL, until = NULL WHERE subscription = 'shop.write'")
HOLDERS = Statement("holders", "SELECT subscription, part, holder FROM cursors ORDER BY subscription, part")

TABLE = "CREATE TABLE IF NOT EXISTS written (pk INTEGER PRIMARY KEY, subject TEXT NOT NULL, number INTEGER NOT NULL)"
MAKE = Statement("make", TABLE, definitions_rewritten(TABLE))
WRITE = Statement("write", "INSERT INTO written (subject, number) VALUES (:subject, :number)")
WRITTEN = Statement("written", "SELECT subject, number FROM written ORDER BY pk")


@dataclass
class Notebook:
    """What the handlers of one process saw, and how long they take."""

    seen: list[tuple[str, int]] = field(default_factory=list)
    slow: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)


async def look(event: Event[int]) -> None:
    book = use(Notebook)
    if event.subject in book.slow:
        book.begun.set()
        await book.may_end.wait()
    if event.subject in book.failing:
        raise ConnectionError(event.subject)
    book.seen.append((event.subject, event.data))


@step(transactional=True)
def write(tx: Transaction, event: Event[int]) -> None:
    tx.run(WRITE, {"subject": event.subject, "number": event.data})


async def answer(event: Event[int]) -> None:
    await publish("answered", event.data, subject=event.subject)


@flow(id="asked-{event.subject}")
async def asked(event: Event[int]) -> int:
    return event.data * 2


@flow(id="patient-{subject}")
async def patient(subject: str) -> int:
    answered = await wait_event("answered", subject=subject)
    return int(answered.data)


def pipeline(book: Notebook) -> Pipeline:
    retry = Retry(attempts=3, first=0.05, factor=1)
    return Pipeline(
        "shop",
        flows=[asked, patient],
        triggers=[
            on("seen", look, name="look", parts=PARTS, retry=retry),
            on("written", write, name="write", parts=PARTS, retry=retry),
            on("question", answer, name="answer"),
            on("ask", asked, name="ask", parts=2, args=lambda event: (event,)),
        ],
        wire=lambda: book,
    )


class Town:
    """An owner and workers on one store."""

    def __init__(self, place: PostgresUrl, stack: AsyncExitStack) -> None:
        self.place = place
        self._stack = stack
        self.books: dict[str, Notebook] = {}

    async def owner(self, *, subscriptions: Any = "workers") -> Headrace:
        book = self.books["owner"] = Notebook()
        made = Headrace([pipeline(book)], store=self.place, limits=QUICK, subscriptions=subscriptions)
        app = await self._stack.enter_async_context(made)
        await app.database.write(lambda tx: tx.run(MAKE))
        return app

    async def worker(self, *names: str, limits: Limits = QUICK) -> Worker:
        book = Notebook()
        made = Worker([pipeline(book)], store=self.place, subscriptions=names, limits=limits)
        self.books[made.name] = book
        return await self._stack.enter_async_context(made)

    @property
    def seen(self) -> list[tuple[str, int]]:
        return [item for book in self.books.values() for item in book.seen]


@pytest.fixture
async def town(postgres: PostgresUrl) -> Any:
    async with AsyncExitStack() as stack:
        yield Town(postgres, stack)
    assert await asyncio.to_thread(check_invariants, postgres) == []


async def until(app: Headrace, what: Callable[[], bool]) -> None:
    """Wait for what other processes do; the test's own time limit ends a wait for nothing."""
    while not what():
        await app.database.write(lambda tx: None)


def shares(app: Headrace, subscription: str = "shop.look") -> Counter[str]:
    rows = app.database.read(lambda reader: reader.all(HOLDERS))
    return Counter(holder for name, _, holder in rows if name == subscription and holder)


def written(app: Headrace) -> list[tuple[str, int]]:
    return [(subject, number) for subject, number in app.database.read(lambda reader: reader.all(WRITTEN))]


async def say(
    app: Headrace, topic: str, *, subjects: int = 12, numbers: int = 4, first: int = 0
) -> list[tuple[str, int]]:
    said = [(f"s{subject}", first + number) for number in range(numbers) for subject in range(subjects)]
    await asyncio.gather(*(app.publish(topic, number, subject=subject) for subject, number in said))
    return said


def in_order(seen: list[tuple[str, int]]) -> bool:
    """Whether every subject's events were met in order, whatever was met twice."""
    met: dict[str, list[int]] = {}
    for subject, number in seen:
        numbers = met.setdefault(subject, [])
        if number not in numbers:
            numbers.append(number)
    return all(numbers == sorted(numbers) for numbers in met.values())


async def test_a_new_worker_gets_its_share(town: Town) -> None:
    """Another process is started because one is not enough: it must not stand idle."""
    app = await town.owner()
    first = await town.worker()
    await until(app, lambda: shares(app) == {first.name: PARTS})

    second = await town.worker()
    await until(app, lambda: shares(app) == {first.name: PARTS / 2, second.name: PARTS / 2})
    third = await town.worker()
    await until(app, lambda: sorted(shares(app).values()) == [2, 2, 2])

    assert set(shares(app)) == {first.name, second.name, third.name}


async def test_the_owner_takes_part_unless_told_otherwise(town: Town) -> None:
    """One process is a whole; with workers it has its share like each of them."""
    app = await town.owner(subscriptions="here")
    await until(app, lambda: sum(shares(app).values()) == PARTS)
    alone = shares(app)
    worker = await town.worker()
    await until(app, lambda: shares(app)[worker.name] == PARTS / 2)

    assert len(alone) == 1
    assert shares(app) - Counter({worker.name: PARTS}) == {next(iter(alone)): PARTS / 2}


async def test_a_worker_may_work_for_some_alone(town: Town) -> None:
    """What needs a special machine is done there, and nothing else is."""
    app = await town.owner()
    every = await town.worker()
    one = await town.worker("shop.write")

    await until(app, lambda: shares(app, "shop.write") == {every.name: PARTS / 2, one.name: PARTS / 2})
    assert shares(app, "shop.look") == {every.name: PARTS}


async def test_every_event_is_handled_once_in_order_by_all_together(town: Town) -> None:
    """Nobody dies here, so at least once has no excuse to be more than once."""
    app = await town.owner()
    workers = [await town.worker() for _ in range(3)]
    await until(app, lambda: len(shares(app)) == len(shares(app, "shop.write")) == 3)

    said = await say(app, "seen")
    also = await say(app, "written")
    await until(app, lambda: len(town.seen) >= len(said) and len(written(app)) >= len(also))

    assert sorted(town.seen) == sorted(said)
    assert sorted(written(app)) == sorted(also)
    assert in_order(town.seen)
    assert in_order(written(app))
    assert all(town.books[worker.name].seen for worker in workers)


async def test_whoever_leaves_ends_what_it_does_and_hands_over_the_rest(town: Town) -> None:
    """A deployment stops one process after the other; nothing may be done twice for that."""
    app = await town.owner()
    leaver = await town.worker()
    book = town.books[leaver.name]
    book.slow.add("slow")
    await until(app, lambda: shares(app) == {leaver.name: PARTS})
    await app.publish("seen", 1, subject="slow")
    await book.begun.wait()

    leaving = asyncio.ensure_future(leaver.engine.close())
    await app.publish("seen", 2, subject="slow")
    stayer = await town.worker()
    book.may_end.set()
    await leaving
    await until(app, lambda: len(town.seen) >= 2)

    assert book.seen == [("slow", 1)]
    assert town.books[stayer.name].seen == [("slow", 2)]


@pytest.mark.allow_blocking
async def test_what_a_dead_worker_had_is_taken_when_its_lease_is_over(town: Town) -> None:
    """It says nothing any more; the others find out by themselves."""
    app = await town.owner()
    dying, other = await town.worker(), await town.worker()
    await until(app, lambda: shares(app)[dying.name] == shares(app)[other.name] == PARTS / 2)
    said = await say(app, "seen")

    dying.engine.kill()
    await until(app, lambda: shares(app) == {other.name: PARTS})
    said += await say(app, "seen", numbers=1, first=4)
    await until(app, lambda: set(town.seen) >= set(said))

    assert in_order(town.books[other.name].seen)


async def test_whoever_was_thought_dead_changes_nothing_any_more(town: Town) -> None:
    """A process that stood still for a minute comes back and believes that it still has its parts; it goes on with what it really has."""
    app = await town.owner()
    sleeper = await town.worker("shop.write", limits=Limits(lease_seconds=600))  # so that it does not look by itself
    await until(app, lambda: shares(app, "shop.write") == {sleeper.name: PARTS})
    await until(app, lambda: len(sleeper.engine.delivery.parts()) == PARTS)
    await app.database.write(lambda tx: tx.run(STEAL, {"until": 2**60}))

    said = await say(app, "written")
    await until(app, lambda: len(sleeper.engine.delivery.parts()) < PARTS)
    assert written(app) == []
    await app.database.write(lambda tx: tx.run(GIVE_BACK))
    sleeper.engine.delivery.look()
    await until(app, lambda: len(written(app)) >= len(said))

    assert sorted(written(app)) == sorted(said)
    assert sleeper.engine.failure is None


async def test_flows_that_events_start_at_a_worker_are_run_by_the_owner(town: Town) -> None:
    """There is one engine; whoever handles the event leaves a row, and the owner hears of it at once."""
    app = await town.owner()
    await town.worker()

    for number in range(5):
        await app.publish("ask", number, subject=f"q{number}")
    await until(app, lambda: dict(app.counts()) == {"completed": 5})
    results = [await (app.handle(f"asked-q{number}")).result() for number in range(5)]

    assert results == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("idle_runs", [2_000, 0], ids=["in memory", "on disk"])
async def test_runs_hear_of_events_that_workers_publish(postgres: PostgresUrl, idle_runs: int) -> None:
    """The run waits in one process, the event comes from another one."""
    book = Notebook()
    limits = Limits(lease_seconds=0.6, idle_runs=idle_runs)
    async with (
        Headrace([pipeline(book)], store=postgres, limits=limits, subscriptions="workers") as app,
        Worker([pipeline(book)], store=postgres, limits=limits),
    ):
        waiting = [await app.start(patient, f"p{number}") for number in range(10)]
        for number in range(10):
            await app.publish("question", number, subject=f"p{number}")
        results = [await run.result() for run in waiting]

    assert results == list(range(10))


async def test_what_fails_at_one_is_tried_again_and_buried_wherever_the_part_is(town: Town) -> None:
    """The row that holds an event goes with the part; a person redrives it at the owner, and the worker hears of it."""
    app = await town.owner()
    worker = await town.worker()
    book = town.books[worker.name]
    book.failing.add("bad")
    await app.publish("seen", 1, subject="bad")
    await app.publish("seen", 1, subject="good")
    dead: list[Any] = []

    async def find() -> bool:
        dead[:] = await app.dead_letters()
        return bool(dead)

    while not await find():
        await app.database.write(lambda tx: None)
    book.failing.clear()
    await app.redrive(dead[0].id)
    await until(app, lambda: ("bad", 1) in book.seen)

    assert Counter(book.seen) == {("good", 1): 1, ("bad", 1): 1}


async def test_a_pause_reaches_whoever_has_the_part(town: Town) -> None:
    """A person presses the button at the owner."""
    app = await town.owner()
    worker = await town.worker()
    await until(app, lambda: shares(app) == {worker.name: PARTS})
    await app.pause_subscription("shop.look")
    await until(
        app, lambda: all(part._paused for part in worker.engine.delivery.parts() if part.subscription == "shop.look")
    )

    await app.publish("seen", 1, subject="a")
    await app.publish("written", 1, subject="a")
    await until(app, lambda: bool(written(app)))
    assert town.seen == []
    await app.resume_subscription("shop.look")
    await until(app, lambda: town.seen == [("a", 1)])


async def test_a_replay_is_shared_and_ends(town: Town) -> None:
    """Its parts are parts like any other."""
    app = await town.owner()
    await town.worker()
    await town.worker()
    said = await say(app, "seen", numbers=1)
    await until(app, lambda: len(town.seen) == len(said))

    replay = await app.replay("shop.look", after=0)
    await until(app, lambda: replay.name not in app.database.read(all_cursors))

    assert replay.events == len(said)
    assert sorted(town.seen) == sorted(said * 2)


async def test_a_worker_with_other_code_takes_nothing(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    """With another number of parts it would read what others read, too."""
    app = await town.owner()
    other = Pipeline("shop", triggers=[on("seen", look, name="look", parts=PARTS + 1)])
    async with Worker([other], store=town.place, limits=QUICK) as worker:
        fitting = await town.worker()
        await until(app, lambda: shares(app) == {fitting.name: PARTS})
        await until(app, lambda: "subscription.misfit" in caplog.text)

        assert worker.engine.delivery.parts() == ()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().open() as opened:
        yield opened


async def test_webhooks_are_sent_by_the_owner_alone(town: Town, receiver: Receiver) -> None:
    """Endpoints come and go while it runs; no worker knows them, also where all that pipelines declare is left to workers."""
    app = await town.owner()
    worker = await town.worker()
    made = await app.webhooks.add("billing", receiver.url, topics=["seen"], allow_private=True)
    await until(app, lambda: sum(shares(app, made.about.subscription).values()) == 1)
    await app.publish("seen", 1, subject="a")
    await until(app, lambda: len(receiver.seen) == 1 and town.seen == [("a", 1)])

    assert worker.name not in shares(app, made.about.subscription)
    assert town.books[worker.name].seen == [("a", 1)]


async def test_workers_are_known_while_they_live(town: Town) -> None:
    """Whoever looks after the machines asks who is there."""
    app = await town.owner()
    worker = await town.worker("shop.write")

    def known() -> list[Live]:
        return app.database.read(lambda reader: live_workers(reader, app.clock.now()))

    await until(app, lambda: [live.name for live in known()] == [worker.name])
    assert known()[0].parts == {"shop.write": PARTS}
    await worker.engine.close()
    await until(app, lambda: known() == [])


@pytest.mark.allow_blocking
async def test_what_workers_told_a_dead_owner_is_done_by_the_next(postgres: PostgresUrl) -> None:
    """The row of a run that was begun while nobody could run it is not forgotten."""
    book = Notebook()
    owner = Headrace([pipeline(book)], store=postgres, limits=QUICK, subscriptions="workers")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(owner)
        worker = await stack.enter_async_context(Worker([pipeline(book)], store=postgres, limits=QUICK))
        await owner.start(patient, "p")
        await until(owner, lambda: dict(owner.counts()) == {"waiting": 1})
        owner.engine.kill()
        database = worker.engine._database
        for topic, number, subject in (("ask", 21, "q"), ("question", 7, "p")):
            await worker.engine._publish(topic, number, subject=subject, event_id=topic, source="", time=None, cause="")
        while len(database.read(lambda reader: reader.all(SQL.calls, {"count": 9}))) < 2:
            await database.write(lambda tx: None)
        next_owner = Headrace([pipeline(book)], store=postgres, limits=QUICK, subscriptions="workers")
        app = await stack.enter_async_context(next_owner)

        assert await app.handle("asked-q").result() == 42
        assert await app.handle("patient-p").result() == 7
        await until(app, lambda: app.database.read(lambda reader: reader.all(SQL.calls, {"count": 9})) == [])
