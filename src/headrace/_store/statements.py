"""Named SQL from ``.sql`` files.

-- name: insert_run
-- One or more lines that say what the statement is for.
INSERT INTO runs ...

A text is for every dialect, unless a second section of the same name says ``-- dialect: postgres`` (or ``sqlite``); then
that one is for its dialect and the other for the rest. Most statements need no second section: ``docs/explanation/sql.md``
has the subset that both databases speak.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from headrace._ports.database import Statement
from headrace.errors import DefinitionError

_DIALECTS = ("sqlite", "postgres")
_NAME = re.compile(r"^-- name:\s*(\S+)\s*$")
_DIALECT = re.compile(r"^-- dialect:\s*(\S+)\s*$")


class Statements:
    """Statements by name, as attributes or items; take them at import, so that a misspelt name fails there."""

    def __init__(self, origin: str, statements: dict[str, Statement]) -> None:
        self._origin = origin
        self._statements = statements

    def __getattr__(self, name: str) -> Statement:
        statement = self.__dict__.get("_statements", {}).get(name)
        if statement is None:
            raise AttributeError(self._unknown(name))
        assert isinstance(statement, Statement)
        return statement

    def __getitem__(self, name: str) -> Statement:
        if name not in self._statements:
            raise KeyError(self._unknown(name))
        return self._statements[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)

    def __len__(self) -> int:
        return len(self._statements)

    def _unknown(self, name: str) -> str:
        known = self.__dict__.get("_statements", {})
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(sorted(known)) or 'none'}"
        return f"{self.__dict__.get('_origin', '?')} has no statement {name!r}{hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    name: str
    dialect: str | None
    sql: str


def load(package: str, file: str = "queries.sql") -> Statements:
    """Read the named statements of a package's file."""
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    return parse(text, origin=f"{package}/{file}")


def load_statements(package: str, file: str = "queries.sql") -> Statements:
    """The named SQL statements of a package's file, as attributes: ``-- name: find_game``, a line that says what it is for, the text."""
    return load(package, file)


def parse(text: str, *, origin: str) -> Statements:
    texts: dict[str, dict[str | None, str]] = {}
    for section in _sections(text, origin):
        variants = texts.setdefault(section.name, {})
        if section.dialect in variants:
            raise DefinitionError(f"{origin} has two statements {section.name!r}; rename one")
        variants[section.dialect] = section.sql
    return Statements(origin, {name: _statement(name, variants, origin) for name, variants in texts.items()})


def _statement(name: str, variants: dict[str | None, str], origin: str) -> Statement:
    for_all = variants.get(None)
    sqlite, postgres = (variants.get(dialect, for_all) for dialect in _DIALECTS)
    if sqlite is None or postgres is None:
        missing = "sqlite" if sqlite is None else "postgres"
        raise DefinitionError(
            f"{origin}: statement {name!r} has no text for {missing}; add a section without a dialect"
        )
    return Statement(name, sqlite, None if postgres == sqlite else postgres)


def _sections(text: str, origin: str) -> Iterator[_Section]:
    name: str | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _NAME.match(line)
        if match:
            if name is not None:
                yield _section(name, lines, origin)
            name, lines = match[1], []
        elif name is not None:
            lines.append(line)
        elif line.strip() and not line.startswith("--"):
            raise DefinitionError(f"{origin}:{number}: SQL before the first `-- name:` line")
    if name is not None:
        yield _section(name, lines, origin)


def _section(name: str, lines: list[str], origin: str) -> _Section:
    dialect: str | None = None
    purpose = False
    start = 0
    for line in lines:
        if line.strip() and not line.startswith("--"):
            break
        start += 1
        match = _DIALECT.match(line)
        if match:
            dialect = match[1]
        elif line.startswith("--"):
            purpose = True
    sql = "\n".join(lines[start:]).strip().removesuffix(";")
    if dialect not in (None, *_DIALECTS):
        raise DefinitionError(f"{origin}: statement {name!r} is for the unknown dialect {dialect!r}")
    if not purpose:
        raise DefinitionError(f"{origin}: statement {name!r} has no line that says what it is for")
    if not sql:
        raise DefinitionError(f"{origin}: statement {name!r} has no SQL")
    return _Section(name=name, dialect=dialect, sql=sql)
