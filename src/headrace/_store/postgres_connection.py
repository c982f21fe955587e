"""Connections of Postgres: how each is set up, how rows go in and out, and what its errors mean."""

from __future__ import annotations

import enum
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Format, TransactionStatus
from psycopg.sql import SQL, Identifier
from psycopg.types.numeric import Int8Dumper, NumericBinaryLoader
from psycopg.types.string import StrDumperUnknown

from headrace._base.vault import PLAIN, Vault
from headrace._ports.database import Row, SqlValue, Statement
from headrace._store.location import PostgresUrl
from headrace._store.postgres_text import PostgresText, text_of
from headrace.errors import ConfigurationError, StoreBusy, StoreCorrupt, StoreError, StoreFailed, StoreFull

_OLDEST_SERVER = 140_000
_NOTHING: Mapping[str, SqlValue] = {}
_ROWS_A_FETCH = 500
_NUL_SHOWN = "\N{SYMBOL FOR NULL}"

# What the URL does not say. A peer that vanished is noticed within half a minute, on both sides: until then the server
# keeps its locks. A standby is no place to write, and one that lags is no place to read.
_UNLESS_GIVEN = {
    "connect_timeout": "3",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
    "target_session_attrs": "read-write",
    "application_name": "headrace",
}
_SETTINGS = """
SET search_path TO {schema};
SET client_min_messages TO warning;
SET tcp_keepalives_idle TO 10;
SET tcp_keepalives_interval TO 5;
SET tcp_keepalives_count TO 3;
SET jit TO off;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""
# A writer that was stopped in the middle of a transaction would hold its locks for ever.
_SETTINGS_OF_WRITERS = "SET idle_in_transaction_session_timeout TO '60s'"


_OF_THE_WHOLE_TRANSACTION = (StoreBusy, StoreFull, StoreFailed, StoreCorrupt)


class Interruption(enum.Enum):
    """Why a transaction ended that did nothing wrong."""

    LOST = enum.auto()
    ROLLED_BACK = enum.auto()


def connect(place: PostgresUrl, *, writes: bool) -> psycopg.Connection:
    """A connection whose transactions are begun and ended by hand; raises ``StoreBusy`` when the server cannot be reached."""
    parameters = _UNLESS_GIVEN | _parameters(place)
    try:
        connection = psycopg.connect(**parameters, autocommit=True)
    except psycopg.Error as error:
        raise StoreBusy(f"{place} cannot be reached ({_words(error)})") from error
    try:
        _refuse_unfit(connection, place)
        _adapt(connection)
        connection.execute(SQL(_SETTINGS).format(schema=Identifier(place.schema)))
        if writes:
            connection.execute(_SETTINGS_OF_WRITERS)
    except psycopg.Error as error:
        connection.close()
        raise translate(error, lost=True) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _parameters(place: PostgresUrl) -> dict[str, Any]:
    try:
        return {name: value for name, value in conninfo_to_dict(place.secret).items() if value is not None}
    except psycopg.Error:
        # Its text repeats what it could not read, and that may be the password.
        form = "postgresql://user@host:5432/database, with :password behind the user and special characters as %40"
        raise ConfigurationError(f"the URL of the database cannot be read; it looks like {form}") from None


def _refuse_unfit(connection: psycopg.Connection, place: PostgresUrl) -> None:
    info = connection.info
    if info.server_version < _OLDEST_SERVER:
        found = f"{info.server_version // 10_000}.{info.server_version % 10_000}"
        raise ConfigurationError(f"{place} is Postgres {found}; Headrace needs {_OLDEST_SERVER // 10_000} or newer")
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ConfigurationError(
            f"the database {info.dbname!r} has the encoding {encoding}; make one with: createdb -T template0 -E UTF8 NAME"
        )


class _Text(StrDumperUnknown):
    """Text without a type, which the place where it is used gives. Postgres has no NUL; what may hold one is for people."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", _NUL_SHOWN))


