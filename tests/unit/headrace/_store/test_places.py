"""Going through all stored values, slice by slice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace._ports.database import Database, Row, SqlValue, Statement
from headrace._store.places import Place
from headrace._store.postgres_text import definitions_rewritten

TABLE = "CREATE TABLE notes (shelf TEXT, number INTEGER, value BLOB, text TEXT, PRIMARY KEY (shelf, number))"
CREATE = Statement("create", TABLE, definitions_rewritten(TABLE))
INSERT = Statement("insert", "INSERT INTO notes VALUES (:shelf, :number, :value, :text)")
PLACE = Place("notes", key=("shelf", "number"), values=("value",), texts=("text",))
KEYS = [(shelf, number) for shelf in "abc" for number in range(-1, 4)]


@pytest.fixture
async def database(each_database: Database) -> Database:
    database = each_database
    await database.write(lambda tx: tx.run(CREATE))
    rows: list[dict[str, SqlValue]] = [
        {"shelf": shelf, "number": number, "value": b"1", "text": ""} for shelf, number in reversed(KEYS)
    ]
    await database.write(lambda tx: tx.run_many(INSERT, rows))
    return database


@pytest.mark.parametrize("count", [1, 2, 7, 100])
async def test_slices_meet_every_row_once(database: Database, count: int) -> None:
    """A row that is left out keeps its old key for ever."""
    met: list[Row] = []
    after: Row | None = None
    while found := database.read(lambda reader: list(PLACE.rows(reader, after=after, count=count))):  # noqa: B023
        met += [row.key for row in found]
        after = met[-1]

    assert met == KEYS


async def test_a_row_has_what_is_stored_and_a_name(database: Database) -> None:
    """What is not there needs no work; what is damaged needs a name."""
    first = next(iter(database.read(lambda reader: list(PLACE.rows(reader)))))

    assert (first.values, first.texts) == ({"value": b"1"}, {})
    assert str(first) == "notes (shelf a, number -1)"


async def test_texts_that_repeat_no_value_are_left_alone(database: Database) -> None:
    """A rotation would encrypt them, and the next one find new ones, without end."""
    await database.write(lambda tx: tx.run(PLACE.update(("text",)), {"shelf": "a", "number": 1, "text": "waits"}))
    telling = replace(PLACE, texts_where="number = 2")

    assert [row.key for row in database.read(lambda reader: list(PLACE.rows(reader))) if row.texts] == [("a", 1)]
    assert [row.key for row in database.read(lambda reader: list(telling.rows(reader))) if row.texts] == []


async def test_columns_are_written_by_key(database: Database) -> None:
    """Any other row would get a value that is not its own."""
    statement = PLACE.update(("value", "text"))
    new: dict[str, SqlValue] = {"shelf": "b", "number": 0, "value": b"2", "text": "new"}

    assert await database.write(lambda tx: tx.run(statement, new)) == 1

    changed = [row for row in database.read(lambda reader: list(PLACE.rows(reader))) if row.texts]
    assert [(row.key, row.values, row.texts) for row in changed] == [(("b", 0), {"value": b"2"}, {"text": "new"})]
