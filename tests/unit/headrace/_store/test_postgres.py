import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import psycopg
import pytest

from headrace._ports.database import Reader, Statement, Transaction
from headrace._store.location import PostgresUrl
from headrace._store.postgres import PostgresDatabase, PostgresReader, open_postgres, open_postgres_reader
from headrace._store.statements import load
from headrace.errors import ConfigurationError, StoreBusy, StoreError, StoreOwned, StoreTooNew

STORE = load("headrace._store", "store.sql")
BACKEND = Statement("backend", "SELECT pg_backend_pid()")


Open = Callable[..., Awaitable[PostgresDatabase]]


@pytest.fixture
async def opened(postgres: PostgresUrl) -> AsyncIterator[Open]:
    """Opens the schema of this test, or another one, and closes it afterwards."""
    databases: list[PostgresDatabase] = []

    async def open_it(place: PostgresUrl = postgres, *, owner: bool = True) -> PostgresDatabase:
        databases.append(await open_postgres(place, owner=owner))
        return databases[-1]

    yield open_it
    for database in databases:
        await database.close()


def meta(reader: Reader, name: str) -> str | None:
    row = reader.one(STORE.meta_value, {"name": name})
    return None if row is None else str(row[0])


async def test_a_second_owner_is_refused_with_the_first_ones_pid(opened: Open, postgres: PostgresUrl) -> None:
    """Two owners would overwrite each other; the text says whom to stop, and nothing that is secret."""
    await opened()

    with pytest.raises(StoreOwned) as caught:
        await opened()

    said = str(caught.value)
    assert f"{postgres.schema} of postgresql://headrace@127.0.0.1" in said
    assert f"is owned by process {os.getpid()} on {os.uname().nodename} since 20" in said


async def test_the_next_owner_comes_after_the_last(opened: Open) -> None:
    """Each opening has an epoch of its own, and knows whether the one before was closed or killed."""
    first = await opened()
    epochs = [first.read(lambda reader: meta(reader, "owner_epoch"))]
    await first.close()
    second = await opened()
    epochs.append(second.read(lambda reader: meta(reader, "owner_epoch")))
    in_order = second.left_in_order
    await asyncio.to_thread(second.abandon)
    third = await opened()

    assert (epochs, in_order, third.left_in_order) == (["1", "2"], True, False)


async def test_schemas_are_stores_of_their_own(opened: Open, postgres: PostgresUrl) -> None:
    """One database may serve several installations."""
    other = PostgresUrl(postgres.secret, postgres.schema + "_b")
    databases = [await opened(), await opened(other)]

    await databases[0].write(lambda tx: tx.run(STORE.set_meta, {"name": "mine", "value": "yes"}))

    assert [database.read(lambda reader: meta(reader, "mine")) for database in databases] == ["yes", None]


async def test_workers_write_beside_the_owner(opened: Open) -> None:
    """Handlers of events run in any number of processes, and no change of the owner stops them."""
    owner = await opened()
    worker = await opened(owner=False)
    await owner.close()
    owner = await opened()

    await worker.write(lambda tx: tx.run(STORE.set_meta, {"name": "worker", "value": "was here"}))

    assert owner.read(lambda reader: meta(reader, "worker")) == "was here"
    await worker.close()


async def test_the_owner_is_found(opened: Open, postgres: PostgresUrl) -> None:
    """The command line asks the owner for what changes state, so it must find it; a dead one is none."""
    database = await opened()
    database.announce(address="http://127.0.0.1:1", token_file="token")
    await database.write(lambda tx: None)

    with PostgresReader(postgres) as reader:
        found = reader.owner()
        await database.close()
        afterwards = reader.owner()

    assert found is not None
    assert (found.pid, found.address, found.token_file) == (os.getpid(), "http://127.0.0.1:1", "token")
    assert afterwards is None


async def test_a_cancelled_opening_lets_go(opened: Open, postgres: PostgresUrl) -> None:
    """Nobody would ever free the schema otherwise."""
    opening = asyncio.ensure_future(open_postgres(postgres))
    await asyncio.sleep(0)  # noqa: TID251  lets the opening begin
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    # The thread that opens goes on, and finds out at its end that nobody waits.
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})

    await opened()


def test_there_must_be_a_store_to_read(postgres: PostgresUrl) -> None:
    """A mistyped name would show an empty list of runs."""
    with pytest.raises(ConfigurationError, match=f"no store in the schema {postgres.schema}"):
        open_postgres_reader(postgres)


async def test_a_newer_schema_is_refused(opened: Open, postgres: PostgresUrl) -> None:
    """An older program would misread what it does not know; the text says what to install."""
    database = await opened()
    for name, value in (("schema_version", "99"), ("written_by", "7.1.0")):
        await database.write(lambda tx, name=name, value=value: tx.run(STORE.set_meta, {"name": name, "value": value}))  # type: ignore[misc]
    await database.close()

    for owner in (True, False):
        with pytest.raises(StoreTooNew, match=r"version 99, written by Headrace 7\.1\.0; .* Install Headrace 7\.1\.0"):
            await open_postgres(postgres, owner=owner)
    with pytest.raises(StoreTooNew):
        open_postgres_reader(postgres)


async def test_tables_of_others_are_refused(opened: Open, postgres: PostgresUrl) -> None:
    """A schema that another program uses must not become ours."""
    with psycopg.connect(postgres.secret, autocommit=True) as theirs:
        theirs.execute(f"CREATE SCHEMA {postgres.schema}")
        theirs.execute(f"CREATE TABLE {postgres.schema}.theirs (a int)")

    with pytest.raises(ConfigurationError, match=r"is not Headrace's"):
        await opened()


