"""What the writer writes on when the store is a Postgres database: transactions that survive the loss of a connection.

A connection that is lost before COMMIT took everything with it, so the batch runs again on a new one. One that is lost
while the answer to COMMIT was under way leaves a doubt, and only the database can say: the number of the transaction is
known since it began.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping

from headrace._base import log
from headrace._base.clock import SystemClock
from headrace._ports.database import SqlValue
from headrace._store import postgres_ownership as ownership
from headrace._store.location import PostgresUrl
from headrace._store.postgres_connection import Interruption, Session, connect
from headrace._store.statements import load
from headrace.errors import StoreBusy, StoreError, StoreFailed

_HERE = load("headrace._store", "postgres.sql")
_STORE = load("headrace._store", "store.sql")

# One round trip. The number makes a transaction one that the server can be asked about later.
_BEGIN = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
    " SELECT pg_current_xact_id()::text, (SELECT value FROM meta WHERE name = 'owner_epoch')"
)
_OUTCOMES = {"committed": True, "aborted": False, "in progress": None}
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_MOST_TRIES = 20


class PostgresMedium:
    advice = "look at the database server, restart"

    def __init__(self, session: Session, place: PostgresUrl, *, epoch: str | None, patience: float) -> None:
        self.session = session
        self._place = place
        self._epoch = epoch
        self._patience = patience
        self._clock = SystemClock()
        # Connections that the server may still hold open, with their locks, though this process has lost them.
        self._former = [_known_as(session)]
        self._pids = [former["pid"] for former in self._former]
        self._xid = ""
        self._acknowledged = ""
        self._tries = 0
        self._lost_at: float | None = None
        self._hurried = threading.Event()
        self._is_cut_off = False

    # What the writer asks

    def begin(self, *, apart: bool) -> None:
        session = self.session
        session.renew(careful=apart)
        row = session.control(_BEGIN)
        assert row is not None
        self._xid = row[0]
        if self._tries:
            # Those who were in each other's way take turns now, like those who publish: the one and only lock comes first.
            session.one(_STORE.lock_log)
        if self._epoch is not None and row[1] != self._epoch:
            raise ownership.lost()

    def commit(self) -> None:
        session = self.session
        if not session.in_transaction:
            raise StoreFailed("an operation ended the transaction, which is the writer's affair; restart")
        try:
            session.control("COMMIT")
        except StoreBusy as failure:
            if session.interruption is not Interruption.LOST:
                raise
            if not self._was_committed(failure):
                session.interruption = Interruption.ROLLED_BACK
                raise
        if session.changed:
            self._acknowledged = self._xid
        self._tries = 0

    def roll_back(self) -> None:
        self.session.end()

    def recover(self, failure: StoreError) -> None:
        interruption = self.session.interruption if isinstance(failure, StoreBusy) else None
        if interruption is Interruption.LOST:
            self._come_back(failure)
        elif interruption is Interruption.ROLLED_BACK and self._tries < _MOST_TRIES:
            self._tries += 1
            # Those who were in each other's way must not meet again.
            self._hurried.wait(random.random() * 0.005 * self._tries)
        else:
            self._tries = 0
            raise failure

    def tend(self) -> None:
        """The server looks after itself."""

    def leave(self, *, in_order: bool) -> None:
        session = self.session
        try:
            session.end()
            session.renew()
            if self._epoch is not None and not session.connection.closed:
                if in_order:
                    self._mark_as_left_in_order()
                ownership.let_go(session, self._place)
        finally:
            session.connection.close()

    def hurry(self, *, cut_off: bool) -> None:
        self._is_cut_off = cut_off
        self._hurried.set()
        if cut_off:
            self.session.cut_off()

    def _mark_as_left_in_order(self) -> None:
        self.begin(apart=False)
        self.session.run(_STORE.set_meta, {"name": "left_in_order", "value": "yes"})
        self.session.control("COMMIT")

    def is_own(self, pid: int) -> bool:
        """Whether that is what the server calls the connection that writes."""
        return pid in self._pids

    # When the connection was lost

    def _come_back(self, failure: StoreError) -> None:
        """Connect again, as long as callers can be kept waiting; what they asked for was not recorded."""
        self._note_loss(failure)
        for pause in _pauses():
            try:
                self._connect_again()
                return
            except StoreBusy:
                if self._has_waited_enough() or self._hurried.wait(pause):
                    raise

    def _was_committed(self, failure: StoreError) -> bool:
        """The answer to COMMIT was lost. Nobody can be told anything before the database is there again to be asked."""
        self._note_loss(failure)
        for pause in _pauses():
            outcome = self._ask_for_outcome()
            if outcome is not None:
                return outcome
            if self._hurried.wait(pause):
                break
        raise _unknown()

    def _ask_for_outcome(self) -> bool | None:
        try:
            if self.session.connection.closed:
                self._connect_again()
            outcome = _outcome(Session(self.session.connection), self._xid)
        except StoreBusy:
            return None
        if outcome not in _OUTCOMES:
            raise _unknown()
        return _OUTCOMES[outcome]

    def _note_loss(self, failure: StoreError) -> None:
        self.session.connection.close()
        if self._lost_at is None:
            self._lost_at = self._clock.monotonic()
            log.warning("store.connection_lost", store=str(self._place), detail=str(failure))

    def _has_waited_enough(self) -> bool:
        return self._lost_at is not None and self._clock.monotonic() - self._lost_at > self._patience

    def _connect_again(self) -> None:
        if self._is_cut_off:
            raise StoreBusy("the connection was given up")
        connection = connect(self._place, writes=True)
        session = Session(connection)
        try:
            self._end_former(session)
            if self._epoch is not None:
                ownership.take_again(session, self._place, self._epoch)
            self._check_acknowledged(session)
        except BaseException:
            connection.close()
            raise
        self.session.use(connection)
        self._former = self._former[-1:]
        self._pids = [former["pid"] for former in self._former]
        self._lost_at = None
        log.info("store.connected_again", store=str(self._place))

    def _end_former(self, session: Session) -> None:
        known_as = _known_as(session)
        for former in self._former:
            session.one(_HERE.end_connection, former)
        # Noted before it takes any lock: it may be lost at once.
        self._former = [*self._former, known_as]

    def _check_acknowledged(self, session: Session) -> None:
        """The engine has acted on what was acknowledged; a server that does not have it would let memory run ahead of it."""
        if self._acknowledged and _outcome(session, self._acknowledged) == "aborted":
            raise StoreFailed(
                "the database has lost what it had acknowledged: it was restored, or a standby that lagged took over. "
                "Restart: runs go on from what is recorded there"
            )


def _pauses() -> Iterator[float]:
    pause = _FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)


def _known_as(session: Session) -> Mapping[str, SqlValue]:
    row = session.one(_HERE.this_connection)
    assert row is not None
    return {"pid": row[0], "began": row[1]}


def _unknown() -> StoreFailed:
    return StoreFailed("nobody can say whether the last operations were recorded; the next start finds out")


def _outcome(session: Session, xid: str) -> str:
    try:
        row = session.one(_HERE.outcome_of, {"xid": xid})
    except StoreBusy:
        raise
    except StoreError:
        return "aborted"  # a number that this server has not given out
    return str(row and row[0])
