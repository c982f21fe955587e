"""Connections of SQLite: how each is set up, how rows go in and out, and what its errors mean."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeVar

import apsw

from headrace._base.vault import Vault
from headrace._ports.database import Reader, Row, SqlValue, Statement
from headrace.errors import StoreBusy, StoreCorrupt, StoreError, StoreFailed, StoreFull

T = TypeVar("T")

Mode = Literal["safe", "fast", "test"]
"""``safe``: what is acknowledged survives power loss. ``fast``: power loss may take the last moments, a killed process
takes nothing. ``test``: nothing is synced."""

_SYNCHRONOUS: dict[Mode, str] = {"safe": "FULL", "fast": "NORMAL", "test": "OFF"}
BUSY_MILLISECONDS = 5_000
_CACHED_STATEMENTS = 512
_NOTHING: Mapping[str, SqlValue] = {}

# After these the whole transaction is in doubt, not only the statement that met them.
_DISK_ERRORS: tuple[type[apsw.Error], ...] = (
    apsw.FullError,
    apsw.IOError,
    apsw.CorruptError,
    apsw.NotADBError,
    apsw.ReadOnlyError,
    apsw.BusyError,
    apsw.LockedError,
    apsw.ProtocolError,
    apsw.CantOpenError,
    apsw.NoMemError,
    apsw.InterruptError,
)


def translate(error: apsw.Error, system_errno: int = 0) -> StoreError:
    """What a caller is told; the driver's own error becomes the cause."""
    translated = _meaning(error, system_errno)
    translated.__cause__ = error
    return translated


def _meaning(error: apsw.Error, system_errno: int) -> StoreError:
    text = str(error) or type(error).__name__
    if isinstance(error, apsw.FullError):
        return StoreFull("no space is left for the store; nothing of this was recorded. Free some space")
    if isinstance(error, apsw.IOError) and system_errno in (errno.ENOSPC, errno.EDQUOT) and not _sync_failed(error):
        return StoreFull("no space or quota is left for the store; nothing of this was recorded. Free some space")
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusy(f"another connection holds the write lock of the store ({text})")
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return StoreCorrupt(f"the store is damaged ({text}); run `headrace check`, restore a backup")
    if isinstance(error, (apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.ProtocolError)):
        return StoreFailed(f"the disk failed under the store ({text}); look at the disk, run `headrace check`, restart")
    return StoreError(text)


def _sync_failed(error: apsw.Error) -> bool:
    # The driver's type stubs leave this attribute out.
    return getattr(error, "extendedresult", 0) in (apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC)


