import asyncio
import select
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace._base import faultpoints
from headrace._ports.database import Operation, Statement, Transaction
from headrace._store.sqlite import SqliteDatabase, open_sqlite
from headrace.errors import StoreError, StoreFailed

CREATE = Statement("create", "CREATE TABLE notes (pk INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)")
INSERT = Statement("insert", "INSERT INTO notes (text) VALUES (:text)")
TEXTS = Statement("texts", "SELECT text FROM notes ORDER BY pk")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = await open_sqlite(tmp_path / "store.db", mode="test")
    await database.write(lambda tx: tx.run(CREATE))
    yield database
    faultpoints.arm(None)
    await database.close()


async def gathered(database: SqliteDatabase, *operations: Operation[object]) -> list[object]:
    answers = await asyncio.gather(*(database.write(operation) for operation in operations), return_exceptions=True)
    return [answer if answer is None else type(answer).__name__ for answer in answers]


def note(text: str) -> Operation[None]:
    def operation(tx: Transaction) -> None:
        tx.run(INSERT, {"text": text})

    return operation


async def test_what_has_gathered_is_committed_at_once(database: SqliteDatabase) -> None:
    """A thousand callers share one fsync; without that the store is a hundred times slower."""
    before = database.counts()

    await gathered(database, *(note(str(number)) for number in range(500)))

    after = database.counts()
    assert after.operations - before.operations == 500
    assert after.transactions - before.transactions <= 3


async def test_a_batch_has_an_end(database: SqliteDatabase) -> None:
    """A flood must not become one endless transaction whose first caller waits for the last."""
    before = database.counts().transactions

    await gathered(database, *(note(str(number)) for number in range(3_000)))

    assert database.counts().transactions - before >= 3


async def test_refusing_without_writing_costs_no_second_run(database: SqliteDatabase) -> None:
    """Refusals are everyday; repeating a batch for each would halve the throughput."""

    def refuse(tx: Transaction) -> None:
        tx.all(TEXTS)
        raise LookupError

    answers = await gathered(database, note("a"), refuse, note("b"))

    assert answers == [None, "LookupError", None]
    assert database.counts().repeated == 0


async def test_a_refusal_after_writing_is_undone_alone(database: SqliteDatabase) -> None:
    """The batch runs again with savepoints; nothing of the bad one may stay, and nothing of the others go."""
    answers = await gathered(database, note("a"), note("a"), note("b"))

    assert answers == [None, "StoreError", None]
    assert database.read(lambda reader: reader.all(TEXTS)) == [("a",), ("b",)]


async def test_leaving_the_transaction_is_final(database: SqliteDatabase) -> None:
    """An operation that commits by itself breaks the promise to all others of its batch; better stop than pretend."""

    def commit(tx: Transaction) -> None:
        tx.run(Statement("commit", "COMMIT"))

    with pytest.raises(StoreError):
        await database.write(commit)
    with pytest.raises(StoreFailed):
        await database.write(note("a"))


async def test_a_failure_of_the_writer_itself_is_told(database: SqliteDatabase) -> None:
    """If its thread died silently every caller would wait for ever."""

    def strike(name: str) -> None:
        raise ZeroDivisionError(name)

    faultpoints.arm(strike)
    with pytest.raises(StoreFailed, match="ZeroDivisionError"):
        await database.write(note("a"))
    faultpoints.arm(None)

    with pytest.raises(StoreFailed):
        await database.write(note("b"))


async def test_each_caller_gets_an_error_of_its_own(database: SqliteDatabase) -> None:
    """An exception raised in many places would gather all their tracebacks."""

    def strike(name: str) -> None:
        raise ZeroDivisionError(name)

    faultpoints.arm(strike)
    errors = await asyncio.gather(*(database.write(note(text)) for text in ("a", "b", "c")), return_exceptions=True)
    faultpoints.arm(None)

    assert len({id(error) for error in errors}) == 3


async def test_a_starved_writer_is_given_its_turn(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that is never idle would keep the interpreter's lock from the writer, at times for seconds."""
    turns: list[float] = []
    monkeypatch.setattr(select, "select", lambda *arguments: turns.append(arguments[3]))
    held = threading.Event()
    database.submit(lambda tx: held.wait(30))

    for _ in range(1_000_000):
        await asyncio.sleep(0)  # noqa: TID251  a loop that is never idle
        if turns:
            break
    held.set()
    await database.write(lambda tx: None)

    assert turns[0] > 0


async def test_an_idle_store_leaves_the_loop_alone(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving way to nobody would cost every program that waits a thousand wake-ups a second."""
    timers: list[float] = []
    loop = asyncio.get_running_loop()
    await database.write(note("a"))
    monkeypatch.setattr(loop, "call_later", lambda delay, callback: timers.append(delay))

    for _ in range(10_000):
        await asyncio.sleep(0)  # noqa: TID251  time passes

    assert len(timers) <= 1
