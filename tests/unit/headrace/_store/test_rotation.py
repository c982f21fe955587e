"""Putting a store under another key: all of it, whatever interrupts it, and with nothing old left in the file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from headrace._base import faultpoints
from headrace._base.vault import Vault, key_id
from headrace._ports.database import Reader, Statement, Transaction
from headrace._store import connection, maintenance, rotation
from headrace._store.blobs import ASIDE_OVER, seal, seal_text, unseal, unseal_text
from headrace._store.keyring import keys_in_use
from headrace._store.places import Place
from headrace._store.rotation import rotate, rotate_store
from headrace._store.sqlite import SqliteDatabase, open_sqlite, open_sqlite_reader
from headrace.errors import ConfigurationError, KeyMissing, StoreBusy, StoreCorrupt, StoreError, StoreOwned

FIRST, SECOND = bytes(32), bytes([1]) * 32
CREATE = Statement("create", "CREATE TABLE notes (pk INTEGER PRIMARY KEY, value BLOB, text TEXT)")
INSERT = Statement("insert", "INSERT INTO notes (pk, value, text) VALUES (:pk, :value, :text)")
UPDATE = Statement("update", "UPDATE notes SET value = :value WHERE pk = :pk")
STORED = Statement("stored", "SELECT value, text FROM notes ORDER BY pk")
PAYLOADS = Statement("payloads", "SELECT hash, value FROM payloads")
PLACES = (Place("notes", key=("pk",), values=("value",), texts=("text",)),)

MARKER = b"the crown jewels"
NOTES = [
    json.dumps(text).encode()
    for text in ("one", "the crown jewels", "pages of " + "the crown jewels " * 300, "a book of " + "the crown jewels " * (ASIDE_OVER // 16))
]  # fmt: skip


def fill(tx: Transaction) -> None:
    tx.run(CREATE)
    for pk, value in enumerate([*NOTES, *NOTES]):
        text = value[:50].decode()
        tx.run(INSERT, {"pk": pk, "value": seal(tx, value), "text": seal_text(tx, text)})


def read_all(reader: Reader) -> list[tuple[bytes | None, str]]:
    return [(unseal(reader, value), unseal_text(reader, text)) for value, text in reader.all(STORED)]


EXPECTED = [(value, value[:50].decode()) for value in [*NOTES, *NOTES]]


async def filled(path: Path, *keys: bytes) -> None:
    database = await open_sqlite(path, mode="test", vault=Vault(keys))
    await database.write(fill)
    await database.close()


def opened(path: Path, *keys: bytes) -> list[tuple[bytes | None, str]]:
    with open_sqlite_reader(path, vault=Vault(keys)) as reader:
        return reader.read(read_all)


def everything_beside(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name))


@pytest.mark.parametrize("before", [(), (FIRST,)], ids=["from plain", "from a key"])
async def test_everything_is_under_the_new_key(tmp_path: Path, before: tuple[bytes, ...]) -> None:
    """The old key can be thrown away, which is why it was changed."""
    path = tmp_path / "store.db"
    await filled(path, *before)

    done = await rotate_store(path, Vault([SECOND, *before]), PLACES)

    assert (done.key, done.rewritten, done.written_anew) == (key_id(SECOND), 16, True)
    assert done.forgotten == tuple(map(key_id, before))
    assert opened(path, SECOND) == EXPECTED
    with open_sqlite_reader(path, vault=Vault([SECOND])) as reader:
        assert list(reader.read(keys_in_use)) == [key_id(SECOND)]
        assert len(reader.read(lambda reader: reader.all(PAYLOADS))) == 1


async def test_nothing_old_stays_in_the_file(tmp_path: Path) -> None:
    """SQLite frees pages and leaves what stood in them; there are programs that read such pages."""
    path = tmp_path / "store.db"
    await filled(path)
    assert MARKER in everything_beside(path)

    await rotate_store(path, Vault([FIRST]), PLACES)
    under_the_first = everything_beside(path)
    await rotate_store(path, Vault([SECOND, FIRST]), PLACES)
    under_the_second = everything_beside(path)

    assert MARKER not in under_the_first
    assert bytes.fromhex("02" + key_id(FIRST)) in under_the_first
    assert bytes.fromhex("02" + key_id(FIRST)) not in under_the_second


async def test_a_second_time_there_is_nothing_to_do(tmp_path: Path) -> None:
    """Whoever is not sure whether it was done may do it again."""
    path = tmp_path / "store.db"
    await filled(path)
    await rotate_store(path, Vault([FIRST]), PLACES)
    before = opened(path, FIRST)

    again = await rotate_store(path, Vault([FIRST]), PLACES)

    assert (again.rewritten, again.forgotten, again.written_anew) == (0, (), False)
    assert opened(path, FIRST) == before


class Killed(BaseException):
    """What happens to the process in these tests."""


async def interrupted(path: Path, commits: int) -> bool:
    """Rotate, and die at a commit; tells whether there were so many."""
    database = await open_sqlite(path, mode="test", vault=Vault([SECOND, FIRST]))
    left = commits

    def strike(point: str) -> None:
        nonlocal left
        if point == "store.before_commit":
            left -= 1
            if left == 0:
                database.abandon()

    faultpoints.arm(strike)
    rotating = asyncio.ensure_future(rotate(database, key_id(SECOND), PLACES, rows=2))
    try:
        while left > 0 and not rotating.done():
            await asyncio.wait([rotating], timeout=0.01)
    finally:
        faultpoints.arm(None)
    if left > 0:
        await rotating
        await database.close()
        return False
    rotating.cancel()
    await asyncio.to_thread(database._writer._thread.join)
    return True


@pytest.mark.parametrize("before", [(), (FIRST,)], ids=["from plain", "from a key"])
async def test_a_kill_at_any_slice_loses_nothing(
    tmp_path: Path, before: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rotation of a large store takes long, and long things are interrupted."""
    monkeypatch.setattr(rotation, "_PAYLOADS", 1)
    commits = 1
    while True:
        path = tmp_path / f"store-{commits}.db"
        await filled(path, *before)

        died = await interrupted(path, commits)

        assert opened(path, SECOND, FIRST) == EXPECTED
        done = await rotate_store(path, Vault([SECOND, FIRST]), PLACES)
        assert done.written_anew
        assert opened(path, SECOND) == EXPECTED
        assert MARKER not in everything_beside(path)
        assert bytes.fromhex("02" + key_id(FIRST)) not in everything_beside(path)
        if not died:
            break
        commits += 1
    assert commits > 7


