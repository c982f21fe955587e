"""What people do to subscriptions: pause, resume, replay, redrive."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace import Event, Pipeline, Retry, Statement, Transaction, on, step
from headrace._store.postgres_text import definitions_rewritten
from headrace.errors import DefinitionError, NotFound
from headrace.testing import Harness

pytestmark = pytest.mark.usefixtures("each_store")

MINUTE = timedelta(minutes=1)
PATIENT = Retry(attempts=9, first=60, factor=1)

TABLE = "CREATE TABLE IF NOT EXISTS heard (pk INTEGER PRIMARY KEY, number INTEGER)"
MAKE = Statement("make", TABLE, definitions_rewritten(TABLE))
WRITE = Statement("write", "INSERT INTO heard (number) VALUES (:number)")
READ = Statement("read", "SELECT number FROM heard ORDER BY pk")

heard: list[int] = []
broken: set[int] = set()


@pytest.fixture(autouse=True)
def quiet() -> None:
    heard.clear()
    broken.clear()


async def hear(event: Event[int]) -> None:
    if event.data in broken:
        raise ConnectionError(event.data)
    heard.append(event.data)


@step(transactional=True)
def write(tx: Transaction, event: Event[int]) -> None:
    tx.run(MAKE)
    tx.run(WRITE, {"number": event.data})
    if event.data in broken:
        raise ConnectionError(event.data)


def reading(handler: Any = hear, **options: Any) -> Pipeline:
    return Pipeline("p", triggers=[on("n", handler, **(dict[str, Any](name="reader", retry=PATIENT) | options))])


@pytest.mark.parametrize("handler", [hear, write], ids=lambda handler: handler.__name__)
async def test_resuming_what_goes_on_begins_nothing_twice(handler: Any) -> None:
    """The button is pressed once too often, while an event waits for its next attempt."""
    broken.add(1)
    async with Harness(reading(handler)) as harness:
        await harness.publish("n", 1, subject="a")
        await harness.settle()
        broken.clear()
        for _ in range(3):
            await harness.app.resume_subscription("p.reader")
        await harness.advance(5 * MINUTE)
        written = [] if handler is hear else harness.app.database.read(lambda reader: reader.all(READ))

    assert [*heard, *(number for (number,) in written)] == [1]


async def test_a_pause_is_for_replays_too() -> None:
    """The service that handlers ask is down; it makes no difference to it why they ask."""
    async with Harness(reading(parts=2)) as harness:
        for number in (1, 2):
            await harness.publish("n", number, subject=str(number))
        await harness.settle()
        heard.clear()
        await harness.app.pause_subscription("p.reader")
        await harness.app.replay("p.reader", after=0)
        await harness.settle()
        await harness.restart()
        await harness.settle()
        while_paused = list(heard)
        await harness.app.resume_subscription("p.reader")
        await harness.settle()

        assert while_paused == []
        assert sorted(heard) == [1, 2]
        assert [item.name for item in await harness.app.subscriptions()] == ["p.reader"]


async def test_a_replay_that_is_paused_under_way_stays_so_over_a_restart() -> None:
    """The next deployment must not undo what an operator has decided."""
    async with Harness(reading()) as harness:
        await harness.publish("n", 1, subject="a")
        await harness.settle()
        broken.add(1)
        await harness.app.replay("p.reader", after=0)
        await harness.settle()
        await harness.app.pause_subscription("p.reader")
        broken.clear()
        heard.clear()
        await harness.restart()
        await harness.advance(9 * MINUTE)
        while_paused = list(heard)
        await harness.app.resume_subscription("p.reader")
        await harness.advance(9 * MINUTE)

    assert (while_paused, heard) == ([], [1])


async def test_more_parts_do_not_end_a_pause() -> None:
    """The code was changed for more speed, not to go on."""
    async with Harness(reading()) as harness:
        await harness.app.pause_subscription("p.reader")
        harness.pipelines = (reading(parts=4),)
        await harness.restart()
        for number in range(8):
            await harness.publish("n", number, subject=str(number))
        await harness.settle()

    assert heard == []


async def test_a_dead_letter_that_nobody_would_try_stays_dead() -> None:
    """Its subscription is gone from the code; the answer must not be that it is being tried."""
    broken.add(1)
    async with Harness(reading(retry=Retry(attempts=1))) as harness:
        await harness.publish("n", 1, subject="a")
        await harness.settle()
        harness.pipelines = (Pipeline("p"),)
        await harness.restart()
        (letter,) = await harness.app.dead_letters()
        with pytest.raises(NotFound, match=r"no subscription 'p\.reader' here"):
            await harness.app.redrive(letter.id)

        assert await harness.app.redrive_all() == 0
        assert [item.state for item in await harness.app.dead_letters()] == ["dead"]


@pytest.mark.parametrize("name", ["reader~1", "two words", " ", "new\nline"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(name: str) -> None:
    """A tilde stands before the number of a replay; one in the name would make the subscription never read."""
    with pytest.raises(DefinitionError, match="letters, digits"):
        on("n", lambda event: None, name=name)
