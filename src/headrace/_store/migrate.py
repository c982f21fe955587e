"""Numbered, forward-only migrations; all that are pending run in one transaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

import apsw

from headrace._store.connection import translate
from headrace._store.postgres_text import definitions_rewritten
from headrace.errors import ConfigurationError, DefinitionError, StoreError, StoreTooNew

APPLICATION_ID = 0x48445243
"""``HDRC``: tells a store from any other SQLite file."""

Dialect = Literal["sqlite", "postgres"]

_FILE_NAME = re.compile(r"^(\d{4})_(\w+)\.sql$")
_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    number: int
    name: str
    sql: str


def packaged(package: str = "headrace._store", *, dialect: Dialect = "sqlite") -> tuple[Migration, ...]:
    """The migrations of a package, by number without a gap.

    They are written for SQLite, and rewritten for Postgres; where that is not enough, ``migrations/postgres`` has one of the same name.
    """
    folder = resources.files(package).joinpath("migrations")
    found = list(_in_folder(folder))
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise DefinitionError(f"the migrations of {package} are not numbered 0001, 0002, ... without a gap")
    return tuple(found) if dialect == "sqlite" else tuple(_for_postgres(found, folder.joinpath("postgres"), package))


def _in_folder(folder: Traversable) -> list[Migration]:
    found = []
    for entry in folder.iterdir():
        match = _FILE_NAME.match(entry.name)
        if match:
            found.append(Migration(number=int(match[1]), name=match[2], sql=entry.read_text(encoding="utf-8")))
    return sorted(found, key=lambda migration: migration.number)


def _for_postgres(common: list[Migration], folder: Traversable, package: str) -> Iterator[Migration]:
    variants = {(one.number, one.name): one for one in (_in_folder(folder) if folder.is_dir() else ())}
    for migration in common:
        rewritten = replace(migration, sql=definitions_rewritten(migration.sql))
        yield variants.pop((migration.number, migration.name), rewritten)
    if variants:
        strays = ", ".join(f"{number:04}_{name}" for number, name in variants)
        raise DefinitionError(
            f"{package} has migrations for Postgres alone: {strays}; a variant bears the name of its migration"
        )


def refuse_foreign(path: Path) -> None:
    """Before anything is opened for writing: SQLite would change the header of a file that is not ours."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        return
    if not header:
        return
    application = int.from_bytes(header[68:72], "big")
    if not header.startswith(_MAGIC) or application not in (0, APPLICATION_ID):
        raise ConfigurationError(f"{path} is not a file of Headrace; give another path")


def schema_version(connection: apsw.Connection) -> int:
    row = connection.execute("PRAGMA user_version").fetchone()
    assert row is not None
    return int(row[0])


def refuse_unreadable(connection: apsw.Connection, path: Path, newest: int) -> None:
    """Refuse a file that is another application's, or that a newer Headrace has written."""
    application = connection.execute("PRAGMA application_id").fetchone()
    assert application is not None
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    assert tables is not None
    if application[0] != APPLICATION_ID and tables[0]:
        raise ConfigurationError(f"{path} is not a file of Headrace; give another path")
    version = schema_version(connection)
    if version > newest:
        raise StoreTooNew(
            f"{path} has schema {version}, written by Headrace {_written_by(connection)}; this one knows schemas up to "
            f"{newest}. Install Headrace {_written_by(connection)} or newer"
        )


def migrate(
    connection: apsw.Connection,
    path: Path,
    *,
    migrations: tuple[Migration, ...] | None = None,
    keep_copy: Callable[[Path], None] | None = None,
) -> int:
    """Bring a file up to date and return its schema; ``keep_copy`` is called with where to keep the older file."""
    known = packaged() if migrations is None else migrations
    newest = len(known)
    refuse_unreadable(connection, path, newest)
    version = schema_version(connection)
    if version == newest:
        return newest
    if version and keep_copy is not None:
        keep_copy(path.with_name(f"{path.name}.before-v{newest}"))
    connection.execute("BEGIN IMMEDIATE")
    try:
        for migration in known[version:]:
            _apply(connection, migration)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {newest}")
        connection.execute(
            "INSERT INTO meta (name, value) VALUES ('written_by', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (this_version(),),
        )
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return newest


def _apply(connection: apsw.Connection, migration: Migration) -> None:
    try:
        connection.execute(migration.sql)
    except apsw.Error as error:
        cause = translate(error, connection.system_errno)
        raise type(cause)(f"migration {migration.number:04}_{migration.name} failed: {cause}") from error
    if not connection.in_transaction:
        raise StoreError(f"migration {migration.number:04}_{migration.name} ended the transaction; it must not")


def _written_by(connection: apsw.Connection) -> str:
    try:
        row = connection.execute("SELECT value FROM meta WHERE name = 'written_by'").fetchone()
    except apsw.SQLError:
        return "(unknown)"
    return str(row[0]) if row else "(unknown)"


def this_version() -> str:
    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:
        return "(unreleased)"
