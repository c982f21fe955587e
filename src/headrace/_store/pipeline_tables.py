"""Tables that pipelines bring along: packaged migrations, numbered and forward-only, prefixed by the pipeline's name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import zip_longest

from headrace._ports.database import Reader, Statement, Transaction
from headrace._store.postgres_text import definitions_rewritten
from headrace._store.statements import load
from headrace.errors import DefinitionError, StoreTooNew

_QUERIES = load("headrace._store", "store.sql")
_NOTHING = "SELECT 1"
_FILE_NAME = re.compile(r"^(\d{4})_(\w+)\.sql$")
_MAKES = re.compile(
    r"\bCREATE\s+(?:UNIQUE\s+)?(?:TABLE|INDEX|VIEW|TRIGGER)\s+(?:IF\s+NOT\s+EXISTS\s+)?(\w+)", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class TableSet:
    """The tables of one pipeline: what each migration runs, in order."""

    owner: str
    migrations: tuple[tuple[Statement, ...], ...]


def load_tables(package: str, *, owner: str) -> TableSet:
    """Read ``migrations/NNNN_name.sql`` of a package; everything that they make must begin with the owner's name.

    They are written for SQLite, and rewritten for Postgres; where that is not enough, ``migrations/postgres`` has one of the same name.
    """
    found: dict[int, tuple[Statement, ...]] = {}
    folder = resources.files(package).joinpath("migrations")
    if not folder.is_dir():
        raise DefinitionError(f"pipeline {owner!r}: package {package!r} has no folder 'migrations'")
    texts, variants = _texts(folder, owner), _texts(folder.joinpath("postgres"), owner)
    for name, sql in texts.items():
        found[int(name[:4])] = tuple(_statements(sql, variants.pop(name, None), f"{owner}/{name}"))
    for name in variants:
        raise DefinitionError(
            f"pipeline {owner!r}: migrations/postgres/{name} is for Postgres alone; a variant bears the name of its migration"
        )
    if not found or sorted(found) != list(range(1, len(found) + 1)):
        raise DefinitionError(
            f"pipeline {owner!r}: the migrations of {package} are not numbered 0001, 0002, ... without a gap"
        )
    return TableSet(owner=owner, migrations=tuple(found[number] for number in sorted(found)))


def _texts(folder: Traversable, owner: str) -> dict[str, str]:
    found = {}
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name) if folder.is_dir() else ():
        if _FILE_NAME.match(entry.name):
            found[entry.name] = entry.read_text(encoding="utf-8")
            _check_names(found[entry.name], owner, entry.name)
    return found


def _check_names(sql: str, owner: str, file: str) -> None:
    for name in _MAKES.findall(_without_comments(sql)):
        if not name.lower().startswith(f"{owner}_"):
            raise DefinitionError(
                f"pipeline {owner!r}: {file} makes {name!r}; its name has to begin with '{owner}_', so that pipelines do not meet"
            )


def _statements(sql: str, postgres: str | None, origin: str) -> Iterator[Statement]:
    """A script as single statements; where one database needs fewer than the other, it is asked for nothing instead."""
    texts = list(_split(sql))
    variants = [definitions_rewritten(text) for text in (texts if postgres is None else _split(postgres))]
    for number, (text, variant) in enumerate(zip_longest(texts, variants, fillvalue=_NOTHING), 1):
        yield Statement(f"{origin}#{number}", text, variant)


def _split(sql: str) -> list[str]:
    """Each statement ends with a semicolon at the end of a line."""
    return [part.strip() for part in re.split(r";[ \t]*(?:\n|$)", _without_comments(sql)) if part.strip()]


def _without_comments(sql: str) -> str:
    return re.sub(r"--[^\n]*", "", sql)


def check(reader: Reader, sets: Iterable[TableSet]) -> None:
    """Raise where the tables of pipelines are not those that this code knows; for processes that are not to change them."""
    for tables in sets:
        version, newest = _version(reader, tables), len(tables.migrations)
        if version != newest:
            todo = "start their owner with this code first" if version < newest else "run the newer code here, too"
            raise StoreTooNew(
                f"the tables of pipeline {tables.owner!r} have version {version}, and this code needs {newest}; {todo}"
            )


def _version(reader: Reader, tables: TableSet) -> int:
    row = reader.one(_QUERIES.meta_value, {"name": f"tables:{tables.owner}"})
    return 0 if row is None else int(row[0])


def upgrade(tx: Transaction, sets: Iterable[TableSet]) -> None:
    """Bring the tables of pipelines up to date."""
    for tables in sets:
        name, newest = f"tables:{tables.owner}", len(tables.migrations)
        version = _version(tx, tables)
        if version > newest:
            raise StoreTooNew(
                f"the tables of pipeline {tables.owner!r} have version {version}, and this code knows {newest}; run the newer code"
            )
        for migration in tables.migrations[version:]:
            for statement in migration:
                tx.run(statement)
        if version != newest:
            tx.run(_QUERIES.set_meta, {"name": name, "value": str(newest)})
