"""What every implementation of the ``Database`` port promises."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from headrace._ports.database import Database, Done, Reader, Row, SqlValue, Statement, Transaction
from headrace._store.location import PostgresUrl
from headrace._store.postgres import open_postgres
from headrace._store.postgres_text import definitions_rewritten
from headrace._store.sqlite import open_sqlite
from headrace.errors import StoreError

KEEP = Statement("keep", "INSERT INTO kept (value) VALUES (:value)")
KEPT = Statement("kept", "SELECT value FROM kept")
WORD = Statement("word", "INSERT INTO words (word) VALUES (:word)")
WORDS = Statement("words", "SELECT word FROM words ORDER BY word")

Open = Callable[[], Awaitable[Database]]


def definition(sql: str) -> Statement:
    """Tables are made by migrations, which are rewritten otherwise than statements."""
    return Statement("definition", sql, definitions_rewritten(sql))


CREATE = definition("CREATE TABLE notes (pk INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)")
INSERT = Statement("insert", "INSERT INTO notes (text) VALUES (:text)")
UPDATE = Statement("update", "UPDATE notes SET text = text || '!' WHERE text LIKE :pattern")
TEXTS = Statement("texts", "SELECT text FROM notes ORDER BY pk")
ONE = Statement("one", "SELECT text FROM notes WHERE text = :text")
RETURNING = Statement("returning", "INSERT INTO notes (text) VALUES (:text) RETURNING pk")


@pytest.fixture(params=["sqlite", "postgres"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "sqlite":
        return lambda: open_sqlite(tmp_path / "store.db")
    place: PostgresUrl = request.getfixturevalue("postgres")
    return lambda: open_postgres(place)


@pytest.fixture
async def database(reopen: Open) -> AsyncIterator[Database]:
    database = await reopen()
    await database.write(lambda tx: tx.run(CREATE))
    yield database
    await database.close()


def note(text: str) -> Callable[[Transaction], int]:
    return lambda tx: tx.run(INSERT, {"text": text})


def texts(reader: Reader) -> list[str]:
    return [str(text) for (text,) in reader.all(TEXTS)]


class Refused(Exception):
    """What an operation of these tests raises."""


def note_then_refuse(text: str) -> Callable[[Transaction], int]:
    def operation(tx: Transaction) -> int:
        tx.run(INSERT, {"text": text})
        raise Refused(text)

    return operation


def refuse(tx: Transaction) -> int:
    raise Refused("nothing written")


async def settle(database: Database) -> None:
    """Wait until all that was handed over so far has its answer."""
    await database.write(lambda tx: None)


async def test_what_is_written_is_read(database: Database) -> None:
    """Without it nothing else here means anything."""
    await database.write(note("a"))

    assert database.read(texts) == ["a"]


async def test_answers_come_after_the_commit(database: Database) -> None:
    """An acknowledgement before the commit would be a lie after a crash."""
    seen: list[list[str]] = []
    database.submit(note("a"), lambda result, error: seen.append(database.read(texts)))

    await settle(database)

    assert seen == [["a"]]


async def test_operations_commit_in_the_order_of_submission(database: Database) -> None:
    """The engine hands over the entries of a run one behind the other."""
    for number in range(2_500):
        database.submit(note(f"{number:04}"))

    await settle(database)

    assert database.read(texts) == [f"{number:04}" for number in range(2_500)]


async def test_answers_come_in_the_order_of_submission(database: Database) -> None:
    """Completions enter flows in this order; another one would be another history."""
    order: list[int] = []

    def noted(number: int) -> Done:
        return lambda result, error: order.append(number)

    operations = [note("a"), note_then_refuse("b"), refuse, note("c"), note_then_refuse("d")]
    for number, operation in enumerate(operations):
        database.submit(operation, noted(number))

    await settle(database)

    assert order == [0, 1, 2, 3, 4]


async def test_answers_come_on_the_loop(database: Database) -> None:
    """Callers touch their own state in the answer, without locks."""
    threads: list[threading.Thread] = []
    database.submit(note("a"), lambda result, error: threads.append(threading.current_thread()))

    await settle(database)

    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("isolated", [False, True])
async def test_a_bad_operation_harms_no_other(database: Database, isolated: bool) -> None:
    """One caller's mistake must not undo the work of strangers in the same transaction."""
    answers: list[str] = []

    def done(result: Any, error: BaseException | None) -> None:
        answers.append(repr(error) if error else f"{result}")

    for operation in (note("a"), note_then_refuse("b"), note("c"), refuse, note_then_refuse("d"), note("e")):
        database.submit(operation, done, isolated=isolated)

    await settle(database)

    assert database.read(texts) == ["a", "c", "e"]
    assert answers == ["1", "Refused('b')", "1", "Refused('nothing written')", "Refused('d')", "1"]


