"""The store on one SQLite file: one writer, any number of readers, one owner."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import apsw

from headrace._base.clock import SystemClock
from headrace._base.vault import PLAIN, Vault
from headrace._ports.database import Reader
from headrace._store import keyring, maintenance, migrate, ownership, stdlib_guard
from headrace._store.connection import (
    Mode,
    Session,
    open_for_reading,
    open_for_writing,
    query_in_snapshot,
    translate,
)
from headrace._store.database import WriterAndReaders
from headrace._store.file_system import refuse_network_file_system
from headrace._store.group_commit import GroupCommit
from headrace._store.sqlite_medium import SqliteMedium
from headrace.errors import ConfigurationError, StoreError

T = TypeVar("T")


async def open_sqlite(
    path: str | os.PathLike[str],
    *,
    mode: Mode = "safe",
    allow_network_file_system: bool = False,
    copy_before_upgrade: bool = True,
    vfs: str | None = None,
    vault: Vault = PLAIN,
) -> SqliteDatabase:
    """Own a store file, made when absent and upgraded when older.

    Raises ``StoreOwned`` when another process has it, and ``KeyMissing`` when the vault cannot read its values.
    """
    opening = asyncio.ensure_future(
        asyncio.to_thread(_open, Path(path), mode, allow_network_file_system, copy_before_upgrade, vfs, vault)
    )
    try:
        opened = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_let_go)
        raise
    return SqliteDatabase(opened, asyncio.get_running_loop())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    path: Path
    vfs: str | None
    connection: apsw.Connection
    session: Session
    lock: ownership.OwnerLock
    epoch: int
    schema: int
    left_in_order: bool


def _open(
    path: Path, mode: Mode, allow_network: bool, copy_before_upgrade: bool, vfs: str | None, vault: Vault
) -> _Opened:
    path = path.absolute()
    refuse_network_file_system(path, allowed=allow_network)
    if not path.parent.is_dir():
        raise ConfigurationError(f"the folder of the store {path} does not exist; make it, or give another path")
    lock = ownership.acquire(path, now=SystemClock().now())
    connection = None
    try:
        migrate.refuse_foreign(path)
        connection = open_for_writing(path, mode=mode, vfs=vfs)
        session = Session(connection, vault)
        _refuse_missing_keys(connection, session, path)
        keep_copy = (lambda target: maintenance.copy_file(path, target)) if copy_before_upgrade else None
        schema = migrate.migrate(connection, path, keep_copy=keep_copy)
        epoch, left_in_order = _raise_epoch(connection, session)
        maintenance.sync_folder(path.parent)
    except BaseException as error:
        if connection is not None:
            connection.close(True)
        lock.release()
        if isinstance(error, apsw.Error):
            raise translate(error) from error
        raise
    return _Opened(
        path=path,
        vfs=vfs,
        connection=connection,
        session=session,
        lock=lock,
        epoch=epoch,
        schema=schema,
        left_in_order=left_in_order,
    )


def _refuse_missing_keys(connection: apsw.Connection, session: Session, path: Path) -> None:
    """Before anything is changed: whoever comes without the key of a file is not to upgrade it either."""
    migrate.refuse_unreadable(connection, path, len(migrate.packaged()))
    if migrate.schema_version(connection):
        keyring.refuse_missing(session)


def _let_go(opening: asyncio.Future[_Opened]) -> None:
    """Nobody waits for this opening any more; the file must not stay locked for it."""
    if not opening.cancelled() and opening.exception() is None:
        opened = opening.result()
        opened.connection.close(True)
        opened.lock.release()


def _raise_epoch(connection: apsw.Connection, session: Session) -> tuple[int, bool]:
    connection.execute("BEGIN IMMEDIATE")
    keyring.admit(session)
    meta = {str(name): str(value) for name, value in connection.execute("SELECT name, value FROM meta")}
    epoch = int(meta.get("owner_epoch", "0")) + 1
    connection.executemany(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [("owner_epoch", str(epoch)), ("left_in_order", "no")],
    )
    connection.execute("COMMIT")
    return epoch, meta.get("left_in_order", "yes") == "yes"


class SqliteReader:
    """Reads a store file on read-only connections, one per thread; needs no owner and harms none."""

    def __init__(self, path: Path, *, vfs: str | None = None, vault: Vault = PLAIN) -> None:
        self.path = path
        self._vfs = vfs
        self._vault = vault
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._closed = False

    def read(self, query: Callable[[Reader], T]) -> T:
        """Run a query on one state of the file, which has all that was committed before the call."""
        try:
            session, connection = self._local.opened
        except AttributeError:
            session, connection = self._open()
        if self._closed:
            raise StoreError("the store is closed")
        return query_in_snapshot(session, connection, query)

    def close(self) -> None:
        self._closed = True
        for connection in self._connections:
            try:
                connection.close(True)
            except apsw.Error:
                # Another thread is in the middle of a query, whose connection goes with it, or the disk is gone: nothing that a
                # reader could lose.
                continue
        self._connections.clear()

    def __enter__(self) -> SqliteReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> tuple[Session, apsw.Connection]:
        if self._closed:
            raise StoreError("the store is closed")
        try:
            connection = open_for_reading(self.path, vfs=self._vfs)
        except apsw.Error as error:
            raise translate(error) from error
        self._connections.append(connection)
        self._local.opened = (Session(connection, self._vault), connection)
        opened: tuple[Session, apsw.Connection] = self._local.opened
        return opened


def open_sqlite_reader(path: str | os.PathLike[str], *, vfs: str | None = None, vault: Vault = PLAIN) -> SqliteReader:
    """Read a store that another process may own; refuses what is no store, or a newer one, or one that the vault cannot read."""
    file = Path(path).absolute()
    if not file.exists():
        raise ConfigurationError(f"there is no store at {file}; start the pipeline once, or give another path")
    migrate.refuse_foreign(file)
    try:
        connection = open_for_reading(file, vfs=vfs)
        try:
            if vault.veils:
                migrate.refuse_unreadable(connection, file, len(migrate.packaged()))
            else:
                _refuse_missing_keys(connection, Session(connection, vault), file)
        finally:
            connection.close()
    except apsw.Error as error:
        raise translate(error) from error
    return SqliteReader(file, vfs=vfs, vault=vault)


class SqliteDatabase(WriterAndReaders):
    """The ``Database`` port on one SQLite file; made by ``open_sqlite``."""

    def __init__(self, opened: _Opened, loop: asyncio.AbstractEventLoop) -> None:
        self.path = opened.path
        self.epoch = opened.epoch
        self.schema = opened.schema
        self.left_in_order = opened.left_in_order
        self._lock = opened.lock
        self._guarded = True
        stdlib_guard.guard(opened.path)
        reader = SqliteReader(opened.path, vfs=opened.vfs, vault=opened.session.vault)
        medium = SqliteMedium(opened.session, opened.connection, opened.epoch)
        super().__init__(GroupCommit(medium, loop, self._release), reader, loop)

    def announce(self, *, address: str | None, token_file: str | None = None) -> None:
        """Tell other processes where the owner answers."""
        self._lock.announce(address, token_file)

    def _release(self) -> None:
        if self._guarded:
            self._guarded = False
            stdlib_guard.release(self.path)
        self._lock.release()
