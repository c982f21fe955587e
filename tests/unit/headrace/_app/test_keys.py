"""Which keys the settings name, and that no value stands where rotation would not find it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from headrace import Headrace, Pipeline
from headrace._app.keys import PLACES, keys_of, vault_of
from headrace._app.wiring import build
from headrace._base.vault import key_id, new_key
from headrace._ports.database import Statement
from headrace._store.sqlite import open_sqlite
from headrace.errors import ConfigurationError
from headrace.settings import Settings, StoreSettings

A, B, C = (new_key() for _ in range(3))
COLUMNS = Statement(
    "columns",
    "SELECT t.name, c.name, upper(c.type) FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'",
)
KEYS_OF_TABLES = {
    ("payloads", "hash"),
    ("payloads", "value"),
    ("tokens", "hash"),
    ("sessions", "hash"),
    ("idempotency", "hash"),
}


def store(key: str | None = None, key_file: Path | None = None, old_keys: str | None = None) -> StoreSettings:
    return StoreSettings(
        key=None if key is None else SecretStr(key),
        key_file=key_file,
        old_keys=None if old_keys is None else SecretStr(old_keys),
    )


def test_the_key_comes_first_and_old_ones_after_it() -> None:
    """The first one encrypts."""
    assert keys_of(store()) == ()
    assert keys_of(store(A)) == (A,)
    assert keys_of(store(f" {A}\n", old_keys=f"{B}, {C},")) == (A, B, C)
    assert vault_of(store(A, old_keys=B)).key_ids == (key_id(A), key_id(B))


def test_a_key_that_is_also_an_old_one_counts_once() -> None:
    """Whoever appends and forgets to remove has done no harm."""
    assert keys_of(store(A, old_keys=f"{B},{A}")) == (A, B)


def test_keys_may_come_from_a_file(tmp_path: Path) -> None:
    """That is how container platforms hand secrets over."""
    file = tmp_path / "key"
    file.write_text(f"{A}\n\n{B}\n")

    assert keys_of(store(key_file=file)) == (A, B)
    assert keys_of(store(key_file=file, old_keys=C)) == (A, B, C)


@pytest.mark.parametrize(
    "given,complaint",
    [
        (store("swordfish"), "HEADRACE_STORE__KEY is not 32 bytes"),
        (store(A, old_keys="swordfish"), "HEADRACE_STORE__OLD_KEYS is not 32 bytes"),
        (store(A, old_keys=f"{B},swordfish"), "HEADRACE_STORE__OLD_KEYS, number 2, is not 32 bytes"),
        (store(old_keys=A), "there is no first key"),
        (store(A, Path("key")), "choose one"),
        (store(key_file=Path("nowhere")), "HEADRACE_STORE__KEY_FILE=nowhere cannot be read"),
    ],
    ids=["key", "old key", "second old key", "only old keys", "both", "no file"],
)
def test_what_cannot_be_right_is_refused(given: StoreSettings, complaint: str) -> None:
    """Working on without encryption would be the worst answer; repeating the secret the second worst."""
    with pytest.raises(ConfigurationError, match=complaint) as refused:
        keys_of(given)

    assert "swordfish" not in str(refused.value)
    assert A not in str(refused.value)


def test_an_empty_key_file_is_refused(tmp_path: Path) -> None:
    """A secret that was not mounted must not turn encryption off."""
    file = tmp_path / "key"
    file.write_text("\n")

    with pytest.raises(ConfigurationError, match="is not 32 bytes"):
        keys_of(store(key_file=file))


async def test_settings_reach_the_store(tmp_path: Path) -> None:
    """A setting that is read and not used would leave everything in the open."""
    settings = Settings(store=StoreSettings(path=tmp_path / "store.db", key=SecretStr(A)))

    async with build([Pipeline("empty", flows=[])], settings) as app:
        assert app.database.read(lambda reader: reader.vault.key_ids) == (key_id(A),)


def test_an_application_shows_no_key() -> None:
    """It is printed by debuggers and by tests that fail."""
    app = Headrace([Pipeline("empty", flows=[])], store="store.db", keys=[A])

    assert A not in repr(app) + repr(vars(app))


async def test_every_value_has_its_place(tmp_path: Path) -> None:
    """A column that is left out keeps its old key, and what it had put aside is deleted at the end of the rotation."""
    database = await open_sqlite(tmp_path / "store.db", mode="test")
    columns = database.read(lambda reader: reader.all(COLUMNS))
    await database.close()

    blobs = {(table, column) for table, column, kind in columns if kind == "BLOB"} - KEYS_OF_TABLES
    placed = {(place.table, column) for place in PLACES for column in place.values}
    texts = {(place.table, column) for place in PLACES for column in place.texts}

    assert placed == blobs
    assert texts <= {(table, column) for table, column, kind in columns if kind == "TEXT"}
