import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace._ports.database import Statement
from headrace._store.maintenance import backup, check, manifest_path, verify
from headrace._store.sqlite import SqliteDatabase, open_sqlite, open_sqlite_reader
from headrace.errors import ConfigurationError, StoreCorrupt, StoreError

NOON = 1_700_000_000_000_000
CREATE = Statement("create", "CREATE TABLE notes (pk INTEGER PRIMARY KEY, text TEXT NOT NULL)")
INSERT = Statement("insert", "INSERT INTO notes (text) VALUES (:text)")
COUNT = Statement("count", "SELECT count(*) FROM notes")
SHOUTING = Statement("shouting", "SELECT pk, text FROM notes WHERE text = upper(text)")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[SqliteDatabase]:
    database = await open_sqlite(tmp_path / "store.db", mode="test")
    await database.write(lambda tx: tx.run(CREATE))
    await database.write(lambda tx: tx.run_many(INSERT, ({"text": f"note {number}"} for number in range(3_000))))
    yield database
    await database.close()


async def test_a_sound_file_has_no_findings(database: SqliteDatabase) -> None:
    """A check that cried wolf would be ignored."""
    report = check(database.path, {"nobody shouts": SHOUTING})

    assert report.sound
    assert report.rows["notes"] == 3_000


async def test_questions_find_what_does_not_fit(database: SqliteDatabase) -> None:
    """A file may be sound for SQLite and wrong for the runtime."""
    await database.write(lambda tx: tx.run(INSERT, {"text": "HELP"}))

    report = check(database.path, {"nobody shouts": SHOUTING})

    assert [(finding.check, finding.detail) for finding in report.findings] == [("nobody shouts", "(3001, 'HELP')")]


@pytest.mark.parametrize("offset", [4_096 * 3, 4_096 * 8])
async def test_damage_is_found(tmp_path: Path, database: SqliteDatabase, offset: int) -> None:
    """Damage that nobody finds spreads into the backups."""
    path = tmp_path / "damaged.db"
    await asyncio.to_thread(backup, database.path, path, now=NOON)
    content = bytearray(path.read_bytes())
    content[offset : offset + 2_000] = bytes(range(250)) * 8
    path.write_bytes(content)

    report = check(path)

    assert not report.sound


async def test_a_backup_holds_what_was_committed(tmp_path: Path, database: SqliteDatabase) -> None:
    """What is in the log alone belongs to the copy; copying the file would miss it."""
    target = tmp_path / "copy.db"

    manifest = await asyncio.to_thread(backup, database.path, target, now=NOON)

    with open_sqlite_reader(target) as reader:
        assert reader.read(lambda r: r.one(COUNT)) == (3_000,)
    assert manifest.rows["notes"] == 3_000
    assert manifest.created_at == "2023-11-14T22:13:20+00:00"
    assert manifest == verify(target)
    assert sorted(path.name for path in tmp_path.glob("*.part*")) == []


async def test_a_backup_can_be_opened_as_a_store(tmp_path: Path, database: SqliteDatabase) -> None:
    """A backup is there to be restored."""
    await asyncio.to_thread(backup, database.path, tmp_path / "copy.db", now=NOON)

    restored = await open_sqlite(tmp_path / "copy.db", mode="test")

    assert restored.epoch == database.epoch + 1
    assert restored.read(lambda r: r.one(COUNT)) == (3_000,)
    await restored.close()


async def test_a_backup_replaces_nothing(tmp_path: Path, database: SqliteDatabase) -> None:
    """Yesterday's backup must not be the price of today's."""
    target = tmp_path / "copy.db"
    target.write_text("yesterday")

    with pytest.raises(ConfigurationError, match="exists already"):
        await asyncio.to_thread(backup, database.path, target, now=NOON)

    assert target.read_text() == "yesterday"


async def test_a_changed_backup_is_told(tmp_path: Path, database: SqliteDatabase) -> None:
    """A backup that rotted on its shelf must be known before it is needed."""
    target = tmp_path / "copy.db"
    await asyncio.to_thread(backup, database.path, target, now=NOON)
    with target.open("r+b") as file:
        file.seek(5_000)
        file.write(b"rot")

    with pytest.raises(StoreCorrupt, match="not what its manifest says"):
        verify(target)


async def test_a_backup_without_its_manifest_is_told(tmp_path: Path, database: SqliteDatabase) -> None:
    """Nothing can be said of it, which is not the same as sound."""
    target = tmp_path / "copy.db"
    await asyncio.to_thread(backup, database.path, target, now=NOON)
    manifest_path(target).write_text(json.dumps({"file": "copy.db"}))

    with pytest.raises(StoreError, match="no readable manifest"):
        verify(target)


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    """Checking a path that was mistyped must not say that all is well, nor make a file."""
    with pytest.raises(ConfigurationError, match="there is no store"):
        check(tmp_path / "nothing.db")

    assert list(tmp_path.iterdir()) == []