async def test_a_kill_before_the_file_is_written_anew_is_made_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All values are under the new key then, and the freed pages have the old ones."""
    path = tmp_path / "store.db"
    await filled(path)

    def fails(*_: object) -> None:
        raise StoreError("killed")

    with monkeypatch.context() as patched, pytest.raises(StoreError, match="killed"):
        patched.setattr(maintenance, "write_anew", fails)
        await rotate_store(path, Vault([FIRST]), PLACES)
    assert MARKER in everything_beside(path)

    done = await rotate_store(path, Vault([FIRST]), PLACES)

    assert (done.rewritten, done.written_anew) == (0, True)
    assert MARKER not in everything_beside(path)


async def test_slices_may_be_run_again(tmp_path: Path) -> None:
    """The writer repeats operations when another one in their batch fails."""
    path = tmp_path / "store.db"
    await filled(path, FIRST)
    database = await open_sqlite(path, mode="test", vault=Vault([SECOND, FIRST]))

    def fails(tx: Transaction) -> None:
        tx.run(UPDATE, {"pk": 0, "value": None})
        raise LookupError("on purpose")

    async def disturb() -> None:
        while not rotating.done():
            with pytest.raises(LookupError):
                await database.write(fails)

    rotating = asyncio.ensure_future(rotate(database, key_id(SECOND), PLACES, rows=1))
    await disturb()
    await rotating
    await database.close()

    assert opened(path, SECOND) == EXPECTED


async def test_large_values_make_short_slices(tmp_path: Path) -> None:
    """A slice that rewrote gigabytes would hold everybody else up, and be lost as a whole."""
    database = await open_sqlite(tmp_path / "store.db", mode="test", vault=Vault(compress_over=10**9))
    await database.write(lambda tx: tx.run(CREATE))
    page = json.dumps("x" * 100_000).encode()
    for pk in range(50):
        await database.write(lambda tx, pk=pk: tx.run(INSERT, {"pk": pk, "value": page, "text": ""}))  # type: ignore[misc]

    first = database.read(lambda reader: rotation._read_slice(reader, PLACES[0], None, 500))  # type: ignore[arg-type]
    await database.close()

    assert 10 < len(first) < 30


@pytest.mark.parametrize(
    "keys,error",
    [((), ConfigurationError), ((SECOND,), KeyMissing)],
    ids=["no key", "not the old one"],
)
async def test_the_keys_that_it_takes_are_asked_for(
    tmp_path: Path, keys: tuple[bytes, ...], error: type[Exception]
) -> None:
    """Before anything is changed."""
    path = tmp_path / "store.db"
    await filled(path, FIRST)

    with pytest.raises(error):
        await rotate_store(path, Vault(keys), PLACES)

    assert opened(path, FIRST) == EXPECTED


async def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """A mistyped path would be reported as done."""
    with pytest.raises(ConfigurationError, match="there is no store"):
        await rotate_store(tmp_path / "other.db", Vault([FIRST]), PLACES)

    assert list(tmp_path.iterdir()) == []


async def test_an_owned_store_is_left_alone(tmp_path: Path) -> None:
    """Its owner goes on writing under the key that it was given."""
    path = tmp_path / "store.db"
    await filled(path, FIRST)
    owner = await open_sqlite(path, mode="test", vault=Vault([FIRST]))

    with pytest.raises(StoreOwned):
        await rotate_store(path, Vault([SECOND, FIRST]), PLACES)

    await owner.close()


async def test_what_is_being_read_is_not_called_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader keeps the log, and in it what the file had before."""
    path = tmp_path / "store.db"
    await filled(path)
    monkeypatch.setattr(connection, "BUSY_MILLISECONDS", 10)
    reader = connection.open_for_reading(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM notes").fetchall()

    with pytest.raises(StoreBusy, match="is being read"):
        await rotate_store(path, Vault([FIRST]), PLACES)
    reader.close(True)

    assert (await rotate_store(path, Vault([FIRST]), PLACES)).written_anew
    assert MARKER not in everything_beside(path)


async def test_a_damaged_value_is_named(tmp_path: Path) -> None:
    """It cannot be put under another key, and nobody should have to guess which one it is."""
    path = tmp_path / "store.db"
    await filled(path, FIRST)
    database: SqliteDatabase = await open_sqlite(path, mode="test", vault=Vault([FIRST]))
    await database.write(lambda tx: tx.run(UPDATE, {"pk": 3, "value": b"\x01gone"}))
    await database.close()

    with pytest.raises(StoreCorrupt, match=r"notes \(pk 3\)"):
        await rotate_store(path, Vault([SECOND, FIRST]), PLACES)