@pytest.mark.parametrize("isolated", [False, True])
async def test_what_returns_a_row_is_undone_too(database: Database, isolated: bool) -> None:
    """An insert that gives its key back is a change like any other."""

    def operation(tx: Transaction) -> None:
        tx.one(RETURNING, {"text": "a"})
        tx.all(RETURNING, {"text": "b"})
        raise Refused

    with pytest.raises(Refused):
        await database.write(operation, isolated=isolated)

    assert database.read(texts) == []


async def test_errors_reach_the_caller(database: Database) -> None:
    """An operation's own exception is how it refuses."""
    with pytest.raises(Refused):
        await database.write(note_then_refuse("a"))


async def test_statement_errors_are_store_errors(database: Database) -> None:
    """Callers know no driver."""
    await database.write(note("a"))

    with pytest.raises(StoreError) as caught:
        await database.write(note("a"))

    assert caught.value.__cause__ is not None


async def test_an_operation_may_survive_its_statement(database: Database) -> None:
    """A refused statement changes nothing, so that an operation can go on with another one."""

    def operation(tx: Transaction) -> str:
        tx.run(INSERT, {"text": "a"})
        try:
            tx.run(INSERT, {"text": "a"})
        except StoreError:
            tx.run(INSERT, {"text": "b"})
        return "done"

    assert await database.write(operation) == "done"
    assert database.read(texts) == ["a", "b"]


@pytest.mark.parametrize("isolated", [False, True])
async def test_swallowed_errors_harm_no_other(database: Database, isolated: bool) -> None:
    """An operation that shrugs at an error is as good as one that has none; its neighbours must not pay for it."""

    def shrug(tx: Transaction) -> str:
        with contextlib.suppress(StoreError):
            tx.run(INSERT, {"text": "a"})
        return "whatever"

    answers = await asyncio.gather(
        database.write(note("a")), database.write(shrug, isolated=isolated), database.write(note("b"))
    )

    assert list(answers) == [1, "whatever", 1]
    assert database.read(texts) == ["a", "b"]


async def test_isolated_operations_run_once(database: Database) -> None:
    """A user's transactional step should not run twice because of a stranger."""
    runs: list[str] = []

    def operation(tx: Transaction) -> None:
        runs.append("run")
        tx.run(INSERT, {"text": "mine"})

    database.submit(operation, isolated=True)
    database.submit(note_then_refuse("b"), lambda result, error: None)

    await settle(database)

    assert runs == ["run"]


async def test_operations_see_what_went_before(database: Database) -> None:
    """Decisions are taken on the state that the operations before them left, also within one batch."""
    answers: list[Any] = []
    database.submit(note("a"))
    database.submit(lambda tx: tx.one(ONE, {"text": "a"}), lambda result, error: answers.append(result))

    await settle(database)

    assert answers == [("a",)]


async def test_rows_changed_are_counted(database: Database) -> None:
    """Conditional updates are told apart by their count."""
    for text in ("aa", "ab", "b"):
        await database.write(note(text))

    assert await database.write(lambda tx: tx.run(UPDATE, {"pattern": "a%"})) == 2
    assert await database.write(lambda tx: tx.run(UPDATE, {"pattern": "x%"})) == 0


async def test_many_rows_at_once(database: Database) -> None:
    """Bulk writes go through one call."""
    await database.write(lambda tx: tx.run_many(INSERT, ({"text": str(number)} for number in range(5))))

    assert database.read(texts) == ["0", "1", "2", "3", "4"]


async def test_returned_rows_of_a_change(database: Database) -> None:
    """New keys come back with the insert, and the insert holds though only one row was fetched."""
    assert await database.write(lambda tx: tx.one(RETURNING, {"text": "a"})) == (1,)
    assert database.read(texts) == ["a"]


