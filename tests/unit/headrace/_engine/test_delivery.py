"""Events that come to flows and handlers."""

from __future__ import annotations

import asyncio
import os
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from headrace import Event, EventType, Pipeline, Retry, Statement, Transaction, flow, on, publish, sleep, step, use
from headrace._store.postgres_text import definitions_rewritten
from headrace.errors import Conflict, DefinitionError, NotFound
from headrace.testing import FAULT_POINTS, Harness

pytestmark = pytest.mark.usefixtures("each_store")

MINUTE = timedelta(minutes=1)
QUICK = Retry(attempts=3, first=60, factor=1)


@dataclass
class Notebook:
    """What handlers saw, and which of it fails how often."""

    seen: list[tuple[str, int]] = field(default_factory=list)
    failing: dict[str, int] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    together: int = 0
    most_together: int = 0

    def of(self, subject: str) -> list[int]:
        return [number for about, number in self.seen if about == subject]


async def note(event: Event[Any]) -> None:
    book = use(Notebook)
    book.together += 1
    book.most_together = max(book.most_together, book.together)
    try:
        await sleep(MINUTE if event.subject in book.slow else 0)
    finally:
        book.together -= 1
    _look(book, event)


def _look(book: Notebook, event: Event[Any]) -> None:
    key = f"{event.subject}/{event.data}"
    if book.failing.get(key, 0) > 0:
        book.failing[key] -= 1
        raise ConnectionError(key)
    book.seen.append((event.subject, event.data))


def note_in_thread(event: Event[int]) -> None:
    _look(use(Notebook), event)


TABLE = "CREATE TABLE IF NOT EXISTS notes (pk INTEGER PRIMARY KEY, id TEXT, subject TEXT, number INTEGER)"
MAKE = Statement("make", TABLE, definitions_rewritten(TABLE))
WRITE = Statement("write", "INSERT INTO notes (id, subject, number) VALUES (:id, :subject, :number)")
READ = Statement("read", "SELECT subject, number FROM notes ORDER BY pk")


@step(transactional=True)
def note_in_transaction(tx: Transaction, event: Event[int]) -> None:
    tx.run(MAKE)
    tx.run(WRITE, {"id": event.id, "subject": event.subject, "number": event.data})
    key = f"{event.subject}/{event.data}"
    book = use(Notebook)
    if book.failing.get(key, 0) > 0:
        book.failing[key] -= 1
        raise ConnectionError(key)


@flow(id="seen-{event.subject}-{event.data}")
async def see(event: Event[int]) -> None:
    await note_step(event.subject, event.data)


@flow
async def see_anew(event: Event[int]) -> None:
    await note_step(event.subject, event.data)


@step
async def note_step(subject: str, number: int) -> None:
    use(Notebook).seen.append((subject, number))


number_came = EventType("number.came", int)


def reading(target: Any, **options: Any) -> Pipeline:
    options = dict[str, Any](retry=QUICK, name="reader") | options
    flows = [target] if target in (see, see_anew) else []
    return Pipeline("numbers", flows=flows, triggers=[on("number.#", target, **options)], events=[number_came])


TARGETS: list[Any] = [note, note_in_thread, note_in_transaction, see, see_anew]


def seen_by(harness: Harness, book: Notebook, target: Any) -> dict[str, list[int]]:
    rows = harness.app.database.read(lambda reader: reader.all(READ)) if target is note_in_transaction else book.seen
    found: defaultdict[str, list[int]] = defaultdict(list)
    for subject, number in rows:
        found[subject].append(number)
    return dict(found)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
async def test_every_event_is_handled_once_and_in_order(target: Any) -> None:
    """The plain promise of a subscription, for each kind of target."""
    book = Notebook()
    async with Harness(reading(target), ports=book) as harness:
        for number in range(5):
            for subject in ("a", "b"):
                await harness.publish("number.came", number, subject=subject)
        await harness.publish("letter.came", 9, subject="a")
        await harness.settle()

        expected = {"a": [0, 1, 2, 3, 4], "b": [0, 1, 2, 3, 4]}
        found = seen_by(harness, book, target)
        assert {subject: sorted(numbers) for subject, numbers in found.items()} == expected
        if target not in (see, see_anew):  # runs that were begun in order may overtake each other
            assert found == expected


