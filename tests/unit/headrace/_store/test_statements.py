import textwrap

import pytest

from headrace._store import statements
from headrace.errors import DefinitionError


def parse(text: str) -> statements.Statements:
    return statements.parse(textwrap.dedent(text), origin="shop/queries.sql")


TWO = """
    -- Rows of a shop.

    -- name: insert_order
    -- An order comes in.
    -- It has no rows yet.
    INSERT INTO orders (id) -- the customer's own id
    VALUES (:id);

    -- name: orders
    -- All orders.
    SELECT id FROM orders
"""

DIALECTS = """
    -- name: lock
    -- dialect: postgres
    -- Lock an order.
    SELECT id FROM orders FOR UPDATE

    -- name: lock
    -- Lock an order.
    SELECT id FROM orders

    -- name: locked
    -- Which orders are locked.
    SELECT id FROM orders WHERE locked
"""


def test_statements_are_found_by_name() -> None:
    """Stores name their SQL instead of carrying it."""
    queries = parse(TWO)

    assert queries.insert_order.sql == "INSERT INTO orders (id) -- the customer's own id\nVALUES (:id)"
    assert queries["orders"].name == "orders"
    assert list(queries) == ["insert_order", "orders"]


def test_unknown_names_are_refused_with_the_nearest() -> None:
    """A misspelt name must fail at import, not in the night when the statement is needed."""
    queries = parse(TWO)

    with pytest.raises(AttributeError, match="no statement 'insert_ordr'; did you mean 'insert_order'"):
        _ = queries.insert_ordr
    with pytest.raises(KeyError, match="it has insert_order, orders"):
        _ = queries["zzz"]


def test_a_statement_carries_the_text_of_each_dialect() -> None:
    """Locks are written in Postgres and are free in SQLite; whoever runs a statement does not know which database it is."""
    queries = parse(DIALECTS)

    assert (queries.lock.sql, queries.lock.postgres) == ("SELECT id FROM orders", "SELECT id FROM orders FOR UPDATE")
    assert queries.locked.postgres is None


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("SELECT 1", "queries.sql:1: SQL before the first"),
        ("-- name: a\nSELECT 1", "'a' has no line that says what it is for"),
        ("-- name: a\n-- Why.\n", "'a' has no SQL"),
        ("-- name: a\n-- dialect: oracle\n-- Why.\nSELECT 1", "unknown dialect 'oracle'"),
        ("-- name: a\n-- Why.\nSELECT 1\n-- name: a\n-- Why.\nSELECT 2", "two statements 'a'"),
        ("-- name: a\n-- dialect: postgres\n-- Why.\nSELECT 1", "'a' has no text for sqlite"),
    ],
)
def test_unclear_files_are_refused(text: str, complaint: str) -> None:
    """What a file of statements means must not be guessed."""
    with pytest.raises(DefinitionError, match=complaint):
        parse(text)


def test_packaged_files_are_read() -> None:
    """The wheel carries the SQL beside the code."""
    assert "owner_epoch" in list(statements.load("headrace._store", "store.sql"))