@pytest.fixture
def old_encoding(postgres: PostgresUrl) -> Iterator[PostgresUrl]:
    name = postgres.schema
    with psycopg.connect(postgres.secret, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    yield PostgresUrl(postgres.secret.rpartition("/")[0] + f"/{name}")
    with psycopg.connect(postgres.secret, autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} (FORCE)")


async def test_a_database_that_cannot_hold_all_text_is_refused(old_encoding: PostgresUrl) -> None:
    """It would fail in the night, at the first name it has no letter for."""
    with pytest.raises(ConfigurationError, match="has the encoding LATIN1; make one with: createdb"):
        await open_postgres(old_encoding)


@pytest.mark.parametrize(
    "login, host, complaint",
    [
        ("headrace:sesame", "@127.0.0.1:1/postgres", "postgresql://headrace@127.0.0.1:1/postgres cannot be"),
        ("headrace:sesame", "@127.0.0.1:PORT/postgres", "password authentication failed"),
        ("headrace:PASSWORD", "@127.0.0.1:PORT/nowhere", 'database "nowhere" does not exist'),
        ("headrace:PASSWORD", "@127.0.0.1:PORT/postgres?sesame=%zz", "cannot be read"),
        ("headrace:PASSWORD", "@127.0.0.1:x/postgres", "invalid port|invalid integer"),
        ("headrace:PASSWORD", "", "cannot be|could not"),
    ],
)
async def test_what_cannot_be_reached_is_told_without_the_password(
    postgres: PostgresUrl, login: str, host: str, complaint: str
) -> None:
    """Errors end in logs, on pages and in reports of problems."""
    password, port = postgres.secret.split(":")[2].partition("@")[0], postgres.secret.rpartition(":")[2].split("/")[0]
    given = f"postgresql://{login}{host}".replace("PORT", port).replace("PASSWORD", password)

    with pytest.raises((StoreBusy, ConfigurationError), match=complaint) as caught:
        await open_postgres(given)

    told: list[str] = []
    error: BaseException | None = caught.value
    while error is not None:
        told.append(f"{error!r} {error}")
        error = error.__cause__
    assert "sesame" not in "".join(told)
    assert password not in "".join(told)


async def test_a_thread_that_ends_leaves_no_connection(opened: Open) -> None:
    """A server has a hundred connections for everybody, and a program may make thousands of threads."""
    database = await opened()
    used: set[int] = set()

    def read() -> None:
        used.add(database.read(lambda reader: (reader.one(BACKEND) or (0,))[0]))

    for _ in range(20):
        thread = threading.Thread(target=read)
        thread.start()
        await asyncio.to_thread(thread.join)

    assert len(used) == 1


async def test_an_iterator_ends_with_its_transaction(opened: Open) -> None:
    """Rows of a cursor that the server has closed cannot be read, and asking for them must not spoil another transaction."""
    database = await opened()
    kept: list[Iterator[object]] = []
    many = Statement("many", "SELECT pk FROM generate_series(1, 2000) AS numbers (pk)")

    def peek(tx: Transaction) -> int:
        rows = tx.each(many)
        kept.append(rows)
        return len([next(rows) for _ in range(500)])

    assert await database.write(peek) == 500

    def touch(tx: Transaction) -> str:
        with pytest.raises(StoreError, match="has ended"):
            next(kept[0])
        return "fine"

    assert await database.write(touch) == "fine"


async def test_text_that_postgres_cannot_hold_is_shown(opened: Open) -> None:
    """The message of an error may hold anything; the run that failed must end all the same."""
    database = await opened()

    await database.write(lambda tx: tx.run(STORE.set_meta, {"name": "said", "value": "a\x00b"}))

    assert database.read(lambda reader: meta(reader, "said")) == "a␀b"


async def test_an_operation_that_ends_the_transaction_is_final(opened: Open) -> None:
    """What it commits by itself breaks the promise to all others of its batch."""
    database = await opened()

    with pytest.raises(StoreError, match="ended the transaction"):
        await database.write(lambda tx: tx.run(Statement("commit", "COMMIT")))
    with pytest.raises(StoreError, match="ended the transaction"):
        await database.write(lambda tx: None)


async def test_commits_reach_the_disk(postgres: PostgresUrl) -> None:
    """A server may be set to answer before; what is acknowledged here has to outlive a power cut."""
    with psycopg.connect(postgres.secret, autocommit=True) as server:
        server.execute(f"CREATE ROLE hasty{postgres.schema} LOGIN SUPERUSER PASSWORD 'hasty'")
        server.execute(f"ALTER ROLE hasty{postgres.schema} SET synchronous_commit TO off")
    host = postgres.secret.rpartition("@")[2]
    login = f"hasty{postgres.schema}:hasty"
    database = await open_postgres(f"postgresql://{login}@{host}", schema=postgres.schema)
    setting = Statement("setting", "SELECT current_setting('synchronous_commit')")

    assert await database.write(lambda tx: tx.one(setting)) == ("on",)

    await database.close()


def test_the_driver_is_named_where_it_is_missing() -> None:
    """It is an extra; the text has the command that installs it."""
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from headrace._store.location import locate\n"
        "from headrace._store.opening import open_reader\n"
        "open_reader(locate('postgresql://host/runs'))"
    )

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert "ConfigurationError: Postgres needs its driver: pip install 'headrace[postgres]'" in ran.stderr
