"""The store in a schema of a Postgres database: one owner, any number of readers, and workers that write beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TypeVar

from headrace._base.clock import SystemClock
from headrace._base.vault import PLAIN, Vault
from headrace._ports.database import Reader
from headrace._store import keyring
from headrace._store import postgres_ownership as ownership
from headrace._store.database import WriterAndReaders
from headrace._store.group_commit import GroupCommit
from headrace._store.location import SCHEMA, PostgresUrl
from headrace._store.migrate import packaged
from headrace._store.ownership import Owner
from headrace._store.postgres_connection import Session, connect
from headrace._store.postgres_medium import PostgresMedium
from headrace._store.postgres_migration import migrate, schema_version
from headrace._store.postgres_news import News
from headrace._store.statements import load
from headrace.errors import ConfigurationError, StoreBusy, StoreError

T = TypeVar("T")

_STORE = load("headrace._store", "store.sql")
_HERE = load("headrace._store", "postgres.sql")

_PATIENCE = 5.0
_PAUSE = 0.1
_IDLE_CONNECTIONS = 8
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


async def open_postgres(
    url: str | PostgresUrl,
    *,
    schema: str = SCHEMA,
    owner: bool = True,
    patience: float = _PATIENCE,
    vault: Vault = PLAIN,
) -> PostgresDatabase:
    """Own a schema, made when absent and upgraded when older; raises ``StoreOwned`` when another process has it.

    Without ``owner`` it only writes beside the owner, as workers do. ``patience``: seconds for which callers are kept
    waiting when the server is away, before they are told that the store is busy; on an event loop nobody waits to read.
    """
    place = url if isinstance(url, PostgresUrl) else PostgresUrl(url, schema)
    opening = asyncio.ensure_future(asyncio.to_thread(_open, place, owner, vault))
    try:
        opened = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_let_go)
        raise
    return PostgresDatabase(opened, asyncio.get_running_loop(), patience=patience)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    place: PostgresUrl
    session: Session
    schema: int
    ownership: ownership.Ownership | None


def _open(place: PostgresUrl, owns: bool, vault: Vault) -> _Opened:
    connection = connect(place, writes=True)
    session = Session(connection, vault)
    try:
        if owns:
            ownership.lock(session, place)
        _refuse_missing_keys(session, place)
        schema = migrate(session, place.schema, owns=owns)
        _admit(session)
        owned = ownership.begin_epoch(session) if owns else None
    except BaseException:
        connection.close()
        raise
    return _Opened(place=place, session=session, schema=schema, ownership=owned)


def _refuse_missing_keys(session: Session, place: PostgresUrl) -> None:
    """Before anything is changed: whoever comes without the key of a store is not to upgrade it either."""
    if schema_version(session, place.schema, newest=len(packaged(dialect="postgres"))):
        keyring.refuse_missing(session)


def _admit(session: Session) -> None:
    session.control("BEGIN")
    try:
        # Two that come with new keys at the same time do not see each other's.
        session.one(_HERE.lock_keys)
        keyring.admit(session)
        session.control("COMMIT")
    finally:
        session.end()


def _let_go(opening: asyncio.Future[_Opened]) -> None:
    """Nobody waits for this opening any more; the schema must not stay locked for it."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().session.connection.close()


