"""What SQLite's single writer hides and several connections show: the order of a log, and decisions on what others change."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from headrace._ports.database import Database, Reader, Row, Statement, Transaction
from headrace._store.location import PostgresUrl
from headrace._store.postgres import open_postgres
from headrace._store.postgres_text import definitions_rewritten
from headrace._store.sqlite import open_sqlite
from headrace._store.statements import load

LOCK = load("headrace._store", "store.sql").lock_log
TABLE = "CREATE TABLE log (pos INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)"
CREATE = Statement("create", TABLE, definitions_rewritten(TABLE))
APPEND = Statement("append", "INSERT INTO log (text) VALUES (:text) RETURNING pos")
AFTER = Statement("after", "SELECT pos, text FROM log WHERE pos > :after ORDER BY pos")

COUNTER = Statement("counter", "CREATE TABLE items (batch TEXT PRIMARY KEY, open INTEGER NOT NULL)")
FILL = Statement("fill", "INSERT INTO items (batch, open) VALUES ('b', :open)")
LOCK_ITEMS = Statement(
    "lock_items",
    "SELECT open FROM items WHERE batch = 'b'",
    "SELECT open FROM items WHERE batch = 'b' FOR UPDATE",
)
FINISH = Statement("finish", "UPDATE items SET open = open - 1 WHERE batch = 'b'")

WRITERS = 3
EACH = 60


@pytest.fixture(params=["sqlite", "postgres"])
def open_all(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[list[Database]]]:
    """As many databases as can write at once: one on a file, several on a server."""

    async def files() -> list[Database]:
        return [await open_sqlite(tmp_path / "store.db", mode="test")]

    if request.param == "sqlite":
        return files
    place: PostgresUrl = request.getfixturevalue("postgres")

    async def servers() -> list[Database]:
        return [await open_postgres(place), *[await open_postgres(place, owner=False) for _ in range(WRITERS - 1)]]

    return servers


def append(text: str) -> Callable[[Transaction], None]:
    def operation(tx: Transaction) -> None:
        tx.one(LOCK)
        tx.one(APPEND, {"text": text})
        # Between the position and the commit is when another one could overtake.
        time.sleep(random.random() * 0.002)  # noqa: TID251  in the writer's thread

    return operation


def behind(position: int) -> Callable[[Reader], list[Row]]:
    return lambda reader: reader.all(AFTER, {"after": position})


def follow(database: Database) -> list[str]:
    """Read a log to its end as a subscription does, which remembers one number."""
    seen: list[str] = []
    after = 0
    while "last" not in seen:
        for row in database.read(behind(after)):
            after = row[0]
            seen.append(row[1])
    return seen


async def test_a_reader_with_one_cursor_misses_nothing(open_all: Callable[[], Awaitable[list[Database]]]) -> None:
    """An event that commits late under an early position would never be delivered."""
    databases = await open_all()
    await databases[0].write(lambda tx: tx.run(CREATE))
    following = asyncio.ensure_future(asyncio.to_thread(follow, databases[0]))

    async def appending(database: Database, who: int) -> None:
        for number in range(EACH):
            await database.write(append(f"{who}/{number}"))

    await asyncio.gather(*(appending(databases[who % len(databases)], who) for who in range(WRITERS)))
    await databases[0].write(append("last"))

    seen = await following
    assert seen[-1] == "last"
    assert sorted(seen[:-1]) == sorted(f"{who}/{number}" for who in range(WRITERS) for number in range(EACH))
    for database in databases:
        await database.close()


def finish_one(tx: Transaction) -> bool:
    """Whether this was the last one: decided on the row, which is locked first."""
    row = tx.one(LOCK_ITEMS)
    assert row is not None
    time.sleep(random.random() * 0.002)  # noqa: TID251  in the writer's thread
    tx.run(FINISH)
    return bool(row[0] == 1)


async def test_the_last_of_a_batch_is_found_once(open_all: Callable[[], Awaitable[list[Database]]]) -> None:
    """Two workers that finish the last two items at the same time would each leave the closing to the other."""
    databases = await open_all()
    await databases[0].write(lambda tx: tx.run(COUNTER))
    await databases[0].write(lambda tx: tx.run(FILL, {"open": WRITERS * EACH}))

    finished = [databases[number % len(databases)].write(finish_one) for number in range(WRITERS * EACH)]
    closed = await asyncio.gather(*finished)

    assert sum(closed) == 1
    for database in databases:
        await database.close()
