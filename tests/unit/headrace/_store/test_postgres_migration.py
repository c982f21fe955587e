import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from headrace._ports.database import Statement
from headrace._store import postgres_ownership
from headrace._store.location import PostgresUrl
from headrace._store.migrate import Migration, packaged
from headrace._store.postgres import open_postgres
from headrace._store.postgres_connection import Session, connect
from headrace._store.postgres_migration import migrate
from headrace._store.postgres_text import definitions_rewritten
from headrace._store.sqlite import open_sqlite, open_sqlite_reader
from headrace.errors import DefinitionError, StoreBusy, StoreError, StoreTooNew

META = "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
FIRST = Migration(number=1, name="meta", sql=definitions_rewritten(META))
SECOND = Migration(number=2, name="shops", sql="CREATE TABLE shops (pk BIGINT); INSERT INTO shops VALUES (1);")
BROKEN = Migration(number=3, name="broken", sql="CREATE TABLE later (pk BIGINT); INSERT INTO nowhere VALUES (1);")

COLUMNS_OF_FILE = Statement(
    "columns",
    "SELECT t.name, c.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c"
    " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'",
)
COLUMNS = """
    SELECT table_name, column_name, data_type, collation_name FROM information_schema.columns WHERE table_schema = %s
"""


@pytest.fixture
def session(postgres: PostgresUrl) -> Iterator[Session]:
    connection = connect(postgres, writes=True)
    yield Session(connection)
    connection.close()


@pytest.fixture
def server(postgres: PostgresUrl) -> Iterator[psycopg.Connection]:
    """Somebody else's look at the same database."""
    with psycopg.connect(postgres.secret, autocommit=True) as connection:
        yield connection


def tables(server: psycopg.Connection, schema: str) -> list[str]:
    found = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", (schema,))
    return [row[0] for row in found]


async def test_both_databases_have_the_same_tables(
    tmp_path: Path, postgres: PostgresUrl, server: psycopg.Connection
) -> None:
    """Every statement is written for both; a column that one of them lacks would show in the night."""
    for database in (await open_sqlite(tmp_path / "store.db"), await open_postgres(postgres)):
        await database.close()

    columns = server.execute(COLUMNS, (postgres.schema,)).fetchall()

    with open_sqlite_reader(tmp_path / "store.db") as reader:
        in_file = reader.read(lambda rows: rows.all(COLUMNS_OF_FILE))
    assert sorted(row[:2] for row in columns) == sorted(in_file)


async def test_types_mean_the_same(postgres: PostgresUrl, server: psycopg.Connection) -> None:
    """An instant needs 64 bits, and text that is ordered by the language of a machine breaks paging."""
    database = await open_postgres(postgres)
    await database.close()

    columns = server.execute(COLUMNS, (postgres.schema,)).fetchall()

    assert {(kind, collation) for _, _, kind, collation in columns} <= {
        ("bigint", None), ("text", "C"), ("bytea", None), ("double precision", None)
    }  # fmt: skip


async def test_several_may_start_at_once(postgres: PostgresUrl) -> None:
    """The first deployment starts the owner and all its workers in the same second, on an empty database."""
    databases = await asyncio.gather(open_postgres(postgres), *(open_postgres(postgres, owner=False) for _ in range(5)))

    assert {database.schema for database in databases} == {len(packaged())}
    for database in databases:
        await database.close()


def test_an_older_schema_is_upgraded(session: Session, postgres: PostgresUrl, server: psycopg.Connection) -> None:
    """Nobody should have to type SQL for a new version."""
    assert migrate(session, postgres.schema, owns=True, migrations=(FIRST,)) == 1

    assert migrate(session, postgres.schema, owns=True, migrations=(FIRST, SECOND)) == 2
    assert migrate(session, postgres.schema, owns=True, migrations=(FIRST, SECOND)) == 2

    assert tables(server, postgres.schema) == ["meta", "shops"]
    assert server.execute(f"SELECT pk FROM {postgres.schema}.shops").fetchall() == [(1,)]


def test_a_failed_upgrade_changes_nothing(session: Session, postgres: PostgresUrl, server: psycopg.Connection) -> None:
    """Half a schema would fit neither the old program nor the new one."""
    migrate(session, postgres.schema, owns=True, migrations=(FIRST,))

    with pytest.raises(StoreError, match="migration 0003_broken failed"):
        migrate(session, postgres.schema, owns=True, migrations=(FIRST, SECOND, BROKEN))

    assert tables(server, postgres.schema) == ["meta"]
    session.renew()
    assert migrate(session, postgres.schema, owns=True, migrations=(FIRST,)) == 1


def test_a_migration_may_not_end_the_transaction(session: Session, postgres: PostgresUrl) -> None:
    """What it commits by itself would stay when a later one fails."""
    ending = Migration(number=2, name="ending", sql="COMMIT")

    with pytest.raises(StoreError, match="must not"):
        migrate(session, postgres.schema, owns=True, migrations=(FIRST, ending))


def test_a_newer_schema_is_refused(session: Session, postgres: PostgresUrl) -> None:
    """An older program would misread what it does not know."""
    migrate(session, postgres.schema, owns=True, migrations=(FIRST, SECOND))

    with pytest.raises(StoreTooNew, match=r"has version 2, .* up to 1"):
        migrate(session, postgres.schema, owns=True, migrations=(FIRST,))


def test_a_worker_upgrades_only_where_no_older_owner_is_at_work(
    session: Session, postgres: PostgresUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner's code may not know what a newer migration makes of its tables."""
    monkeypatch.setattr("headrace._store.postgres_migration._TRIES", 2)
    migrate(session, postgres.schema, owns=True, migrations=(FIRST,))
    owning = connect(postgres, writes=True)
    postgres_ownership.lock(Session(owning), postgres)

    with pytest.raises(StoreBusy, match="brought up to date when a newer owner starts"):
        migrate(session, postgres.schema, owns=False, migrations=(FIRST, SECOND))
    owning.close()
    session.renew()

    monkeypatch.setattr("headrace._store.postgres_migration._TRIES", 100)
    assert migrate(session, postgres.schema, owns=False, migrations=(FIRST, SECOND)) == 2


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with two migrations, of which the second one needs a text of its own for Postgres."""
    folder = tmp_path / f"shop_{tmp_path.name}" / "migrations"
    (folder / "postgres").mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "0001_shops.sql").write_text("CREATE TABLE shops (name TEXT);")
    (folder / "0002_search.sql").write_text("CREATE VIRTUAL TABLE search USING fts5 (name);")
    (folder / "postgres" / "0002_search.sql").write_text("CREATE INDEX search ON shops (name);")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_a_migration_may_have_a_variant(package: Path) -> None:
    """What cannot be rewritten is written a second time, under the same name."""
    found = packaged(package.parent.name, dialect="postgres")

    assert [one.sql for one in found] == [
        'CREATE TABLE shops (name TEXT COLLATE "C");',
        "CREATE INDEX search ON shops (name);",
    ]
    assert [one.sql for one in packaged(package.parent.name)][1].startswith("CREATE VIRTUAL TABLE")


def test_a_variant_of_nothing_is_refused(package: Path) -> None:
    """A misspelt name would silently be no variant."""
    (package / "postgres" / "0002_serach.sql").write_text("SELECT 1")

    with pytest.raises(DefinitionError, match="for Postgres alone: 0002_serach"):
        packaged(package.parent.name, dialect="postgres")
