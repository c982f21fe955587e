"""What a power loss at any moment leaves of a store."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from headrace._ports.database import Done, Statement, Transaction
from headrace._store import sqlite_medium
from headrace._store.connection import Mode
from headrace._store.sqlite import open_sqlite
from headrace.testing.disk import FakeDisk

CREATE = Statement("create", "CREATE TABLE notes (number INTEGER PRIMARY KEY, content BLOB NOT NULL)")
INSERT = Statement("insert", "INSERT INTO notes (number, content) VALUES (:number, :content)")
REWRITE = Statement("rewrite", "UPDATE notes SET content = :content WHERE number = :number")

SEEDS = range(400)
BURSTS = 60
MOST_PAGES = 25


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    number: int
    moment: int


def note(number: int, chance: random.Random) -> Callable[[Transaction], None]:
    content = chance.randbytes(chance.choice((10, 300, 9_000)))
    other = chance.randrange(max(1, number))

    def operation(tx: Transaction) -> None:
        tx.run(INSERT, {"number": number, "content": content})
        tx.run(REWRITE, {"number": other, "content": content[:200]})

    return operation


async def write_in_bursts(disk: FakeDisk, path: Path, mode: Mode) -> list[Acknowledged]:
    chance = random.Random(1)
    acknowledged: list[Acknowledged] = []

    def acknowledge(number: int) -> Done:
        return lambda result, error: acknowledged.append(Acknowledged(number=number, moment=disk.moment()))

    database = await open_sqlite(path, mode=mode, vfs=disk.vfs)
    await database.write(lambda tx: tx.run(CREATE))
    number = 0
    for _ in range(BURSTS):
        for _ in range(chance.randrange(8)):
            database.submit(note(number, chance), acknowledge(number))
            number += 1
        await database.write(lambda tx: None)
    await database.close()
    return acknowledged


def read_after_restart(path: Path) -> list[int]:
    """The numbers that are there, in a file that must be sound."""
    connection = apsw.Connection(str(path))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        tables = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'notes'").fetchone()
        if tables == (0,):
            return []
        return [int(str(number)) for (number,) in connection.execute("SELECT number FROM notes ORDER BY number")]
    finally:
        connection.close()


@dataclass(frozen=True, kw_only=True)
class Losses:
    lost: int
    restarts: int


async def lose_power_often(folder: Path, mode: Mode) -> Losses:
    """Cut the power once per seed; every file must be sound and hold a beginning of what was handed over."""
    (folder / "live").mkdir()
    with FakeDisk() as disk:
        acknowledged = await write_in_bursts(disk, folder / "live" / "store.db", mode)
        lost = 0
        for seed in SEEDS:
            moment = random.Random(seed).randrange(disk.moment() + 1)
            left = folder / str(seed)
            left.mkdir()
            disk.after_power_loss(left, at=moment, seed=seed)
            found = read_after_restart(left / "store.db")
            assert found == list(range(len(found))), f"seed {seed}: a later operation outlived an earlier one"
            promised = [answer.number for answer in acknowledged if answer.moment <= moment]
            lost += len(set(promised) - set(found))
    return Losses(lost=lost, restarts=len(SEEDS))


@pytest.fixture(autouse=True)
def checkpoint_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_medium, "_CHECKPOINT_PAGES", MOST_PAGES)


@pytest.mark.slow
async def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """The first promise of all: what was acknowledged is still there after the power has failed."""
    losses = await lose_power_often(tmp_path, "safe")

    assert losses == Losses(lost=0, restarts=len(SEEDS))


@pytest.mark.slow
async def test_the_fast_mode_loses_moments_but_no_soundness(tmp_path: Path) -> None:
    """`fast` may lose the last moments and never corrupts; that it does lose some shows that this disk can lose."""
    losses = await lose_power_often(tmp_path, "fast")

    assert losses.lost > 0


@pytest.mark.slow
async def test_without_syncs_the_fake_disk_corrupts(tmp_path: Path) -> None:
    """A fake disk that forgave missing syncs would make the other tests here worthless."""
    with pytest.raises((AssertionError, apsw.Error)):
        await lose_power_often(tmp_path, "test")