class _Flag(Int8Dumper):
    """True is 1, as in SQLite."""

    def dump(self, obj: Any) -> bytes:
        return b"1" if obj else b"0"


class _FlagLoader(Loader):
    format = Format.BINARY

    def load(self, data: Buffer) -> int:
        return int(bytes(data) != b"\x00")


class _NumberLoader(NumericBinaryLoader):
    """Sums and averages are numbers of Python, as SQLite gives them."""

    def load(self, data: Buffer) -> Any:
        number: Decimal = super().load(data)
        return int(number) if number.is_finite() and number == number.to_integral_value() else float(number)


def _adapt(connection: psycopg.Connection) -> None:
    """The values of the port and no others; one type for all integers, so that a statement is prepared once."""
    connection.adapters.register_dumper(int, Int8Dumper)
    connection.adapters.register_dumper(bool, _Flag)
    connection.adapters.register_dumper(str, _Text)
    connection.adapters.register_loader("bool", _FlagLoader)
    connection.adapters.register_loader("numeric", _NumberLoader)
    connection.prepared_max = 500


def translate(error: psycopg.Error, *, lost: bool) -> StoreError:
    """What a caller is told; the driver's own error becomes the cause."""
    translated = _meaning(error, lost)
    translated.__cause__ = error
    return translated


def _meaning(error: psycopg.Error, lost: bool) -> StoreError:
    text, code = _words(error), error.sqlstate or ""
    if lost or _interruption(code) is Interruption.LOST:
        return StoreBusy(f"the connection to the database was lost ({text}); it is taken up again")
    if code.startswith("40"):
        return StoreBusy(f"other transactions were in the way ({text})")
    if code == "53100":
        return StoreFull(f"no space is left for the database ({text}); nothing of this was recorded. Free some space")
    if code.startswith("53") or code in ("55P03", "57014"):
        return StoreBusy(f"the database server is busy ({text})")
    if code in ("XX001", "XX002"):
        return StoreCorrupt(f"the database is damaged ({text}); look at it with pg_amcheck, restore a backup")
    if code.startswith(("58", "XX", "F0")):
        return StoreFailed(f"the database server failed ({text}); look at its log, restart")
    return StoreError(text)


def _interruption(code: str) -> Interruption | None:
    if code.startswith("08") or code in ("57P01", "57P02", "57P03", "57P05", "25P03"):
        return Interruption.LOST
    return Interruption.ROLLED_BACK if code in ("40001", "40P01") else None


def _words(error: psycopg.Error) -> str:
    # libpq goes on to guess at reasons, on lines of their own.
    lines = (error.diag.message_primary or str(error)).strip().splitlines()
    return lines[0] if lines else type(error).__name__


