"""Who may open a store: whoever has every key that its values may be under."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace._base.vault import Vault, key_id
from headrace._ports.database import Statement
from headrace._store import migrate
from headrace._store.keyring import is_swept, keep_only, keys_in_use, missing_keys, note_swept
from headrace._store.migrate import Migration
from headrace._store.sqlite import open_sqlite, open_sqlite_reader
from headrace.errors import ConfigurationError, KeyMissing, StoreCorrupt

FIRST, SECOND, THIRD = (bytes([number]) * 32 for number in range(3))
META = Statement("meta", "SELECT name, value FROM meta")
SPOIL = Statement("spoil", "UPDATE meta SET value = :value WHERE name = :name")


async def used(path: Path, *keys: bytes) -> list[str]:
    """Open the store with these keys, and tell which ones it is under."""
    database = await open_sqlite(path, mode="test", vault=Vault(keys))
    found = database.read(keys_in_use)
    await database.close()
    return list(found)


async def test_a_store_may_get_a_key_later(tmp_path: Path) -> None:
    """Nobody knows at the beginning what the values will be."""
    path = tmp_path / "store.db"

    assert await used(path) == []
    assert await used(path, FIRST) == [key_id(FIRST)]
    assert await used(path, FIRST) == [key_id(FIRST)]


@pytest.mark.parametrize("keys", [(), (SECOND,), (SECOND, THIRD)], ids=["none", "another", "others"])
async def test_without_its_key_a_store_is_not_opened(tmp_path: Path, keys: tuple[bytes, ...]) -> None:
    """At the door, and not in the middle of a run; the error says which key it is."""
    path = tmp_path / "store.db"
    await used(path, FIRST)

    with pytest.raises(KeyMissing, match=key_id(FIRST)):
        await used(path, *keys)
    with pytest.raises(ConfigurationError, match="HEADRACE_STORE__KEY"):
        open_sqlite_reader(path, vault=Vault(keys))

    assert await used(path, FIRST) == [key_id(FIRST)]


async def test_a_new_key_needs_the_old_one_beside_it(tmp_path: Path) -> None:
    """Until everything is under the new one."""
    path = tmp_path / "store.db"
    await used(path, FIRST)

    assert sorted(await used(path, SECOND, FIRST)) == sorted([key_id(FIRST), key_id(SECOND)])
    with pytest.raises(KeyMissing, match=key_id(FIRST)):
        await used(path, SECOND)


async def test_who_is_refused_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older file would be upgraded by somebody who cannot even read it."""
    path = tmp_path / "store.db"
    await used(path, FIRST)
    before = path.read_bytes()
    newer = (*migrate.packaged(), Migration(number=len(migrate.packaged()) + 1, name="later", sql="CREATE TABLE t (x)"))
    monkeypatch.setattr(migrate, "packaged", lambda: newer)

    with pytest.raises(KeyMissing):
        await used(path)

    assert path.read_bytes() == before
    assert await used(path, FIRST) == [key_id(FIRST)]


async def test_a_veiled_reader_may_look(tmp_path: Path) -> None:
    """It sees what is not encrypted, and which keys it would need for the rest."""
    path = tmp_path / "store.db"
    await used(path, FIRST)

    with open_sqlite_reader(path, vault=Vault(veil=True)) as reader:
        assert reader.read(missing_keys) == (key_id(FIRST),)


async def test_the_check_value_shows_nothing_of_the_key(tmp_path: Path) -> None:
    """It stands in the file that the key protects."""
    path = tmp_path / "store.db"
    await used(path, FIRST)

    with open_sqlite_reader(path, vault=Vault(veil=True)) as reader:
        texts = [value for _, value in reader.read(lambda reader: reader.all(META))]
    assert [text for text in texts if FIRST.hex() in text or "headrace" in text] == []


async def test_a_damaged_check_value_is_damage(tmp_path: Path) -> None:
    """Not a wrong key, which would send somebody searching."""
    path = tmp_path / "store.db"
    database = await open_sqlite(path, mode="test", vault=Vault([FIRST]))
    spoilt = Vault([FIRST]).seal(b'"something else"').hex()
    await database.write(lambda tx: tx.run(SPOIL, {"name": f"key:{key_id(FIRST)}", "value": spoilt}))
    await database.close()

    with pytest.raises(StoreCorrupt, match=f"check value of key {key_id(FIRST)}"):
        await used(path, FIRST)


async def test_a_store_is_swept_until_another_key_writes(tmp_path: Path) -> None:
    """Whether the file has to be written anew once more depends on who was there since."""
    path = tmp_path / "store.db"
    database = await open_sqlite(path, mode="test", vault=Vault([FIRST, SECOND]))
    await database.write(lambda tx: note_swept(tx, key_id(FIRST)))
    await database.write(lambda tx: keep_only(tx, key_id(FIRST)))
    await database.close()

    async def swept(*keys: bytes) -> bool:
        database = await open_sqlite(path, mode="test", vault=Vault(keys))
        answer = database.read(lambda reader: is_swept(reader, key_id(FIRST)))
        await database.close()
        return answer

    assert [await swept(FIRST), await swept(SECOND, FIRST), await swept(FIRST, SECOND)] == [True, False, False]