async def test_rows_one_by_one(database: Database) -> None:
    """Long tables are read without holding them in memory; other statements may run meanwhile."""
    await database.write(lambda tx: tx.run_many(INSERT, ({"text": str(number)} for number in range(5))))

    def query(reader: Reader) -> list[Row | None]:
        return [reader.one(ONE, {"text": text}) for (text,) in reader.each(TEXTS)]

    assert database.read(query) == [("0",), ("1",), ("2",), ("3",), ("4",)]


async def test_an_iterator_left_early_holds_nothing(database: Database) -> None:
    """A forgotten iterator would hold an old state of the file for ever."""
    kept = []

    def peek(tx: Transaction) -> Row:
        rows = tx.each(TEXTS)
        kept.append(rows)
        return next(iter(rows))

    await database.write(lambda tx: tx.run_many(INSERT, ({"text": str(number)} for number in range(5))))
    await database.write(peek)
    await database.write(note("later"))

    assert "later" in database.read(texts)


@pytest.mark.parametrize(
    "value", [None, 0, -1, 2**63 - 1, -(2**63), 0.5, 1e300, "", "naïve ☃ 'quoted' %s :name", b"", b"\x00\xff" * 100_000]
)
async def test_values_come_back_as_they_went(database: Database, value: SqlValue) -> None:
    """Instants, seeds, texts of errors and encoded values: what is read must be what was written, in type too."""
    column = {int: "INTEGER", float: "DOUBLE PRECISION", str: "TEXT", bytes: "BLOB"}.get(type(value), "INTEGER")
    await database.write(lambda tx: tx.run(definition(f"CREATE TABLE kept (value {column})")))

    await database.write(lambda tx: tx.run(KEEP, {"value": value}))

    assert database.read(lambda reader: reader.one(KEPT)) == (value,)
    assert await database.write(lambda tx: list(tx.each(KEPT))) == [(value,)]


@pytest.mark.parametrize(
    "sql, value",
    [
        ("SELECT count(*) FROM notes", 3),
        ("SELECT sum(pk) FROM notes", 6),
        ("SELECT avg(pk) / 4 FROM notes", 0.5),
        ("SELECT max(text) FROM notes", "b"),
        ("SELECT pk = 2 FROM notes WHERE text = 'B'", 1),
        ("SELECT x'00ff'", b"\x00\xff"),
        ("SELECT substr(x'00ff', 2)", b"\xff"),
        ("SELECT instr(text, 'B') FROM notes WHERE pk = 2", 1),
        ("SELECT '50 % of ' || :what", "50 % of it"),
        ("SELECT CAST(:nothing AS TEXT) IS NULL", 1),
    ],
)
async def test_the_common_language(database: Database, sql: str, value: SqlValue) -> None:
    """Statements are written once: what they say has to mean the same on every database, down to the types of the answers."""
    for text in ("b", "B", "a"):
        await database.write(note(text))
    question = Statement("question", sql)

    row = database.read(lambda reader: reader.one(question, {"what": "it", "nothing": None}))

    assert row == (value,)
    assert row is not None
    assert type(row[0]) is type(value)


async def test_text_is_ordered_by_its_bytes(database: Database) -> None:
    """Pages of results go by order; a database that sorts as the language of its machine does would skip and repeat."""
    words = ["a", "B", "b", "é", "z", "Z", "_", "a b", "ab", "1", "10", "2"]
    await database.write(lambda tx: tx.run(definition("CREATE TABLE words (word TEXT)")))
    await database.write(lambda tx: tx.run_many(WORD, [{"word": word} for word in words]))

    found = database.read(lambda reader: [row[0] for row in reader.all(WORDS)])

    assert found == sorted(words, key=str.encode)


async def test_missing_parameters_are_refused(database: Database) -> None:
    """A misspelt name would otherwise write NULL."""
    with pytest.raises((StoreError, KeyError)):
        await database.write(lambda tx: tx.run(INSERT, {"txt": "a"}))


async def test_queries_cannot_write(database: Database) -> None:
    """There is one writer."""
    with pytest.raises(StoreError):
        database.read(lambda reader: reader.all(RETURNING, {"text": "a"}))

    assert database.read(texts) == []


async def test_a_query_sees_one_state(database: Database) -> None:
    """Two statements of one query must not see a commit in between."""

    def query(reader: Reader) -> tuple[list[str], list[str]]:
        before = texts(reader)
        committed = threading.Event()
        loop.call_soon_threadsafe(lambda: database.submit(note("b"), lambda result, error: committed.set()))
        assert committed.wait(30)
        return before, texts(reader)

    loop = asyncio.get_running_loop()
    await database.write(note("a"))

    assert await asyncio.to_thread(database.read, query) == (["a"], ["a"])
    assert database.read(texts) == ["a", "b"]


