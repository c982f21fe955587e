"""Many runs in the form in which the engine left one: the quick way to a large store."""

from __future__ import annotations

from pathlib import Path

import apsw

_NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count) "


def clone_newest_run(path: Path, count: int) -> None:
    """Copy the newest run and its journal ``count`` times, under ids of their own. Nobody may have the store open."""
    connection = apsw.Connection(str(path))
    try:
        connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; BEGIN")
        newest = max(row[0] for row in connection.execute("SELECT max(pk) FROM runs"))
        _copy(connection, "runs", {"pk": ":newest + n", "id": "id || '-' || n"}, "pk", newest, count)
        _copy(connection, "journal", {"run": ":newest + n"}, "run", newest, count)
        connection.execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def _copy(connection: apsw.Connection, table: str, changed: dict[str, str], key: str, newest: int, count: int) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    values = ", ".join(changed.get(column, column) for column in columns)
    connection.execute(
        f"{_NUMBERS} INSERT INTO {table} ({', '.join(columns)}) "
        f"SELECT {values} FROM numbers, {table} WHERE {key} = :newest ORDER BY n",
        {"count": count, "newest": newest},
    )
