from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from headrace._store.connection import open_for_reading, open_for_writing

NEWEST = "SELECT max(number) FROM notes WHERE owner = :owner"


def open_made(path: Path, *, reading: bool) -> apsw.Connection:
    writing = open_for_writing(path, mode="test")
    writing.execute("CREATE TABLE notes (owner TEXT NOT NULL, number INTEGER NOT NULL)")
    writing.execute("CREATE UNIQUE INDEX notes_by_owner ON notes (owner, number)")
    if not reading:
        return writing
    writing.close()
    return open_for_reading(path)


@pytest.mark.parametrize("reading", [False, True], ids=["writer", "reader"])
def test_a_statement_is_planned_once_whatever_is_bound_to_it(tmp_path: Path, reading: bool) -> None:
    """To plan it for each row takes longer than to run it, and nobody would see why everything is slow."""
    connection = open_made(tmp_path / "store.db", reading=reading)
    planned = 0

    def count(*_: object) -> int:
        nonlocal planned
        planned += 1  # SQLite asks it about every table and column that a plan is made for
        return apsw.SQLITE_OK

    connection.authorizer = count
    connection.execute(NEWEST, {"owner": "a"}).fetchall()
    once = planned
    for owner in "bcd":
        connection.execute(NEWEST, {"owner": owner}).fetchall()
    connection.close()

    assert once > 0
    assert planned == once
