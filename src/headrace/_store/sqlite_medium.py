"""What the writer writes on when the store is a SQLite file: transactions, checkpoints and a clean end."""

from __future__ import annotations

import apsw

from headrace._store import statements
from headrace._store.connection import BUSY_MILLISECONDS, Session, checkpoint, translate
from headrace.errors import StoreError, StoreLost

_QUERIES = statements.load("headrace._store", "store.sql")
_OWNER_EPOCH = _QUERIES.owner_epoch
_SET_META = _QUERIES.set_meta

_CHECKPOINT_PAGES = 2_000
_LONG_LOG_PAGES = 16 * _CHECKPOINT_PAGES
_PATIENCE_WITH_READERS = 100


class SqliteMedium:
    advice = "look at the disk, run `headrace check`, restart"

    def __init__(self, session: Session, connection: apsw.Connection, epoch: int) -> None:
        self.session = session
        self._connection = connection
        self._epoch = (str(epoch),)
        self._log_pages = 0
        self._checkpointed_pages = 0
        connection.set_wal_hook(self._on_commit)

    def begin(self, *, apart: bool) -> None:
        session = self.session
        session.broken = None
        session.control("BEGIN IMMEDIATE")
        if session.one(_OWNER_EPOCH) != self._epoch:
            raise StoreLost("another process has opened the store for writing since; this one must stop")

    def commit(self) -> None:
        self.session.control("COMMIT")
        self.roll_back()

    def roll_back(self) -> None:
        try:
            self.session.end()
        except apsw.Error as error:
            raise translate(error, self._connection.system_errno) from error

    def recover(self, failure: StoreError) -> None:
        # Nothing that fails on a disk passes at once; what a full one refused is offered again by whoever wants it written.
        raise failure

    def tend(self) -> None:
        if self._log_pages < self._checkpointed_pages:
            self._checkpointed_pages = 0
        if self._log_pages - self._checkpointed_pages < _CHECKPOINT_PAGES:
            return
        self._checkpointed_pages = self._log_pages
        if self._log_pages >= _LONG_LOG_PAGES:
            self._connection.set_busy_timeout(_PATIENCE_WITH_READERS)
            checkpoint(self._connection, truncate=True)
            self._connection.set_busy_timeout(BUSY_MILLISECONDS)
        else:
            checkpoint(self._connection, truncate=False)

    def leave(self, *, in_order: bool) -> None:
        try:
            self.session.end()
            if in_order:
                self._mark_as_left_in_order()
                # The last one to leave in order takes the empty log along.
                self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        except apsw.Error as error:
            raise translate(error, self._connection.system_errno) from error
        finally:
            self._connection.close(True)

    def hurry(self, *, cut_off: bool) -> None:
        """There is nothing to wait for but the disk, which cannot be told to hurry."""

    def _on_commit(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    def _mark_as_left_in_order(self) -> None:
        self.begin(apart=False)
        self.session.run(_SET_META, {"name": "left_in_order", "value": "yes"})
        self.session.control("COMMIT")
        self._connection.set_busy_timeout(_PATIENCE_WITH_READERS)
        checkpoint(self._connection, truncate=True)
