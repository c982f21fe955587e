"""What is recorded together with somebody else's change."""

from __future__ import annotations

import asyncio

import pytest

from headrace._ports.database import Database, Statement, Transaction
from headrace._store.companion import accompanied_by, with_companion
from headrace._store.postgres_text import definitions_rewritten

TABLE = "CREATE TABLE notes (pk INTEGER PRIMARY KEY, text TEXT)"
CREATE = Statement("create", TABLE, definitions_rewritten(TABLE))
INSERT = Statement("insert", "INSERT INTO notes (text) VALUES (:text)")
TEXTS = Statement("texts", "SELECT text FROM notes ORDER BY pk")


@pytest.fixture
async def database(each_database: Database) -> Database:
    await each_database.write(lambda tx: tx.run(CREATE))
    return each_database


def texts(database: Database) -> list[str]:
    return [text for (text,) in database.read(lambda reader: reader.all(TEXTS))]


def companion(tx: Transaction) -> None:
    tx.run(INSERT, {"text": "companion"})


async def change(database: Database) -> int:
    return await database.write(with_companion(lambda tx: tx.run(INSERT, {"text": "change"})))


async def test_both_or_neither(database: Database) -> None:
    """A record that may be without its change is worth nothing."""

    def refuse(tx: Transaction) -> None:
        tx.run(INSERT, {"text": "change"})
        raise ValueError("no")

    with accompanied_by(companion):
        with pytest.raises(ValueError, match="no"):
            await database.write(with_companion(refuse))
        assert texts(database) == []
        assert await change(database) == 1

    assert texts(database) == ["change", "companion"]


async def test_only_within_the_block_and_the_task(database: Database) -> None:
    """Somebody else's change at the same time has nothing to do with it."""
    with accompanied_by(companion):
        pass
    await change(database)

    inside, done = asyncio.Event(), asyncio.Event()

    async def other() -> None:
        with accompanied_by(companion):
            inside.set()
            await done.wait()

    waiting = asyncio.create_task(other())
    await inside.wait()
    await change(database)
    done.set()
    await waiting

    assert texts(database) == ["change", "change"]
