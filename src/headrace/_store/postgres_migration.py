"""The same migrations as those of SQLite, written for Postgres; all that are pending run in one transaction."""

from __future__ import annotations

import time

from headrace._store.migrate import Migration, packaged, this_version
from headrace._store.postgres_connection import Session
from headrace._store.statements import load
from headrace.errors import ConfigurationError, StoreBusy, StoreError, StoreTooNew

_HERE = load("headrace._store", "postgres.sql")
_STORE = load("headrace._store", "store.sql")

_TRIES = 50
_PAUSE = 0.02


def migrate(session: Session, schema: str, *, owns: bool, migrations: tuple[Migration, ...] | None = None) -> int:
    """Bring a schema up to date, made when absent, and return its version. Whoever does not ``own`` it defers to who does."""
    known = packaged(dialect="postgres") if migrations is None else migrations
    for _ in range(_TRIES):
        if schema_version(session, schema, newest=len(known)) == len(known) or _upgraded(session, schema, known, owns):
            return len(known)
        # An owner that starts in this moment is about to do it.
        time.sleep(_PAUSE)  # noqa: TID251  a pause of the operating system's time, in no event loop
    raise StoreBusy(
        f"the schema {schema!r} is older than this Headrace, and its owner runs the older one; "
        "it is brought up to date when a newer owner starts"
    )


def _upgraded(session: Session, schema: str, known: tuple[Migration, ...], owns: bool) -> bool:
    """False when an owner is at work, whose code may not know what a migration makes."""
    session.control("BEGIN")
    try:
        session.one(_HERE.lock_migrations, {"schema": schema})
        version = schema_version(session, schema, newest=len(known))
        if version < len(known):
            if not owns and session.one(_HERE.keep_owners_away, {"schema": schema}) != (1,):
                return False
            _upgrade(session, schema, known[version:])
        session.control("COMMIT")
    finally:
        session.end()
    return True


def schema_version(session: Session, schema: str, *, newest: int) -> int:
    """0 when it is absent or empty; raises where it is another program's, or a newer Headrace has written it."""
    tables = [row[0] for row in session.all(_HERE.tables, {"schema": schema})]
    if not tables:
        return 0
    found = session.one(_STORE.meta_value, {"name": "schema_version"}) if "meta" in tables else None
    if found is None:
        raise ConfigurationError(f"the schema {schema!r} of this database is not Headrace's; give another one")
    version = int(found[0])
    if version > newest:
        written_by = session.one(_STORE.meta_value, {"name": "written_by"})
        other = written_by[0] if written_by else "(unknown)"
        raise StoreTooNew(
            f"the schema {schema!r} has version {version}, written by Headrace {other}; this one knows versions up to "
            f"{newest}. Install Headrace {other} or newer"
        )
    return version


def _upgrade(session: Session, schema: str, pending: tuple[Migration, ...]) -> None:
    if session.one(_HERE.schema_exists, {"schema": schema}) is None:
        session.control(f'CREATE SCHEMA "{schema}"')
    for migration in pending:
        _apply(session, migration)
    for name, value in (("schema_version", str(pending[-1].number)), ("written_by", this_version())):
        session.run(_STORE.set_meta, {"name": name, "value": value})


def _apply(session: Session, migration: Migration) -> None:
    called = f"migration {migration.number:04}_{migration.name}"
    try:
        session.control(migration.sql)
    except StoreError as error:
        raise type(error)(f"{called} failed: {error}") from error
    if not session.in_transaction:
        raise StoreError(f"{called} ended the transaction; it must not")
