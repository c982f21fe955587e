"""Where a store is: a file, or a schema of a Postgres database."""

from __future__ import annotations

import os
import re
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import ConfigurationError

SCHEMA = "headrace"
_SCHEMES = ("postgresql://", "postgres://")
_SCHEMA_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
_SECRET = re.compile("password|secret", re.IGNORECASE)
_NO_PORT = re.compile(r":(?!\d+(?:[,/]|$))[^,/]*")
_HIDDEN = "***"


@dataclass(frozen=True, slots=True, repr=False)
class PostgresUrl:
    """A URL as libpq reads it. As text it has no password, so that it may stand in messages and logs."""

    secret: str
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        if not _SCHEMA_NAME.fullmatch(self.schema):
            raise ConfigurationError(
                f"{self.schema!r} cannot be the schema of a store: use small letters, digits and _, and begin with a letter"
            )

    def __str__(self) -> str:
        return without_secrets(self.secret)

    def __repr__(self) -> str:
        return f"<{self}, schema {self.schema}>"


Location = Path | PostgresUrl


def locate(given: str | os.PathLike[str] | PostgresUrl, *, schema: str = SCHEMA) -> Location:
    """What a path or a URL stands for."""
    if isinstance(given, PostgresUrl):
        return given
    if isinstance(given, str) and is_url(given):
        return PostgresUrl(given, schema)
    return Path(given)


def is_url(text: str) -> bool:
    return text.startswith(_SCHEMES)


def without_secrets(text: str) -> str:
    """A URL that people may read; any other text stays what it is."""
    if not is_url(text):
        return text
    # By hand, since a URL that nobody can read has to be hidden all the same: up to the last @ is who logs in.
    scheme, _, rest = text.partition("://")
    login, at, place = rest.rpartition("@")
    user = re.split("[:?]", login)[0]
    host, question, query = place.partition("?")
    if not at and "[" not in host:  # a password without a host after it stands where the port should be
        host = _NO_PORT.sub("", host)
    return f"{scheme}://{user}{at}{host}{question}{_public(query)}"


def _public(query: str) -> str:
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    shown = [(name, _HIDDEN if _SECRET.search(name) else value) for name, value in pairs]
    return urllib.parse.urlencode(shown, safe="*/")
