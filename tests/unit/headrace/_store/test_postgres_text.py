import pytest

from headrace._ports.database import Statement
from headrace._store.postgres_text import rewritten, text_of


@pytest.mark.parametrize(
    "written, sent",
    [
        ("SELECT :a, :a_2", "SELECT %(a)s, %(a_2)s"),
        ("SELECT CAST(:a AS TEXT)", "SELECT CAST(%(a)s AS TEXT)"),
        ("SELECT :a::text, b::text", "SELECT %(a)s::text, b::text"),
        ("SELECT ':a', 'it''s :a', :a", "SELECT ':a', 'it''s :a', %(a)s"),
        ('SELECT ":a" FROM t', 'SELECT ":a" FROM t'),
        ("SELECT 1 -- :a\n, :a", "SELECT 1 -- :a\n, %(a)s"),
        ("SELECT /* :a\n */ :a", "SELECT /* :a\n */ %(a)s"),
        ("SELECT $f$ :a $f$, :a", "SELECT $f$ :a $f$, %(a)s"),
        ("SELECT a % 2, '5 %' WHERE b LIKE :c", "SELECT a %% 2, '5 %%' WHERE b LIKE %(c)s"),
        ("SELECT x'', X'00fF', max'1'", r"SELECT '\x'::bytea, '\x00fF'::bytea, max'1'"),
    ],
)
def test_only_what_differs_is_rewritten(written: str, sent: str) -> None:
    """One text serves both databases; a colon in a literal or a cast must not become a parameter."""
    assert rewritten(written) == sent


def test_a_variant_goes_before_the_common_text() -> None:
    """A statement that Postgres needs otherwise would be sent as SQLite has it."""
    assert text_of(Statement("a", "SELECT 1")).sql == "SELECT 1"
    assert text_of(Statement("a", "SELECT 1", "SELECT 2")).sql == "SELECT 2"


@pytest.mark.parametrize(
    "sql, changes",
    [
        ("SELECT updated_at FROM t", False),
        ("INSERT INTO t VALUES (1) RETURNING a", True),
        ("WITH gone AS (delete FROM t RETURNING a) SELECT a FROM gone", True),
    ],
)
def test_what_changes_something_is_known(sql: str, changes: bool) -> None:
    """An operation that raised after a change has to be undone, however the change was made."""
    assert text_of(Statement("a", sql)).changes is changes