@pytest.mark.parametrize("target", [note, note_in_thread, note_in_transaction], ids=lambda target: target.__name__)
async def test_a_failing_event_holds_back_its_subject_alone(target: Any) -> None:
    """The others do not wait for it, and what is behind it keeps its order."""
    book = Notebook(failing={"a/1": 2})
    async with Harness(reading(target), ports=book) as harness:
        for number in range(4):
            for subject in ("a", "b"):
                await harness.publish("number.came", number, subject=subject)
        await harness.settle()
        early = seen_by(harness, book, target)
        await harness.publish("number.came", 4, subject="a")
        await harness.advance(3 * MINUTE)
        late = seen_by(harness, book, target)

        assert early == {"a": [0], "b": [0, 1, 2, 3]}
        assert late == {"a": [0, 1, 2, 3, 4], "b": [0, 1, 2, 3]}
        assert await harness.app.dead_letters() == []


@pytest.mark.parametrize("target", [note, note_in_transaction], ids=lambda target: target.__name__)
async def test_what_never_works_becomes_a_dead_letter(target: Any) -> None:
    """It delays its subject for the time of its attempts, and then stands aside with its cause."""
    book = Notebook(failing={"a/1": 99})
    async with Harness(reading(target), ports=book) as harness:
        for number in range(4):
            await harness.publish("number.came", number, subject="a")
        await harness.advance(5 * MINUTE)
        (letter,) = await harness.app.dead_letters()

        assert seen_by(harness, book, target) == {"a": [0, 2, 3]}
        assert (letter.subscription, letter.event.data, letter.attempts) == ("numbers.reader", 1, 3)
        assert letter.error.short == "ConnectionError: a/1"


@pytest.mark.parametrize("target", [note, note_in_transaction], ids=lambda target: target.__name__)
async def test_a_deadline_is_for_all_attempts_together(target: Any) -> None:
    """It says how long an event is worth trying, over restarts too; a time for each attempt is the timeout."""
    book = Notebook(failing={"a/0": 10**9})
    patient = Retry(attempts=None, first=60, factor=1, deadline=300)
    async with Harness(reading(target, retry=patient), ports=book) as harness:
        await harness.publish("number.came", 0, subject="a")
        await harness.advance(3 * MINUTE)
        await harness.restart()
        early = await harness.app.dead_letters()
        await harness.advance(3 * MINUTE)
        (letter,) = await harness.app.dead_letters()

        assert early == []
        assert letter.attempts == 6
        book.failing.clear()
        await harness.app.redrive(letter.id)
        await harness.settle()
        assert await harness.app.dead_letters() == []


@pytest.mark.parametrize("target", [note, note_in_transaction], ids=lambda target: target.__name__)
async def test_a_dead_letter_is_tried_again(target: Any) -> None:
    """Mended outside, it is one button; it comes after what was handled meanwhile."""
    book = Notebook(failing={"a/1": 99})
    async with Harness(reading(target), ports=book) as harness:
        for number in range(3):
            await harness.publish("number.came", number, subject="a")
        await harness.advance(5 * MINUTE)
        (letter,) = await harness.app.dead_letters()
        book.failing.clear()
        await harness.app.redrive(letter.id)
        await harness.settle()

        assert seen_by(harness, book, target) == {"a": [0, 2, 1]}
        assert await harness.app.dead_letters() == []
        assert [item.state for item in await harness.app.dead_letters(state=None)] == ["handled"]
        with pytest.raises(Conflict, match="handled"):
            await harness.app.redrive(letter.id)
        with pytest.raises(NotFound):
            await harness.app.redrive(999)


async def test_a_redriven_letter_that_fails_again_is_dead_again() -> None:
    """The counts add up, and the button is there again."""
    book = Notebook(failing={"a/0": 99})
    async with Harness(reading(note), ports=book) as harness:
        await harness.publish("number.came", 0, subject="a")
        await harness.advance(5 * MINUTE)
        await harness.app.redrive((await harness.app.dead_letters())[0].id)
        await harness.advance(5 * MINUTE)
        (letter,) = await harness.app.dead_letters()

    assert (letter.state, letter.attempts) == ("dead", 6)


