from pathlib import Path

import pytest

from headrace._ports.database import Statement
from headrace._store import sqlite_medium
from headrace._store.sqlite import open_sqlite

CREATE = Statement("create", "CREATE TABLE notes (pk INTEGER PRIMARY KEY, text TEXT NOT NULL)")
INSERT = Statement("insert", "INSERT INTO notes (text) VALUES (:text)")


async def test_the_log_is_moved_into_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else checkpoints: without it the log would grow until the disk is full."""
    monkeypatch.setattr(sqlite_medium, "_CHECKPOINT_PAGES", 20)
    database = await open_sqlite(tmp_path / "store.db", mode="test")
    await database.write(lambda tx: tx.run(CREATE))

    for number in range(300):
        text = f"{number}" * 1_000
        await database.write(lambda tx, text=text: tx.run(INSERT, {"text": text}))  # type: ignore[misc]

    assert database.path.with_name("store.db-wal").stat().st_size < 4_096 * 150
    await database.close()