async def test_other_threads_may_hand_over(database: Database) -> None:
    """A watchdog must write down what it saw while the loop is held up, and it is nobody's pending work."""
    handed = asyncio.ensure_future(asyncio.to_thread(database.submit_from_thread, note("a")))
    await handed

    await settle(database)

    assert (database.read(texts), database.pending()) == (["a"], 0)


async def test_pending_counts_what_has_no_answer(database: Database) -> None:
    """A virtual clock may jump only when nothing is under way."""
    seen: list[int] = []
    database.submit(note("a"), lambda result, error: seen.append(database.pending()))
    database.submit(note("b"), lambda result, error: seen.append(database.pending()))

    handed = database.pending()
    await settle(database)

    assert (handed, seen[-1], database.pending()) == (2, 1, 0)


async def test_an_answer_that_raises_silences_no_other(database: Database) -> None:
    """One caller's mistake in its answer must not keep the others waiting."""
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    answers: list[str] = []

    def bad(result: Any, error: BaseException | None) -> None:
        raise Refused("answer")

    database.submit(note("a"), bad)
    database.submit(note("b"), lambda result, error: answers.append("b"))
    await settle(database)

    assert answers == ["b"]
    assert [type(context["exception"]) for context in reported] == [Refused]


async def test_failures_nobody_waits_for_are_reported(database: Database) -> None:
    """A failed write that nobody hears of would be pretending."""
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    database.submit(note_then_refuse("a"))
    await settle(database)

    assert [type(context["exception"]) for context in reported] == [Refused]


async def test_who_stops_waiting_stops_nothing(database: Database) -> None:
    """A cancelled caller leaves the operation to its end and harms no later answer."""
    waiting = asyncio.ensure_future(database.write(note("a")))
    await asyncio.sleep(0)  # noqa: TID251  lets the task hand its operation over
    waiting.cancel()

    await settle(database)

    assert database.read(texts) == ["a"]


async def test_closing_commits_what_was_handed_over(reopen: Open) -> None:
    """Stopping in order loses nothing, even what nobody waited for."""
    database = await reopen()
    database.submit(lambda tx: tx.run(CREATE))
    for number in range(2_000):
        database.submit(note(str(number)))

    await database.close()

    again = await reopen()
    assert len(again.read(texts)) == 2_000
    await again.close()


async def test_closing_twice_is_closing(reopen: Open) -> None:
    """Shutdown paths meet."""
    database = await reopen()

    await asyncio.gather(database.close(), database.close())
    await database.close()


async def test_a_closed_database_refuses(reopen: Open) -> None:
    """A late caller gets an error, not silence."""
    database = await reopen()
    await database.close()

    with pytest.raises(StoreError):
        await database.write(refuse)
    with pytest.raises(StoreError):
        database.read(texts)


@pytest.mark.allow_blocking
async def test_abandoning_keeps_what_was_answered(reopen: Open) -> None:
    """A killed process loses nothing that it has acknowledged."""
    database = await reopen()
    await database.write(lambda tx: tx.run(CREATE))
    await database.write(note("a"))

    database.abandon()

    again = await reopen()
    assert again.read(texts) == ["a"]
    await again.close()


@pytest.mark.allow_blocking
async def test_abandoning_answers_nothing_more(reopen: Open) -> None:
    """The dead do not speak: a crash test would otherwise see what no process could."""
    database = await reopen()
    await database.write(lambda tx: tx.run(CREATE))
    answers: list[str] = []
    for number in range(100):
        database.submit(note(str(number)), lambda result, error: answers.append("answer"))

    database.abandon()

    again = await reopen()
    await settle(again)
    assert (answers, database.pending()) == ([], 0)
    await again.close()


@pytest.mark.allow_blocking
async def test_abandoning_ends_a_closing_under_way(reopen: Open) -> None:
    """A shutdown that was cut short must not wait for ever."""
    database = await reopen()
    closing = asyncio.ensure_future(database.close())
    await asyncio.sleep(0)  # noqa: TID251  lets the closing begin

    database.abandon()

    await asyncio.wait_for(closing, 10)
