"""What a store does when its disk is full, breaks or turns read-only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace._ports.database import Reader, Statement, Transaction
from headrace._store import sqlite_medium
from headrace._store.sqlite import SqliteDatabase, open_sqlite
from headrace.errors import StoreError, StoreFailed, StoreFull
from headrace.testing.disk import FakeDisk

CREATE = Statement("create", "CREATE TABLE notes (pk INTEGER PRIMARY KEY, content BLOB NOT NULL)")
INSERT = Statement("insert", "INSERT INTO notes (content) VALUES (:content)")
COUNT = Statement("count", "SELECT count(*) FROM notes")


@pytest.fixture
def disk() -> Iterator[FakeDisk]:
    with FakeDisk() as disk:
        yield disk


@pytest.fixture
async def database(disk: FakeDisk, tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = await open_sqlite(tmp_path / "store.db", vfs=disk.vfs)
    await database.write(lambda tx: tx.run(CREATE))
    yield database
    disk.heal()
    await database.close()


def note(size: int = 10) -> Callable[[Transaction], int]:
    return lambda tx: tx.run(INSERT, {"content": bytes(size)})


def count(reader: Reader) -> int:
    row = reader.one(COUNT)
    assert row is not None
    return int(row[0])


async def test_a_full_disk_refuses_and_recovers(disk: FakeDisk, database: SqliteDatabase) -> None:
    """Space comes back; work must then go on without a restart."""
    disk.fail("write", trouble="full")
    with pytest.raises(StoreFull):
        await database.write(note())
    with pytest.raises(StoreFull):
        await database.write(note())

    disk.heal()
    await database.write(note())

    assert database.read(count) == 1


async def test_nothing_follows_what_was_refused(disk: FakeDisk, database: SqliteDatabase) -> None:
    """A later entry of a journal without the earlier one would be a hole; callers learn of the refusal first."""
    answers: list[str] = []
    last = asyncio.get_running_loop().create_future()

    def first_told(result: Any, error: BaseException | None) -> None:
        answers.append(type(error).__name__)
        disk.heal()
        database.submit(note(), lambda result, error: last.set_result(error))

    disk.fail("write", trouble="full")
    database.submit(note(), first_told)
    for _ in range(3_000):
        database.submit(note(), lambda result, error: answers.append(type(error).__name__))
    error = await last

    assert answers == ["StoreFull"] * 3_001
    assert isinstance(error, StoreFull)
    assert await database.write(note()) == 1


async def test_a_full_disk_in_the_middle_of_a_large_batch(disk: FakeDisk, database: SqliteDatabase) -> None:
    """Half a batch must never be there, also when pages were written before the commit."""
    disk.fail("write", trouble="full", after=50)
    with pytest.raises(StoreFull):
        await database.write(lambda tx: tx.run_many(INSERT, ({"content": bytes(4_000)} for _ in range(20_000))))
    disk.heal()

    assert database.read(count) == 0
    await database.write(note())


async def test_swallowing_a_disk_error_commits_nothing(disk: FakeDisk, database: SqliteDatabase) -> None:
    """SQLite rolls back by itself then; a statement run after it would be committed alone."""

    def operation(tx: Transaction) -> None:
        try:
            tx.run_many(INSERT, ({"content": bytes(4_000)} for _ in range(20_000)))
        except StoreError:
            pass
        disk.heal()
        tx.run(INSERT, {"content": b"after"})

    disk.fail("write", trouble="full", after=50)
    with pytest.raises(StoreFull):
        await database.write(operation)

    assert database.read(count) == 0


@pytest.mark.parametrize("verb, trouble", [("sync", "broken"), ("write", "broken"), ("write", "read-only")])
async def test_a_broken_disk_is_final(disk: FakeDisk, database: SqliteDatabase, verb: Any, trouble: Any) -> None:
    """After a failed fsync nobody knows what is on the disk: a second one that passes would be a lie."""
    await database.write(note())
    disk.fail(verb, trouble=trouble)
    with pytest.raises(StoreFailed):
        await database.write(note())

    disk.heal()
    with pytest.raises(StoreFailed):
        await database.write(note())

    assert database.read(count) == 1


async def test_a_failed_checkpoint_is_final(
    disk: FakeDisk, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite swallows the errors of its own checkpoints; the pages would be lost with the log."""
    monkeypatch.setattr(sqlite_medium, "_CHECKPOINT_PAGES", 5)
    disk.fail("sync", file=".db")
    acknowledged = 0

    async def write_on() -> None:
        nonlocal acknowledged
        for _ in range(200):
            await database.write(note(60_000))
            acknowledged += 1

    with pytest.raises(StoreFailed):
        await write_on()

    assert database.read(count) == acknowledged


async def test_every_caller_of_a_failed_batch_is_told(disk: FakeDisk, database: SqliteDatabase) -> None:
    """Nobody may wait for ever, and nobody may believe."""
    answers: list[type[Any]] = []
    disk.fail("sync")
    for _ in range(2_000):
        database.submit(note(), lambda result, error: answers.append(type(error)))
    with pytest.raises(StoreFailed):
        await database.write(note())

    assert answers == [StoreFailed] * 2_000


async def test_a_failed_store_closes(disk: FakeDisk, database: SqliteDatabase, tmp_path: Path) -> None:
    """The owner must be able to let go, and the next one finds what was acknowledged."""
    await database.write(note())
    disk.fail("sync")
    with pytest.raises(StoreFailed):
        await database.write(note())
    await database.close()

    disk.heal()
    again = await open_sqlite(tmp_path / "store.db", vfs=disk.vfs)

    assert again.read(count) >= 1
    assert not again.left_in_order
    await again.close()


async def test_opening_moves_nothing_into_the_file(disk: FakeDisk, tmp_path: Path) -> None:
    """On a disk that is nearly full, an opening that checkpointed would take the space it needs to begin."""
    database = await open_sqlite(tmp_path / "store.db", vfs=disk.vfs)
    await database.write(lambda tx: tx.run(CREATE))
    await database.write(lambda tx: tx.run_many(INSERT, ({"content": bytes(4_000)} for _ in range(1_500))))
    await asyncio.to_thread(database.abandon)

    disk.fail("write", trouble="full", file="store.db")
    again = await open_sqlite(tmp_path / "store.db", vfs=disk.vfs)

    assert again.read(count) == 1_500
    disk.heal()
    await again.close()


async def test_a_full_disk_does_not_keep_the_owner(disk: FakeDisk, tmp_path: Path) -> None:
    """Stopping is what an operator with a full disk does first; the next start looks closer."""
    database = await open_sqlite(tmp_path / "store.db", vfs=disk.vfs)
    await database.write(lambda tx: tx.run(CREATE))
    await database.write(note())
    disk.fail("write", trouble="full")

    await database.close()

    disk.heal()
    again = await open_sqlite(tmp_path / "store.db", vfs=disk.vfs)
    assert (again.read(count), again.left_in_order) == (1, False)
    await again.close()
