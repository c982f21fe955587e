from pathlib import Path

import pytest

from headrace._store.location import PostgresUrl, locate, without_secrets
from headrace.errors import ConfigurationError


def test_a_path_is_a_file_and_a_url_is_a_database() -> None:
    """Everything else that takes a store depends on telling them apart."""
    assert locate("runs.db") == Path("runs.db")
    assert locate("postgres:runs.db") == Path("postgres:runs.db")
    assert locate("postgres://host/runs", schema="mine") == PostgresUrl("postgres://host/runs", "mine")


@pytest.mark.parametrize(
    "url, shown",
    [
        ("postgresql://host/runs", "postgresql://host/runs"),
        ("postgresql://ann@host:5432/runs", "postgresql://ann@host:5432/runs"),
        ("postgresql://ann:sesame@host/runs", "postgresql://ann@host/runs"),  # pragma: allowlist secret
        ("postgresql://ann:ses@me?/:sesame@host/runs", "postgresql://ann@host/runs"),  # pragma: allowlist secret
        ("postgresql://host/runs?user=ann&password=sesame", "postgresql://host/runs?user=ann&password=***"),
        ("postgresql://host/runs?password=sesame&user=ann@home", "postgresql://host/runs@home"),
        ("postgresql://ann:sesame", "postgresql://ann"),
        ("postgresql:// ann:sesame@host:x:y/[", "postgresql:// ann@host:x:y/["),
        ("runs:sesame@home.db", "runs:sesame@home.db"),
    ],
)
def test_a_url_shows_no_password(url: str, shown: str) -> None:
    """It stands in every message, in the log and on the dashboard."""
    assert without_secrets(url) == shown
    if "://" in url:
        place = PostgresUrl(url)
        assert str(place) == shown
        assert "sesame" not in repr(place)


@pytest.mark.parametrize("schema", ["", "Mine", "pg_mine", "a-b", "1a", "a" * 64, 'a"; DROP SCHEMA b'])
def test_a_schema_has_a_plain_name(schema: str) -> None:
    """Names that need quotes are a trap for everybody who types SQL, and those that begin with pg_ are refused by the server."""
    with pytest.raises(ConfigurationError, match="cannot be the schema of a store"):
        PostgresUrl("postgresql://host/runs", schema)
