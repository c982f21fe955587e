"""Opening a store, whatever it is: the driver is loaded only when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self, TypeVar

from headrace._base.vault import PLAIN, Vault
from headrace._ports.database import Database, Reader
from headrace._store.connection import Mode
from headrace._store.group_commit import CommitCounts
from headrace._store.location import Location, PostgresUrl
from headrace._store.ownership import Owner, read_owner
from headrace._store.sqlite import open_sqlite, open_sqlite_reader
from headrace._store.statements import load
from headrace.errors import ConfigurationError

T = TypeVar("T")

_SERVER = load("headrace._store", "postgres.sql")


class OwnedDatabase(Database, Protocol):
    epoch: int
    """How many times the store was opened by an owner."""

    def counts(self) -> CommitCounts: ...

    @property
    def heard(self) -> int:
        """How often another process told of something new."""
        ...

    def announce(self, *, address: str | None, token_file: str | None = None) -> None:
        """Tell other processes where the owner answers."""
        ...


class StoreReader(Protocol):
    """Reads a store that another process may own."""

    def read(self, query: Callable[[Reader], T]) -> T: ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


async def open_store(location: Location, *, durability: Mode = "safe", vault: Vault = PLAIN) -> OwnedDatabase:
    """Own a store; raises ``StoreOwned`` when another process has it."""
    if not isinstance(location, PostgresUrl):
        return await open_sqlite(location, mode=durability, vault=vault)
    if durability != "safe":
        raise ConfigurationError(
            f"{location} is a server, whose commits are always `safe`; `{durability}` is for files"
        )
    with _driver():
        from headrace._store.postgres import open_postgres
    return await open_postgres(location, vault=vault)


async def open_beside(location: PostgresUrl, *, vault: Vault = PLAIN) -> Database:
    """Write to a store beside its owner, which need not be there; made when absent."""
    with _driver():
        from headrace._store.postgres import open_postgres
    return await open_postgres(location, owner=False, vault=vault)


def open_reader(location: Location, *, vault: Vault = PLAIN) -> StoreReader:
    """Read a store, owned or not; refuses one that the vault cannot read."""
    if not isinstance(location, PostgresUrl):
        return open_sqlite_reader(location, vault=vault)
    with _driver():
        from headrace._store.postgres import open_postgres_reader
    return open_postgres_reader(location, vault=vault)


def open_server(url: PostgresUrl) -> StoreReader:
    """Ask a server, whether it has a store or not."""
    with _driver():
        from headrace._store.postgres import PostgresReader
    return PostgresReader(url)


def is_there(location: Location) -> bool:
    """Whether a store was ever made at this place."""
    if not isinstance(location, PostgresUrl):
        return location.exists()
    with open_server(location) as server:
        return bool(server.read(lambda rows: rows.all(_SERVER.tables, {"schema": location.schema})))


def owner_of(location: Location) -> Owner | None:
    """Who owns a store now, or None when nobody does."""
    if not isinstance(location, PostgresUrl):
        return read_owner(location)
    with _driver():
        from headrace._store.postgres import PostgresReader
    with PostgresReader(location) as reader:
        return reader.owner()


@contextmanager
def _driver() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        # psycopg is there without its own library where only the plain package was installed.
        raise ConfigurationError(f"Postgres needs its driver: pip install 'headrace[postgres]' ({error})") from error