class PostgresReader:
    """Reads a schema on connections of its own, as many as there are queries at once; needs no owner and harms none."""

    def __init__(self, place: PostgresUrl, *, patience: float = 0.0, vault: Vault = PLAIN) -> None:
        self.place = place
        self._vault = vault
        self._patience = patience
        self._clock = SystemClock()
        self._away_since: float | None = None
        self._idle: list[Session] = []
        self._closed = False

    def read(self, query: Callable[[Reader], T]) -> T:
        """Run a query on one state of the database, which has all that was committed before the call."""
        with self._snapshot() as session:
            return query(session)

    def owner(self) -> Owner | None:
        """Who owns the schema now."""
        with self._snapshot() as session:
            return ownership.read_owner(session, self.place)

    def check_schema(self) -> None:
        """Raise where there is no store, or none that this Headrace can read."""
        with self._snapshot() as session:
            version = schema_version(session, self.place.schema, newest=len(packaged(dialect="postgres")))
        if version == 0:
            raise ConfigurationError(
                f"there is no store in the schema {self.place.schema} of {self.place}; start the pipeline once, or give another one"
            )

    def check_keys(self) -> None:
        """Raise where values are under a key that was not given, unless they are to be veiled."""
        if not self._vault.veils:
            self.read(keyring.refuse_missing)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().connection.close()

    def __enter__(self) -> PostgresReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _snapshot(self) -> Iterator[Session]:
        session = self._begun()
        try:
            yield session
        finally:
            session.end()
            if len(self._idle) >= _IDLE_CONNECTIONS:
                session.connection.close()
            elif not session.connection.closed:
                self._idle.append(session)
            if self._closed:  # perhaps by another thread, in this very moment
                self.close()

    def _begun(self) -> Session:
        while self._idle:
            session = self._idle.pop()
            session.renew()
            try:
                session.control(_SNAPSHOT)
                return session
            except StoreBusy:
                session.connection.close()  # the server was restarted while nobody asked
        while True:
            if self._closed:
                raise StoreError("the store is closed")
            try:
                return self._connected()
            except StoreBusy:
                if self._has_waited_enough() or _is_on_a_loop():
                    raise
            time.sleep(_PAUSE)  # noqa: TID251  the caller's own thread, which serves nobody else

    def _connected(self) -> Session:
        session = Session(connect(self.place, writes=False), self._vault)
        session.control(_SNAPSHOT)
        self._away_since = None
        return session

    def _has_waited_enough(self) -> bool:
        now = self._clock.monotonic()
        if self._away_since is None:
            self._away_since = now
        return now - self._away_since >= self._patience


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def open_postgres_reader(url: str | PostgresUrl, *, schema: str = SCHEMA, vault: Vault = PLAIN) -> PostgresReader:
    """Read a schema that another process may own; refuses what is no store, or a newer one, or one that the vault cannot read."""
    reader = PostgresReader(url if isinstance(url, PostgresUrl) else PostgresUrl(url, schema), vault=vault)
    try:
        reader.check_schema()
        reader.check_keys()
    except BaseException:
        reader.close()
        raise
    return reader


class PostgresDatabase(WriterAndReaders):
    """The ``Database`` port on a schema of a Postgres database; made by ``open_postgres``."""

    def __init__(self, opened: _Opened, loop: asyncio.AbstractEventLoop, *, patience: float) -> None:
        self.place = opened.place
        self.schema = opened.schema
        self._owned = opened.ownership
        self.left_in_order = self._owned is None or self._owned.left_in_order
        epoch = None if self._owned is None else self._owned.epoch
        self.epoch = 0 if epoch is None else int(epoch)
        reader = PostgresReader(opened.place, patience=patience, vault=opened.session.vault)
        medium = PostgresMedium(opened.session, opened.place, epoch=epoch, patience=patience)
        super().__init__(GroupCommit(medium, loop, _nothing_left), reader, loop)
        self._medium = medium
        self._news: News | None = None
        self._heard = 0

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def heard(self) -> int:
        return self._heard

    def listen(self, told: Callable[[str], None]) -> None:
        def heard(what: str) -> None:
            self._heard += 1
            told(what)

        self._news = News(self.place, self._loop, told=heard, is_own=self._medium.is_own)

    async def close(self) -> None:
        self._stop_listening()
        await super().close()

    def abandon(self) -> None:
        self._stop_listening()
        super().abandon()

    def _stop_listening(self) -> None:
        if self._news is not None:
            self._news.close()
            self._news = None

    def announce(self, *, address: str | None, token_file: str | None = None) -> None:
        """Tell other processes where the owner answers."""
        if self._owned is None:
            return
        words = ownership.in_words(replace(self._owned.owner, address=address, token_file=token_file))
        self.submit(lambda tx: tx.run(_STORE.set_meta, {"name": "owner", "value": words}), lambda _result, _error: None)


def _nothing_left() -> None:
    """The lock went with the connection."""
