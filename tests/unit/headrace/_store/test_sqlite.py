import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from headrace._base import faultpoints
from headrace._ports.database import Reader, Statement
from headrace._store import migrate
from headrace._store.ownership import lock_path, read_owner
from headrace._store.sqlite import open_sqlite, open_sqlite_reader
from headrace.errors import ConfigurationError, StoreBusy, StoreLost, StoreOwned

CREATE = Statement("create", "CREATE TABLE IF NOT EXISTS notes (pk INTEGER PRIMARY KEY, text TEXT NOT NULL)")
INSERT = Statement("insert", "INSERT INTO notes (text) VALUES ('note')")
COUNT = Statement("count", "SELECT count(*) FROM notes")


def count(reader: Reader) -> int:
    row = reader.one(COUNT)
    assert row is not None
    return int(row[0])


@pytest.fixture(autouse=True)
def disarm() -> Iterator[None]:
    yield
    faultpoints.arm(None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


async def test_the_file_has_one_owner(path: Path) -> None:
    """Two writers would each believe that they alone decide."""
    database = await open_sqlite(path)

    with pytest.raises(StoreOwned):
        await open_sqlite(path)

    await database.close()


async def test_a_refused_opening_harms_no_owner(path: Path) -> None:
    """Whoever tried in vain must not have raised the epoch or dropped a lock."""
    database = await open_sqlite(path)
    with pytest.raises(StoreOwned):
        await open_sqlite(path)

    await database.write(lambda tx: tx.run(CREATE))

    assert read_owner(path) is not None
    await database.close()


async def test_an_opening_that_nobody_waits_for_lets_go(path: Path) -> None:
    """A start that was interrupted must not keep the next one out."""
    opening = asyncio.ensure_future(open_sqlite(path))
    await asyncio.sleep(0)  # noqa: TID251  lets the opening begin
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    database = await open_sqlite(path)

    await database.close()


async def test_each_opening_raises_the_epoch(path: Path) -> None:
    """The epoch tells an owner that it has been replaced."""
    epochs = []
    for _ in range(3):
        database = await open_sqlite(path)
        epochs.append(database.epoch)
        await database.close()

    assert epochs == [1, 2, 3]


async def test_who_lost_the_file_cannot_write(path: Path) -> None:
    """A process that slept while another took over would write into a world that is not its own."""
    database = await open_sqlite(path)
    await database.write(lambda tx: tx.run(CREATE))
    lock_path(path).unlink()
    successor = await open_sqlite(path)

    with pytest.raises(StoreLost):
        await database.write(lambda tx: tx.run(INSERT))
    with pytest.raises(StoreLost):
        await database.write(lambda tx: tx.run(INSERT))
    await successor.write(lambda tx: tx.run(INSERT))

    assert successor.read(count) == 1
    await database.close()
    await successor.close()


@pytest.mark.allow_blocking
async def test_the_file_knows_how_it_was_left(path: Path) -> None:
    """After a crash the owner looks closer before it goes on."""
    database = await open_sqlite(path)
    first = database.left_in_order
    database.abandon()
    database = await open_sqlite(path)
    after_crash = database.left_in_order
    await database.close()
    database = await open_sqlite(path)
    after_closing = database.left_in_order
    await database.close()

    assert (first, after_crash, after_closing) == (True, False, True)


async def test_closing_leaves_one_file(path: Path) -> None:
    """Users copy and mail what looks like one file."""
    database = await open_sqlite(path)
    await database.write(lambda tx: tx.run(CREATE))
    database.read(count)
    await database.close()

    assert sorted(entry.name for entry in path.parent.iterdir()) == ["store.db", "store.db.lock"]


async def test_the_safe_mode_syncs_every_commit(path: Path) -> None:
    """One pragma is the whole difference between a promise and a hope."""
    row = Statement("synchronous", "PRAGMA synchronous")
    levels = []
    for mode in ("safe", "fast", "test"):
        database = await open_sqlite(path, mode=mode)
        levels.append(await database.write(lambda tx: tx.one(row)))
        await database.close()

    assert levels == [(2,), (1,), (0,)]


async def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    """A mistyped path should not make folders."""
    with pytest.raises(ConfigurationError, match="does not exist"):
        await open_sqlite(tmp_path / "nowhere" / "store.db")


async def test_a_foreign_file_is_not_owned(path: Path) -> None:
    """A refused opening must let go of its lock."""
    path.write_text("dear diary")
    with pytest.raises(ConfigurationError):
        await open_sqlite(path)

    assert read_owner(path) is None


async def test_an_older_file_is_kept_before_its_upgrade(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants to go back needs the file as it was, with all that was committed."""
    database = await open_sqlite(path)
    await database.write(lambda tx: tx.run(CREATE))
    await database.write(lambda tx: tx.run(INSERT))
    await database.close()
    more = migrate.Migration(number=len(migrate.packaged()) + 1, name="more", sql="DROP TABLE notes")
    newer = (*migrate.packaged(), more)
    monkeypatch.setattr(migrate, "packaged", lambda package="": newer)

    database = await open_sqlite(path)
    schema = database.schema
    await database.close()

    with open_sqlite_reader(path.with_name(f"store.db.before-v{schema}")) as reader:
        assert reader.read(count) == 1


async def test_readers_need_no_owner(path: Path) -> None:
    """The command line lists runs whether somebody owns the file or not."""
    database = await open_sqlite(path)
    await database.write(lambda tx: tx.run(CREATE))
    with open_sqlite_reader(path) as reader:
        beside = reader.read(count)
    await database.close()
    with open_sqlite_reader(path) as reader:
        alone = reader.read(count)

    assert (beside, alone) == (0, 0)


def test_readers_make_no_file(path: Path) -> None:
    """Looking at nothing must not make an empty store."""
    with pytest.raises(ConfigurationError, match="there is no store"):
        open_sqlite_reader(path)

    assert not path.exists()


async def test_a_strangers_lock_passes(path: Path) -> None:
    """Somebody with a shell in the file delays work; it must go on when they have left."""
    database = await open_sqlite(path)
    await database.write(lambda tx: tx.run(CREATE))
    await database.write(lambda tx: tx.run(Statement("patience", "PRAGMA busy_timeout = 1")))
    stranger = apsw.Connection(str(path))
    stranger.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreBusy):
        await database.write(lambda tx: tx.run(INSERT))
    stranger.execute("ROLLBACK")
    stranger.close()
    await database.write(lambda tx: tx.run(INSERT))

    assert database.read(count) == 1
    await database.close()


@pytest.mark.allow_blocking
@pytest.mark.parametrize("point, kept", [("store.before_commit", 0), ("store.after_commit", 1)])
async def test_a_crash_at_the_commit(path: Path, point: str, kept: int) -> None:
    """Just before, nothing is there; just after, all is there and nobody was told: both must be lived with."""
    database = await open_sqlite(path)
    await database.write(lambda tx: tx.run(CREATE))
    answers: list[str] = []
    struck = threading.Event()

    def strike(name: str) -> None:
        if name == point:
            database.abandon()
            struck.set()

    faultpoints.arm(strike)
    database.submit(lambda tx: tx.run(INSERT), lambda result, error: answers.append("answer"))
    assert struck.wait(10)
    faultpoints.arm(None)

    again = await open_sqlite(path)
    assert (again.read(count), answers) == (kept, [])
    await again.close()
