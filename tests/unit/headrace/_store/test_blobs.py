"""Values in rows: put aside when large, found again, and never taken for another one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from headrace._base.vault import Vault, key_id
from headrace._ports.database import Database, Statement
from headrace._store.blobs import ASIDE_OVER, naming, seal, seal_text, unseal, unseal_text
from headrace._store.location import Location
from headrace._store.opening import open_store
from headrace.errors import KeyMissing, StoreCorrupt

KEY, OTHER = bytes(range(32)), bytes(range(32, 64))
SMALL = b'{"name":"ann"}'
HUGE = json.dumps(list(range(ASIDE_OVER))).encode()
PAYLOADS = Statement("payloads", "SELECT hash, value FROM payloads ORDER BY hash")
OVERWRITE = Statement("overwrite", "UPDATE payloads SET value = :value WHERE hash = :hash")
FORGET = Statement("forget", "DELETE FROM payloads")


@pytest.fixture(params=[(), (KEY,)], ids=["plain", "encrypted"])
async def database(request: pytest.FixtureRequest, each_place: Location) -> AsyncIterator[Database]:
    database = await open_store(each_place, vault=Vault(request.param))
    yield database
    await database.close()


@pytest.fixture
async def encrypted(each_place: Location) -> AsyncIterator[Database]:
    database = await open_store(each_place, vault=Vault([KEY]))
    yield database
    await database.close()


@pytest.mark.parametrize("value", [None, b"null", SMALL, HUGE], ids=["none", "null", "small", "huge"])
async def test_what_is_sealed_is_unsealed(database: Database, value: bytes | None) -> None:
    """The one thing that every caller relies on."""
    stored = await database.write(lambda tx: seal(tx, value))

    assert database.read(lambda reader: unseal(reader, stored)) == value


async def test_a_huge_value_is_stored_once_and_small(database: Database) -> None:
    """A thousand runs over the same input must not make a thousand copies of it."""
    first = await database.write(lambda tx: seal(tx, HUGE))
    second = await database.write(lambda tx: seal(tx, HUGE))
    payloads = database.read(lambda reader: reader.all(PAYLOADS))

    assert first == second
    assert first is not None
    assert len(first) == 33
    assert len(payloads) == 1
    assert len(payloads[0][1]) < len(HUGE) / 2


async def test_a_value_that_is_gone_is_damage(database: Database) -> None:
    """It was there once, so nothing else can be true."""
    stored = await database.write(lambda tx: seal(tx, HUGE))
    await database.write(lambda tx: tx.run(FORGET))

    with pytest.raises(StoreCorrupt, match="is gone"):
        database.read(lambda reader: unseal(reader, stored))


async def test_exchanged_payloads_are_noticed(database: Database) -> None:
    """Each is whole and properly encrypted, but stands where the other one stood."""
    stored = await database.write(lambda tx: seal(tx, HUGE))
    await database.write(lambda tx: seal(tx, HUGE[::-1]))
    (one, value), (other, second) = database.read(lambda reader: reader.all(PAYLOADS))
    await database.write(lambda tx: tx.run(OVERWRITE, {"hash": one, "value": second}))
    await database.write(lambda tx: tx.run(OVERWRITE, {"hash": other, "value": value}))

    with pytest.raises(StoreCorrupt, match="another one"):
        database.read(lambda reader: unseal(reader, stored))


async def test_a_plain_value_in_an_encrypted_store_is_read(encrypted: Database) -> None:
    """A store may get its key later; what it had before stays readable."""
    assert encrypted.read(lambda reader: unseal(reader, SMALL)) == SMALL


@pytest.mark.parametrize("position", range(60))
async def test_a_flipped_bit_is_damage(encrypted: Database, position: int) -> None:
    """Also where the flip makes it look plain, put aside, or encrypted with a key that never was."""
    stored = await encrypted.write(lambda tx: seal(tx, SMALL))
    assert stored is not None

    for bit in range(8):
        changed = bytearray(stored)
        changed[position % len(stored)] ^= 1 << bit
        with pytest.raises(StoreCorrupt):
            encrypted.read(lambda reader: unseal(reader, bytes(changed)))  # noqa: B023 - called at once


async def test_a_key_that_the_store_knows_is_missed(encrypted: Database) -> None:
    """Only of such a key it makes sense to say that it should be given."""
    stored = await encrypted.write(lambda tx: seal(tx, SMALL))
    encrypted._reader._vault = Vault([OTHER])  # type: ignore[attr-defined]  # of a reader of files

    with pytest.raises(KeyMissing, match=key_id(KEY)):
        encrypted.read(lambda reader: unseal(reader, stored))


@pytest.mark.parametrize("text", ["", "ValueError: no such goal", "é" * 2_000], ids=["empty", "short", "long"])
async def test_texts_come_back(database: Database, text: str) -> None:
    """Why a run failed stands in a column of text."""
    stored = await database.write(lambda tx: seal_text(tx, text))

    assert database.read(lambda reader: unseal_text(reader, stored)) == text
    assert database.read(lambda reader: unseal_text(reader, text)) == text


async def test_texts_are_encrypted_where_values_are(encrypted: Database) -> None:
    """The message of an error repeats the values that it is about."""
    stored = await encrypted.write(lambda tx: seal_text(tx, "no such goal"))

    assert "goal" not in stored
    assert await encrypted.write(lambda tx: seal_text(tx, "")) == ""
    with pytest.raises(StoreCorrupt):
        encrypted.read(lambda reader: unseal_text(reader, stored[:-3] + "!!!"))


def test_damage_is_named() -> None:
    """Hexadecimal digits alone lead nobody to the run that is hurt."""
    with pytest.raises(StoreCorrupt, match=r"^run 'x' #1: it is hurt$"), naming(lambda: "run 'x' #1"):
        raise StoreCorrupt("it is hurt")
