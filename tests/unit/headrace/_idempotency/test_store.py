"""What is kept of requests with a key."""

from __future__ import annotations

import pytest

from headrace._base.clock import to_micros
from headrace._idempotency.model import KEPT, Answer
from headrace._idempotency.store import Request, remembered
from headrace._ports.database import Database
from headrace._store.statements import parse
from headrace.errors import Conflict

AT = 1_700_000_000_000_000
DAY = to_micros(KEPT)
ANSWER = Answer(status=201, type="application/json", body=b"{}")
COUNT = parse("-- name: count\n-- How many there are.\nSELECT count(*) FROM idempotency", origin="here").count


@pytest.fixture
def database(each_database: Database) -> Database:
    return each_database


def request(key: str = "a", at: int = AT, hash: bytes = b"h") -> Request:
    return Request(key=key, route="POST /x", hash=hash, at=at)


async def test_first_the_effect_then_the_answer(database: Database) -> None:
    """What a crash between the two leaves must be told from an answer."""
    one = request()

    await database.write(one.note)
    noted = database.read(lambda reader: remembered(reader, "a", AT))
    await database.write(lambda tx: one.keep(tx, ANSWER))
    kept = database.read(lambda reader: remembered(reader, "a", AT))

    assert noted is not None
    assert noted.answer is None
    assert kept is not None
    assert (kept.hash, kept.answer) == (b"h", ANSWER)


async def test_a_second_effect_of_one_request_takes_nothing_back(database: Database) -> None:
    """What a request began may write long after it was answered."""
    one = request()
    await database.write(lambda tx: one.keep(tx, ANSWER))

    await database.write(one.note)

    kept = database.read(lambda reader: remembered(reader, "a", AT))
    assert kept is not None
    assert kept.answer == ANSWER


async def test_a_key_that_is_too_old_is_as_good_as_new(database: Database) -> None:
    """Its answer must not be given to another request."""
    await database.write(lambda tx: request().keep(tx, ANSWER))

    assert database.read(lambda reader: remembered(reader, "a", AT + DAY - 1)) is not None
    assert database.read(lambda reader: remembered(reader, "a", AT + DAY)) is None
    await database.write(request(at=AT + DAY, hash=b"other").note)
    noted = database.read(lambda reader: remembered(reader, "a", AT + DAY))
    assert noted is not None
    assert (noted.hash, noted.answer) == (b"other", None)


async def test_old_ones_are_forgotten_a_few_at_a_time(database: Database) -> None:
    """A request that cleared away a million would be answered late."""
    for number in range(50):
        await database.write(lambda tx: request(str(number)).keep(tx, ANSWER))  # noqa: B023 - awaited at once

    left = []
    for number in range(4):
        await database.write(lambda tx: request(f"new {number}", AT + DAY).keep(tx, ANSWER))  # noqa: B023 - awaited at once
        row = database.read(lambda reader: reader.one(COUNT))
        assert row is not None
        left.append(row[0])

    assert left == [31, 12, 3, 4]


async def test_two_requests_of_one_key_at_once_are_one(database: Database) -> None:
    """Where several processes answer, both may have looked before either wrote; the second one must change nothing."""
    await database.write(request().note)

    with pytest.raises(Conflict, match="another request"):
        await database.write(request(at=AT + 1).note)

    kept = database.read(lambda reader: remembered(reader, "a", AT + 1))
    assert kept is not None
    assert kept.answer is None