def open_for_writing(path: Path, *, mode: Mode, vfs: str | None = None) -> apsw.Connection:
    """The connection that writes and checkpoints; there is one per file. Creates the file when it is not there."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path), flags=flags, vfs=vfs, statementcachesize=_CACHED_STATEMENTS)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    # Checkpoints are the writer's own affair: SQLite hides the errors of its automatic ones, and a connection that is
    # closed after a failure must not touch the file again.
    connection.wal_autocheckpoint(0)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    _keep_plans(connection)
    if connection.execute("PRAGMA page_count").fetchone() == (0,):
        # Of an existing file this would be a write.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    for pragma in (
        "journal_mode = WAL",
        f"synchronous = {_SYNCHRONOUS[mode]}",
        "fullfsync = ON",
        "checkpoint_fullfsync = ON",
        "foreign_keys = OFF",
        "cell_size_check = ON",
        "trusted_schema = OFF",
        "temp_store = MEMORY",
        "cache_size = -32000",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def open_for_reading(path: Path, *, vfs: str | None = None) -> apsw.Connection:
    """A connection that can neither write nor checkpoint."""
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs, statementcachesize=_CACHED_STATEMENTS
    )
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    _keep_plans(connection)
    for pragma in ("query_only = ON", "cell_size_check = ON", "trusted_schema = OFF", "temp_store = MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _keep_plans(connection: apsw.Connection) -> None:
    """Plan a statement once, whatever is bound to it.

    Built with STAT4, as here, SQLite otherwise plans many statements anew with each parameter, in case its value makes another plan better:
    all with min, max or an order over what parameters have chosen. That takes several times as long as running them.
    """
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


class Session:
    """Rows in and out of one connection; a ``Transaction`` of the port for the writer, a ``Reader`` for others."""

    # SQLite takes a failed statement back by itself.
    aborted = False
    __slots__ = ("_connection", "_cursor", "_iterating", "broken", "touched", "vault")

    def __init__(self, connection: apsw.Connection, vault: Vault) -> None:
        self._connection = connection
        self.vault = vault
        self._cursor = connection.cursor()
        self._iterating: set[apsw.Cursor] = set()
        self.broken: StoreError | None = None
        self.touched = False

    def one(self, statement: Statement, parameters: Mapping[str, SqlValue] = _NOTHING) -> Row | None:
        if not statement.sql.startswith("SELECT"):
            self._about_to_write()  # INSERT ... RETURNING and its like
        try:
            return self._cursor.execute(statement.sql, parameters).fetchone()
        except apsw.Error as error:
            raise self._failed(error) from error

    def all(self, statement: Statement, parameters: Mapping[str, SqlValue] = _NOTHING) -> list[Row]:
        if not statement.sql.startswith("SELECT"):
            self._about_to_write()
        try:
            return self._cursor.execute(statement.sql, parameters).fetchall()
        except apsw.Error as error:
            raise self._failed(error) from error

    def each(self, statement: Statement, parameters: Mapping[str, SqlValue] = _NOTHING) -> Iterator[Row]:
        cursor = self._connection.cursor()
        self._iterating.add(cursor)
        try:
            yield from cursor.execute(statement.sql, parameters)
        except apsw.Error as error:
            raise self._failed(error) from error
        finally:
            self._iterating.discard(cursor)
            cursor.close(True)

    def run(self, statement: Statement, parameters: Mapping[str, SqlValue] = _NOTHING) -> int:
        self._about_to_write()
        try:
            self._cursor.execute(statement.sql, parameters)
        except apsw.Error as error:
            raise self._failed(error) from error
        return self._connection.changes()

    def run_many(self, statement: Statement, rows: Iterable[Mapping[str, SqlValue]]) -> None:
        self._about_to_write()
        try:
            self._cursor.executemany(statement.sql, rows)
        except apsw.Error as error:
            raise self._failed(error) from error

    def _about_to_write(self) -> None:
        if self.broken is not None:
            raise self.broken
        self.touched = True

    def control(self, sql: str) -> None:
        """BEGIN, SAVEPOINT and their like."""
        try:
            self._cursor.execute(sql)
        except apsw.Error as error:
            raise self._failed(error) from error

    def end(self) -> None:
        """Let go of what iterators left open, which would hold an old state of the file."""
        for cursor in self._iterating:
            cursor.close(True)
        self._iterating.clear()
        if self._connection.in_transaction:
            self._cursor.execute("ROLLBACK")

    def _failed(self, error: apsw.Error) -> StoreError:
        translated = translate(error, self._connection.system_errno)
        # SQLite may have rolled back by itself: a statement run now would commit alone.
        if isinstance(error, _DISK_ERRORS) or not self._connection.in_transaction:
            self.broken = translated
        return translated


def query_in_snapshot(session: Session, connection: apsw.Connection, query: Callable[[Reader], T]) -> T:
    """Run all of a query's statements on one state of the file."""
    if connection.in_transaction:
        return query(session)
    session.control("BEGIN")
    try:
        return query(session)
    finally:
        session.end()


def checkpoint(connection: apsw.Connection, *, truncate: bool) -> None:
    """Move the write-ahead log into the file; gives way to readers and to a full disk, raises when the disk fails."""
    mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
    try:
        connection.wal_checkpoint(mode=mode)
    except (apsw.BusyError, apsw.LockedError):
        return
    except apsw.Error as error:
        translated = translate(error, connection.system_errno)
        if not isinstance(translated, StoreFull):
            raise translated from error
