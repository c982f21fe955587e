from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from headrace._store.connection import open_for_writing
from headrace._store.migrate import APPLICATION_ID, Migration, migrate, packaged, refuse_foreign, schema_version
from headrace.errors import ConfigurationError, StoreError, StoreTooNew

FIRST = Migration(number=1, name="meta", sql="CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);")
SECOND = Migration(number=2, name="shops", sql="CREATE TABLE shops (pk INTEGER); INSERT INTO shops VALUES (1);")
BROKEN = Migration(number=3, name="broken", sql="CREATE TABLE later (pk INTEGER); INSERT INTO nowhere VALUES (1);")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def connection(path: Path) -> Iterator[apsw.Connection]:
    connection = open_for_writing(path, mode="test")
    yield connection
    connection.close(True)


def tables(connection: apsw.Connection) -> list[str]:
    return [
        str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
    ]


def test_a_new_file_gets_all_migrations(connection: apsw.Connection, path: Path) -> None:
    """The first start must make the whole schema."""
    assert migrate(connection, path, migrations=(FIRST, SECOND)) == 2

    assert tables(connection) == ["meta", "shops"]
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)


def test_an_older_file_is_copied_and_upgraded(connection: apsw.Connection, path: Path) -> None:
    """An upgrade goes one way, so the file before it must be kept."""
    migrate(connection, path, migrations=(FIRST,))
    copies: list[tuple[Path, int]] = []

    migrate(
        connection,
        path,
        migrations=(FIRST, SECOND),
        keep_copy=lambda target: copies.append((target, schema_version(connection))),
    )

    assert copies == [(path.with_name("store.db.before-v2"), 1)]
    assert tables(connection) == ["meta", "shops"]


def test_a_current_file_is_left_alone(connection: apsw.Connection, path: Path) -> None:
    """Each start would otherwise copy the file."""
    migrate(connection, path, migrations=(FIRST, SECOND))
    copies: list[Path] = []

    migrate(connection, path, migrations=(FIRST, SECOND), keep_copy=copies.append)

    assert copies == []


def test_a_failed_upgrade_changes_nothing(connection: apsw.Connection, path: Path) -> None:
    """Half a schema would fit neither the old program nor the new one."""
    migrate(connection, path, migrations=(FIRST,))

    with pytest.raises(StoreError, match="migration 0003_broken failed"):
        migrate(connection, path, migrations=(FIRST, SECOND, BROKEN))

    assert tables(connection) == ["meta"]
    assert schema_version(connection) == 1


def test_a_migration_may_not_end_the_transaction(connection: apsw.Connection, path: Path) -> None:
    """What it commits by itself would stay when a later one fails."""
    ending = Migration(number=2, name="ending", sql="COMMIT")

    with pytest.raises(StoreError, match="must not"):
        migrate(connection, path, migrations=(FIRST, ending))


def test_a_newer_file_is_refused(connection: apsw.Connection, path: Path) -> None:
    """An older program would misread what it does not know; the text says what to install."""
    migrate(connection, path, migrations=(FIRST, SECOND))
    connection.execute("UPDATE meta SET value = '7.1.0' WHERE name = 'written_by'")

    with pytest.raises(
        StoreTooNew, match=r"schema 2, written by Headrace 7\.1\.0; .* up to 1.* Install Headrace 7\.1\.0"
    ):
        migrate(connection, path, migrations=(FIRST,))


def test_files_of_others_are_refused_untouched(path: Path) -> None:
    """A mistyped path must not turn somebody's database into ours."""
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE theirs (x); PRAGMA application_id = 42")
    other.close()
    before = path.read_bytes()

    with pytest.raises(ConfigurationError, match="not a file of Headrace"):
        refuse_foreign(path)

    assert path.read_bytes() == before


def test_tables_of_others_are_refused(connection: apsw.Connection, path: Path) -> None:
    """Most SQLite files carry no application id."""
    connection.execute("CREATE TABLE theirs (x)")

    with pytest.raises(ConfigurationError, match="not a file of Headrace"):
        migrate(connection, path, migrations=(FIRST,))


def test_what_is_no_database_is_refused(path: Path) -> None:
    """A text file is not a damaged store."""
    path.write_text("dear diary")

    with pytest.raises(ConfigurationError):
        refuse_foreign(path)


def test_packaged_migrations_make_a_sound_file(connection: apsw.Connection, path: Path) -> None:
    """The schema that ships must be one."""
    migrate(connection, path)

    assert schema_version(connection) == len(packaged())
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
