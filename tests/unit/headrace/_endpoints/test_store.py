"""Endpoints as rows: their secrets, and the subscription that comes and goes with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace._app.keys import PLACES
from headrace._base.vault import Vault, new_key
from headrace._endpoints import store
from headrace._endpoints.model import Attempted, NewEndpoint
from headrace._events.store import all_cursors
from headrace._ports.database import Database
from headrace._store.rotation import rotate_store
from headrace._store.sqlite import open_sqlite
from headrace.errors import Conflict, NotFound, ValueRefused

NEW = NewEndpoint(
    name="billing", url="https://example.org/hooks/open-sesame", topics=("a.#", "b"), filter="data > 1", allow_private=False
)  # fmt: skip
SECRET, NEXT = "whsec_b25lb25lb25l", "whsec_dHdvdHdvdHdv"
OLD_KEY, KEY = new_key(), new_key()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await open_sqlite(tmp_path / "a.db")
    yield opened
    await opened.close()


async def test_what_is_added_is_read_back(database: Database) -> None:
    """With all that a person said."""
    made = await database.write(lambda tx: store.add_endpoint(tx, NEW, SECRET, 7))
    found = database.read(lambda reader: store.endpoint(reader, "billing"))

    assert found == made
    assert (found.url, found.topics, found.filter, found.created_at) == (NEW.url, NEW.topics, NEW.filter, 7)
    assert (found.enabled, found.last, found.failures, found.secrets_at(8)) == (True, None, 0, (SECRET,))


async def test_an_endpoint_and_its_subscription_are_one(database: Database) -> None:
    """One without the other would send nothing, or for nobody."""
    await database.write(lambda tx: store.add_endpoint(tx, NEW, SECRET, 7))
    made = database.read(all_cursors)
    disabled = await database.write(lambda tx: store.disable_endpoint(tx, "billing", "gone", 8))
    again = await database.write(lambda tx: store.disable_endpoint(tx, "billing", "by hand", 9))
    paused = database.read(all_cursors)
    await database.write(lambda tx: store.enable_endpoint(tx, "billing"))
    resumed = database.read(all_cursors)
    await database.write(lambda tx: store.remove_endpoint(tx, "billing", 10))

    assert [cursor.paused for cursors in (made, paused, resumed) for cursor in cursors["webhook:billing"]] == [False, True, False]  # fmt: skip
    assert (disabled.reason, again.reason, again.disabled_at) == ("gone", "gone", 8)
    assert database.read(all_cursors) == {}
    assert database.read(store.endpoints) == []


async def test_nobody_else_of_that_name(database: Database) -> None:
    """And what is refused leaves nothing."""
    await database.write(lambda tx: store.add_endpoint(tx, NEW, SECRET, 7))
    with pytest.raises(Conflict, match="'billing' already"):
        await database.write(lambda tx: store.add_endpoint(tx, NEW, NEXT, 8))
    odd = NewEndpoint(name="x", url=NEW.url, topics=("#",) * 51, filter="", allow_private=False)
    with pytest.raises(ValueRefused):
        await database.write(lambda tx: store.add_endpoint(tx, odd, NEXT, 8))
    with pytest.raises(NotFound, match="headrace webhooks ls"):
        database.read(lambda reader: store.endpoint(reader, "nobody"))

    assert [found.secret for found in database.read(store.endpoints)] == [SECRET]


async def test_the_secret_before_signs_until_its_time_is_over(database: Database) -> None:
    """Not a moment longer."""
    await database.write(lambda tx: store.add_endpoint(tx, NEW, SECRET, 7))
    rotated = await database.write(lambda tx: store.rotate_secret(tx, "billing", NEXT, until=100))

    assert rotated.secrets_at(99) == (NEXT, SECRET)
    assert rotated.secrets_at(100) == (NEXT,)
    assert SECRET not in repr(rotated)
    assert NEXT not in repr(rotated)


async def test_failures_are_counted_until_one_goes_well(database: Database) -> None:
    """An operator wants to know since when."""
    await database.write(lambda tx: store.add_endpoint(tx, NEW, SECRET, 7))
    counted = []
    for error in ("no", "no", "", "no"):
        attempted = Attempted(at=8, event="e", topic="a", status=None, error=error)
        await database.write(lambda tx, attempted=attempted: store.note_attempt(tx, "billing", attempted))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        found = database.read(lambda reader: store.endpoint(reader, "billing"))
        assert found.last == attempted
        counted.append(found.failures)

    assert counted == [1, 2, 0, 1]


async def test_secrets_and_addresses_are_sealed_and_follow_the_key(tmp_path: Path) -> None:
    """A copy of the file gives nobody the means to speak in our name; a change of the key forgets none of them."""
    path = tmp_path / "sealed.db"
    database = await open_sqlite(path, vault=Vault([OLD_KEY]))
    await database.write(lambda tx: store.add_endpoint(tx, NEW, SECRET, 7))
    await database.write(lambda tx: store.rotate_secret(tx, "billing", NEXT, until=100))
    await database.close()
    stored = path.read_bytes()
    await rotate_store(path, Vault([KEY, OLD_KEY]), PLACES)
    database = await open_sqlite(path, vault=Vault([KEY]))
    found = database.read(lambda reader: store.endpoint(reader, "billing"))
    await database.close()

    assert [word for word in (SECRET, NEXT, "open-sesame") if word.encode() in stored] == []
    assert (found.url, found.secrets_at(8)) == (NEW.url, (NEXT, SECRET))
