"""Statements as psycopg and Postgres read them: what SQLite writes otherwise is rewritten once per statement.

``:name`` becomes ``%(name)s``, and ``x'00'``, which is a string of bits in Postgres, becomes a value of bytes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from headrace._ports.database import Statement

_TOKEN = re.compile(
    r"""
      \b[xX]'(?P<bytes>[0-9A-Fa-f]*)'
    | (?P<kept>
        '(?:[^']|'')*'                          # text; a quote in it is doubled
      | "(?:[^"]|"")*"                          # a name in quotes
      | --[^\n]*
      | /\*.*?\*/
      | \$(?P<tag>[A-Za-z_]*)\$.*?\$(?P=tag)\$  # text of a function
      | ::                                      # a cast
      )
    | :(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    """,
    re.VERBOSE | re.DOTALL,
)
_CHANGES = re.compile(r"\b(INSERT|UPDATE|DELETE|MERGE)\b", re.IGNORECASE)


class PostgresText(NamedTuple):
    """What is sent, and whether it may change something."""

    sql: str
    changes: bool


@cache
def text_of(statement: Statement) -> PostgresText:
    sql = rewritten(statement.sql if statement.postgres is None else statement.postgres)
    return PostgresText(sql, _CHANGES.search(sql) is not None)


def rewritten(sql: str) -> str:
    # psycopg reads every percent sign, also those in texts and comments.
    return _TOKEN.sub(_replace, sql.replace("%", "%%"))


def _replace(token: re.Match[str]) -> str:
    if token["kept"] is not None:
        return token["kept"]
    if token["bytes"] is not None:
        return rf"'\x{token['bytes']}'::bytea"
    return f"%({token['name']})s"