async def test_different_subjects_are_handled_at_the_same_time() -> None:
    """A slow one delays nobody but those behind it."""
    book = Notebook(slow={"a", "b", "c"})
    async with Harness(reading(note), ports=book) as harness:
        for number in range(2):
            for subject in ("a", "b", "c"):
                await harness.publish("number.came", number, subject=subject)
        await harness.advance(2 * MINUTE)

    assert book.most_together == 3
    assert book.of("a") == [0, 1]


@pytest.mark.parametrize(
    "where", ["data > 2 and subject in ['a']", lambda event: event.data > 2 and event.subject == "a"]
)
async def test_a_filter_leaves_the_rest_out(where: str | Callable[[Event[Any]], bool]) -> None:
    """Text for people at a prompt, a function for programs."""
    book = Notebook()
    async with Harness(reading(note, where=where), ports=book) as harness:
        for number in range(5):
            for subject in ("a", "b"):
                await harness.publish("number.came", number, subject=subject)
        await harness.settle()

    assert book.seen == [("a", 3), ("a", 4)]


@pytest.mark.parametrize("since", ["now", "beginning"])
async def test_a_new_subscription_begins_where_it_says(since: Any) -> None:
    """A new reader of an old log: from here on, or everything."""
    book = Notebook()
    log_only = Pipeline("numbers", events=[number_came])
    async with Harness(log_only, ports=book) as harness:
        await harness.publish("number.came", 1, subject="a")
        harness.pipelines = (reading(note, since=since),)
        await harness.restart()
        await harness.publish("number.came", 2, subject="a")
        await harness.settle()

    assert book.of("a") == ([2] if since == "now" else [1, 2])


async def test_a_paused_subscription_catches_up() -> None:
    """Nothing is lost by a pause, also not over a restart."""
    book = Notebook()
    async with Harness(reading(note), ports=book) as harness:
        await harness.app.pause_subscription("numbers.reader")
        await harness.publish("number.came", 1, subject="a")
        await harness.restart()
        await harness.settle()
        paused = list(book.seen)
        await harness.app.resume_subscription("numbers.reader")
        await harness.settle()

    assert (paused, book.seen) == ([], [("a", 1)])


@pytest.mark.parametrize("target", [note, note_in_transaction], ids=lambda target: target.__name__)
async def test_a_range_of_the_log_is_replayed_to_one_subscription(target: Any) -> None:
    """After a bug was mended: the same events once more, beside the ordinary work."""
    book = Notebook()
    async with Harness(reading(target), ports=book) as harness:
        places = [(await harness.publish("number.came", number, subject="a")).position for number in range(4)]
        await harness.settle()
        would = await harness.app.replay("numbers.reader", after=places[0], until=places[2], dry_run=True)
        done = await harness.app.replay("numbers.reader", after=places[0], until=places[2])
        await harness.settle()
        await harness.publish("number.came", 4, subject="a")
        await harness.settle()

        assert (would.events, done.events) == (2, 2)
        assert seen_by(harness, book, target) == {"a": [0, 1, 2, 3, 1, 2, 4]}
        assert [item.name for item in await harness.app.subscriptions()] == ["numbers.reader"]


async def test_a_replay_starts_no_flow_twice() -> None:
    """A flow is started once for each event, however often the event comes."""
    book = Notebook()
    async with Harness(reading(see_anew), ports=book) as harness:
        await harness.publish("number.came", 1, subject="a")
        await harness.settle()
        await harness.app.replay("numbers.reader", after=0)
        await harness.settle()

    assert book.seen == [("a", 1)]


async def test_old_data_come_in_their_newest_form() -> None:
    """Handlers know one version; the log keeps what was said."""
    book = Notebook()
    old = Pipeline("numbers", events=[EventType("number.came", str)])
    new_type = EventType("number.came", int, version=2, upcast={1: int})
    new = Pipeline("numbers", events=[new_type], triggers=[on("number.came", note, name="reader", since="beginning")])
    async with Harness(old, ports=book) as harness:
        await harness.publish("number.came", "41", subject="a")
        harness.pipelines = (new,)
        await harness.restart()
        await harness.publish("number.came", 42, subject="a")
        await harness.settle()

    assert book.of("a") == [41, 42]


async def test_a_handler_publishes_the_same_events_in_each_attempt() -> None:
    """What it said before it failed must not be said again."""
    chain = Pipeline("chain", triggers=[on("first", say_second, retry=QUICK)])
    async with Harness(chain, ports=Notebook(failing={"x": 1})) as harness:
        await harness.publish("first", subject="a")
        await harness.advance(2 * MINUTE)
        events = await harness.events("second")

    assert len(events) == 1
    assert events[0].source == "chain.say_second"


