"""Every statement that ships is understood by every database it may be sent to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import apsw
import psycopg
import pytest

from headrace._ports.database import Statement
from headrace._store.connection import open_for_writing
from headrace._store.location import PostgresUrl
from headrace._store.migrate import migrate as migrate_file
from headrace._store.postgres_connection import Session, connect
from headrace._store.postgres_migration import migrate
from headrace._store.postgres_text import text_of
from headrace._store.statements import parse
from headrace_pipelines import subtitles
from tests.servers import PostgresServer
from tests.tree import SOURCE, files

PARAMETER = re.compile(r"%\((\w+)\)s")
# A row of nothing but NULL is refused, and that takes a statement that was understood.
UNDERSTOOD = (psycopg.errors.IntegrityError,)


def statements() -> Iterator[tuple[str, Statement]]:
    for path in files():
        if path.suffix == ".sql" and path.is_relative_to(SOURCE) and "migrations" not in path.parts:
            found = parse(path.read_text("utf-8"), origin=path.name)
            for name in found:
                yield f"{path.relative_to(SOURCE)}:{name}", found[name]


ALL = dict(statements())
OF_PIPELINES = [
    statement
    for pipeline in (subtitles.pipeline,)
    if pipeline.tables is not None
    for migration in pipeline.tables.migrations
    for statement in migration
]
"""What makes the tables that pipelines bring along."""
FOR_BOTH = [name for name in ALL if "/postgres.sql:" not in name]


@pytest.fixture(scope="module")
def schema(postgres_server: PostgresServer) -> Iterator[Session]:
    place = PostgresUrl(postgres_server.url, f"statements_{os.getpid()}")
    connection = connect(place, writes=True)
    session = Session(connection)
    migrate(session, place.schema, owns=True)
    with connection.transaction():
        for statement in OF_PIPELINES:
            connection.execute(text_of(statement).sql)
    yield session
    connection.close()


@pytest.mark.parametrize("name", ALL)
def test_postgres_understands(schema: Session, name: str) -> None:
    """A word of SQLite alone, or a parameter whose type nobody can tell, would fail in the night of whoever moved."""
    text = text_of(ALL[name])
    nothing = dict.fromkeys(PARAMETER.findall(text.sql))

    with schema.connection.transaction(force_rollback=True):
        try:
            schema.connection.execute(text.sql, nothing)
        except UNDERSTOOD:
            pass


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[apsw.Connection]:
    path = tmp_path_factory.mktemp("statements") / "store.db"
    connection = open_for_writing(path, mode="test")
    migrate_file(connection, path)
    for statement in OF_PIPELINES:
        connection.execute(statement.sql)
    yield connection
    connection.close()


@pytest.mark.parametrize("name", FOR_BOTH)
def test_sqlite_understands(file: apsw.Connection, name: str) -> None:
    """The same the other way round."""
    text = text_of(ALL[name])

    file.execute(f"EXPLAIN {ALL[name].sql}", dict.fromkeys(PARAMETER.findall(text.sql))).fetchall()