class Session:
    """Rows in and out of a connection; a ``Transaction`` of the port for the writer, a ``Reader`` for others.

    Postgres refuses everything after a failed statement until it is taken back. A ``careful`` session gives each statement
    a savepoint, so that an operation may go on after one that failed; others only note it (``aborted``).
    """

    def __init__(self, connection: psycopg.Connection, vault: Vault = PLAIN) -> None:
        self.vault = vault
        self.use(connection)
        self.renew()

    def use(self, connection: psycopg.Connection) -> None:
        """Go on with another connection."""
        self.connection = connection
        try:
            # Values of bytes would be twice as long as text; only commands without parameters may be several at once, as text.
            self._cursor = connection.cursor(binary=True)
            self._commands = connection.cursor()
        except psycopg.Error as error:
            raise translate(error, lost=True) from error

    def renew(self, *, careful: bool = False) -> None:
        """Forget what the last transaction was like."""
        self.broken: StoreError | None = None
        self.interruption: Interruption | None = None
        self.touched = False
        self.changed = False
        self.aborted = False
        self._careful = careful
        self._portals = 0
        self._transaction = object()

    @property
    def in_transaction(self) -> bool:
        return self.connection.info.transaction_status == TransactionStatus.INTRANS

    def one(self, statement: Statement, parameters: Mapping[str, SqlValue] = _NOTHING) -> Row | None:
        self._execute(text_of(statement), parameters)
        return self._cursor.fetchone()

    def all(self, statement: Statement, parameters: Mapping[str, SqlValue] = _NOTHING) -> list[Row]:
        self._execute(text_of(statement), parameters)
        return self._cursor.fetchall()

    def each(self, statement: Statement, parameters: Mapping[str, SqlValue] = _NOTHING) -> Iterator[Row]:
        # Not psycopg's own cursor of the server: one that was forgotten closes itself in the middle of a later transaction.
        transaction = self._transaction
        self._portals += 1
        portal = f"portal_{self._portals}"
        self._execute(PostgresText(f"DECLARE {portal} CURSOR FOR {text_of(statement).sql}", False), parameters)
        fetch = PostgresText(f"FETCH {_ROWS_A_FETCH} FROM {portal}", False)
        while True:
            if transaction is not self._transaction:
                raise StoreError("the transaction that these rows are read in has ended")
            self._execute(fetch, _NOTHING)
            rows = self._cursor.fetchall()
            yield from rows
            if len(rows) < _ROWS_A_FETCH:
                return

    def run(self, statement: Statement, parameters: Mapping[str, SqlValue] = _NOTHING) -> int:
        self.touched = True
        self._execute(text_of(statement), parameters)
        return max(self._cursor.rowcount, 0)

    def run_many(self, statement: Statement, rows: Iterable[Mapping[str, SqlValue]]) -> None:
        self.touched = self.changed = True
        self._send(self._cursor.executemany, text_of(statement).sql, rows)

    def control(self, sql: str) -> Row | None:
        """BEGIN, SAVEPOINT and their like, several at once; the first row of the last one."""
        try:
            self._commands.execute(sql)
            while self._commands.nextset():
                pass
            return self._commands.fetchone() if self._commands.description else None
        except psycopg.Error as error:
            self.broken = self._noted(error)
            raise self.broken from error

    def end(self) -> None:
        """Give up what was begun; a connection that does not even do that is closed."""
        self._transaction = object()
        try:
            if self.connection.info.transaction_status != TransactionStatus.IDLE:
                self._commands.execute("ROLLBACK")
        except psycopg.Error:
            self.connection.close()

    def cut_off(self) -> None:
        """From another thread: end the connection under whatever waits for it."""
        try:
            with socket.socket(fileno=socket.dup(self.connection.fileno())) as wire:
                wire.shutdown(socket.SHUT_RDWR)
        except (psycopg.Error, OSError):
            return  # it has gone already

    def _execute(self, text: PostgresText, parameters: Mapping[str, SqlValue]) -> None:
        self.touched = self.touched or text.changes
        self._send(self._cursor.execute, text.sql, parameters)
        if text.changes and self._cursor.rowcount > 0:
            self.changed = True

    def _send(self, send: Callable[[str, Any], object], sql: str, parameters: Any) -> None:
        if self.broken is not None:
            raise self.broken
        if self._careful:
            self.control("SAVEPOINT statement")
        try:
            send(sql, parameters)
        except psycopg.Error as error:
            raise self._failed(error) from error
        if self._careful:
            self.control("RELEASE statement")

    def _failed(self, error: psycopg.Error) -> StoreError:
        """A statement failed: take it back, or note that nothing more can be done before that."""
        failure = self._noted(error)
        if isinstance(failure, _OF_THE_WHOLE_TRANSACTION):
            self.broken = failure
        elif self._careful:
            self.control("ROLLBACK TO statement; RELEASE statement")
        elif not self.in_transaction:
            self.aborted = self.touched = True
        return failure

    def _noted(self, error: psycopg.Error) -> StoreError:
        lost = self.connection.closed
        self.interruption = Interruption.LOST if lost else _interruption(error.sqlstate or "")
        return translate(error, lost=lost)
