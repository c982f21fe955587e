"""Examining a store in a Postgres database while its owner runs, and leaving nothing in it but what is in its tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from headrace._base.vault import PLAIN, Vault
from headrace._ports.database import Reader, Statement, Transaction
from headrace._store import postgres_ownership as ownership
from headrace._store.location import PostgresUrl
from headrace._store.maintenance import MOST_FINDINGS, Finding, Report, ValuesCheck
from headrace._store.places import Place
from headrace._store.postgres import PostgresReader
from headrace._store.postgres_connection import Session, connect
from headrace._store.statements import load
from headrace.errors import StoreCorrupt

_HERE = load("headrace._store", "postgres.sql")
_STORE = load("headrace._store", "store.sql")


def check(
    place: PostgresUrl,
    questions: Mapping[str, Statement] | None = None,
    *,
    places: Sequence[Place] = (),
    vault: Vault = PLAIN,
) -> Report:
    """What ``maintenance.check`` does with a file. Pages and indexes are the server's affair, which has pg_amcheck for them."""
    with PostgresReader(place, vault=vault) as opened:
        opened.check_schema()
        return opened.read(lambda reader: _examine(reader, place, questions or {}, ValuesCheck(reader, places)))


def _examine(reader: Reader, place: PostgresUrl, questions: Mapping[str, Statement], values: ValuesCheck) -> Report:
    findings: list[Finding] = []
    rows: dict[str, int] = {}
    version = reader.one(_STORE.meta_value, {"name": "schema_version"})
    try:
        rows = count_rows(reader, place)
        for name, statement in questions.items():
            answers = itertools.islice(reader.all(statement), MOST_FINDINGS)
            findings += [Finding(check=name, detail=repr(answer)) for answer in answers]
        findings += itertools.islice(values.findings(), MOST_FINDINGS)
    except StoreCorrupt as damage:
        # What else the database holds cannot be read.
        findings.append(Finding(check="readable", detail=str(damage)))
    return Report(
        path=place,
        schema=0 if version is None else int(version[0]),
        rows=rows,
        findings=tuple(findings),
        unopened=values.unopened,
    )


def count_rows(reader: Reader, place: PostgresUrl) -> dict[str, int]:
    found = {}
    for (table,) in reader.all(_HERE.tables, {"schema": place.schema}):
        row = reader.one(Statement(f"count_{table}", f"SELECT count(*) FROM {_quoted(table)}"))
        found[str(table)] = int(row[0]) if row else 0
    return found


def write_anew(place: PostgresUrl, vault: Vault, note: Callable[[Transaction], None]) -> None:
    """Own a schema and leave nothing in its tables but what can be read from them, then ``note`` that."""
    session = Session(connect(place, writes=True), vault)
    try:
        ownership.lock(session, place)
        for (table,) in session.all(_HERE.tables, {"schema": place.schema}):
            session.control(f"VACUUM (FULL) {_quoted(table)}")
        session.control("BEGIN")
        note(session)
        session.control("COMMIT")
        ownership.let_go(session, place)
    finally:
        session.end()
        session.connection.close()


def drop(place: PostgresUrl) -> None:
    """Take a schema away with all that is in it."""
    session = Session(connect(place, writes=True))
    try:
        session.control(f"DROP SCHEMA IF EXISTS {_quoted(place.schema)} CASCADE")
    finally:
        session.connection.close()


def _quoted(table: str) -> str:
    return '"' + table.replace('"', '""') + '"'
