"""Examining a store in a database, and putting it under another key."""

from __future__ import annotations

import json

import pytest

from headrace._app.checks import questions
from headrace._app.keys import PLACES
from headrace._base.vault import Vault, key_id
from headrace._events.model import NewEvent, Subject, Verdict
from headrace._events.store import append, event_by_id
from headrace._ports.database import Statement
from headrace._store.blobs import ASIDE_OVER
from headrace._store.location import PostgresUrl
from headrace._store.migrate import packaged
from headrace._store.opening import open_store
from headrace._store.postgres import open_postgres, open_postgres_reader
from headrace._store.postgres_maintenance import check
from headrace._store.rotation import rotate_store
from headrace.errors import ConfigurationError, KeyMissing, StoreOwned

FIRST, SECOND = bytes(32), bytes([1]) * 32
SMALL = json.dumps("the crown jewels").encode()
LARGE = json.dumps("the crown jewels " * (ASIDE_OVER // 16)).encode()
GAP = Statement("gap", "UPDATE events SET seq = 7 WHERE id = 'small'")
DAMAGE = Statement("damage", "UPDATE events SET data = x'02' || substr(data, 2, 20) WHERE id = 'small'")
OCTETS = Statement("octets", "SELECT data FROM events ORDER BY id")


def new_event(name: str, data: bytes) -> NewEvent:
    return NewEvent(
        id=name, topic="a.b", subject=Subject("", "s"), data=data, source="", time=0, version=1, cause="", at=0
    )


async def filled(place: PostgresUrl, *keys: bytes) -> None:
    database = await open_postgres(place, vault=Vault(keys))
    for name, data in (("small", SMALL), ("large", LARGE)):
        await database.write(lambda tx: append(tx, new_event(name, data), Verdict()))  # noqa: B023 - awaited at once
    await database.close()


async def written(place: PostgresUrl, statement: Statement, *keys: bytes) -> None:
    database = await open_postgres(place, vault=Vault(keys))
    await database.write(lambda tx: tx.run(statement))
    await database.close()


def read_back(place: PostgresUrl, *keys: bytes) -> list[bytes]:
    with open_postgres_reader(place, vault=Vault(keys)) as reader:
        found = [reader.read(lambda rows: event_by_id(rows, name)) for name in ("small", "large")]  # noqa: B023
    return [record.data for record in found if record is not None]


@pytest.mark.parametrize("before", [(), (FIRST,)], ids=["from plain", "from a key"])
async def test_everything_is_under_the_new_key(postgres: PostgresUrl, before: tuple[bytes, ...]) -> None:
    """The old key can be thrown away, which is why it was changed."""
    await filled(postgres, *before)

    done = await rotate_store(postgres, Vault([SECOND, *before]), PLACES)
    again = await rotate_store(postgres, Vault([SECOND]), PLACES)

    assert (done.key, done.rewritten, done.written_anew) == (key_id(SECOND), 2, True)
    assert done.forgotten == tuple(map(key_id, before))
    assert (again.rewritten, again.written_anew) == (0, False)
    assert read_back(postgres, SECOND) == [SMALL, LARGE]
    with pytest.raises(KeyMissing):
        read_back(postgres)


async def test_nothing_is_put_under_another_key_while_somebody_writes(postgres: PostgresUrl) -> None:
    """What the owner writes meanwhile would stay under the old one."""
    owner = await open_store(postgres)

    with pytest.raises(StoreOwned):
        await rotate_store(postgres, Vault([FIRST]), PLACES)

    await owner.close()


async def test_a_sound_store_is_said_to_be(postgres: PostgresUrl) -> None:
    """With how much it has, so that an empty one is not taken for the right one."""
    await filled(postgres, FIRST)

    with_key = check(postgres, questions(), places=PLACES, vault=Vault([FIRST]))
    without = check(postgres, questions(), places=PLACES)

    assert (with_key.sound, with_key.rows["events"], with_key.rows["payloads"], with_key.unopened) == (True, 2, 1, 0)
    assert (without.sound, without.unopened) == (True, 2)
    assert with_key.schema == len(packaged())


@pytest.mark.parametrize("harm, found", [(GAP, "sequence_with_gap"), (DAMAGE, "value_is_whole")])
async def test_damage_is_named(postgres: PostgresUrl, harm: Statement, found: str) -> None:
    """The same questions as of a file, and every value is opened."""
    await filled(postgres, FIRST)
    await written(postgres, harm, FIRST)

    report = check(postgres, questions(), places=PLACES, vault=Vault([FIRST]))

    assert not report.sound
    assert [finding.check for finding in report.findings] == [found]


async def test_where_there_is_no_store_there_is_nothing_to_examine(postgres: PostgresUrl) -> None:
    """A misspelt name must not count as sound."""
    with pytest.raises(ConfigurationError, match="there is no store"):
        check(postgres)
