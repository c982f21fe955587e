"""What people do to subscriptions: pause, resume, replay, redrive."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from headrace import Event, Pipeline, Retry, Statement, Transaction, on, step
from headrace.testing import Harness

MINUTE = timedelta(minutes=1)
PATIENT = Retry(attempts=9, first=60, factor=1)

MAKE = Statement("make", "CREATE TABLE IF NOT EXISTS heard (number INTEGER)")
WRITE = Statement("write", "INSERT INTO heard (number) VALUES (:number)")
READ = Statement("read", "SELECT number FROM heard ORDER BY rowid")

heard: list[int] = []
broken: set[int] = set()


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    heard.clear()
    broken.clear()
    yield


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