async def say_second(event: Event[Any]) -> None:
    await publish("second", subject=event.subject)
    book = use(Notebook)
    if book.failing.pop("x", 0):
        raise ConnectionError


@pytest.mark.parametrize(
    "wrong, complaint",
    [
        (lambda: on("a.*b", note), "cannot be a topic pattern"),
        (lambda: on([], note), "at least one topic"),
        (lambda: on("a", lambda event: None), "give the subscription one with name="),
        (lambda: on("a", note, args=lambda event: ()), "args= is for flows"),
        (lambda: on("a", note, where="data.x ="), "cannot be read"),
        (lambda: on("a", note, where="open('x')"), "allowed are"),
        (lambda: on("a", note_in_transaction.fn), r"takes \(event\)"),
        (lambda: on("a", note, parts=0), "use 1 to 64"),
        (lambda: Pipeline("p", triggers=[on("a", see)]), "not in flows"),
        (lambda: Pipeline("p", triggers=[on("a", note), on("b", note)]), "two subscriptions"),
    ],
)
def test_a_wrong_subscription_is_refused_at_import(wrong: Callable[[], object], complaint: str) -> None:
    """With the fix in the text."""
    with pytest.raises(DefinitionError, match=complaint):
        wrong()


EXACTLY_ONCE = [note_in_transaction, see, see_anew]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
@pytest.mark.parametrize("seed", range(int(os.environ.get("TRIES", "12"))))
async def test_random_traffic_failures_and_deaths(target: Any, seed: int) -> None:
    """Whatever comes in whatever order, and whenever the process dies: nothing is lost, order holds, once means once."""
    chance = random.Random(f"{seed}")
    book = Notebook()
    sent: defaultdict[str, list[int]] = defaultdict(list)
    hopeless: set[str] = set()
    parts = chance.choice((1, 1, 3))
    async with Harness(reading(target, parts=parts), ports=book, seed=seed) as harness:
        for _ in range(chance.randrange(4)):
            if chance.random() < 0.5:
                harness.crash_once(at_commit=chance.randrange(1, 60))
            else:
                harness.crash_once(at=chance.choice(sorted(FAULT_POINTS)), nth=chance.randrange(1, 15))
        for number in range(chance.randrange(5, 40)):
            subject = chance.choice("abc")
            key = f"{subject}/{number}"
            if chance.random() < 0.2:
                book.failing[key] = chance.choice((1, 2, 99))
                if book.failing[key] > 2:
                    hopeless.add(key)
            sent[subject].append(number)
            await harness.publish("number.came", number, subject=subject)
            if chance.random() < 0.2:
                await harness.advance(chance.choice((0, 1, 5)) * MINUTE)
            if chance.random() < 0.05:
                await (harness.crash() if chance.random() < 0.5 else harness.restart())
        await harness.advance(timedelta(hours=2))
        await harness.settle()
        found = seen_by(harness, book, target)
        letters = {f"{item.event.subject}/{item.event.data}" for item in await harness.app.dead_letters()}

    fails = target not in (see, see_anew)
    for subject, numbers in sent.items():
        expected = [number for number in numbers if not (fails and f"{subject}/{number}" in hopeless)]
        once = list(dict.fromkeys(found.get(subject, [])))
        if target in (see, see_anew):
            assert sorted(once) == expected
        else:
            assert once == expected, "lost, or out of order"
        if target is note_in_transaction:
            assert found.get(subject, []) == expected, "a transactional handler handled an event twice"
    assert letters == (hopeless if fails else set())


async def test_many_events_need_little_memory() -> None:
    """A subject that fails for long keeps its events in the log, and the position goes on."""
    book = Notebook(failing={"a/0": 2})
    async with Harness(reading(note), ports=book) as harness:
        await asyncio.gather(*(harness.publish("number.came", number, subject="a") for number in range(300)))
        await harness.settle()
        (subscription,) = await harness.app.subscriptions()
        await harness.restart()
        await harness.advance(3 * MINUTE)

    assert (subscription.position, subscription.held) == (300, 1)
    assert book.of("a") == list(range(300))
