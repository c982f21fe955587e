"""Hearing that another process has committed something: LISTEN on a connection of its own, in a thread of its own.

A notification says only that there is something new; what it is stands in the tables. So one that is lost with a connection does no
harm: whoever listens is told everything once more when it is connected again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import psycopg

from headrace._store.location import PostgresUrl
from headrace._store.postgres_connection import Session, connect
from headrace.errors import HeadraceError

_SECONDS_BEFORE_CONNECTING_AGAIN = 1.0
_EVERYTHING = ("log", "parts", "calls")


class News:
    """Calls back on the loop with ``log``, ``parts`` or ``calls``, unless the news is this process's own."""

    def __init__(
        self,
        place: PostgresUrl,
        loop: asyncio.AbstractEventLoop,
        *,
        told: Callable[[str], None],
        is_own: Callable[[int], bool],
    ) -> None:
        self._place = place
        self._loop = loop
        self._told = told
        self._is_own = is_own
        self._closed = threading.Event()
        self._session: Session | None = None
        threading.Thread(target=self._work, name="headrace-news", daemon=True).start()

    def close(self) -> None:
        """Nothing is told any more; does not wait for the thread, which may wait for the server."""
        self._closed.set()
        session = self._session
        if session is not None:
            session.cut_off()

    def _work(self) -> None:
        while not self._closed.is_set():
            try:
                self._listen()
            except (psycopg.Error, HeadraceError):
                self._closed.wait(_SECONDS_BEFORE_CONNECTING_AGAIN)

    def _listen(self) -> None:
        connection = connect(self._place, writes=False)
        self._session = Session(connection)
        try:
            if self._closed.is_set():
                return  # whoever closed could not see this connection yet
            connection.execute("LISTEN headrace")
            for what in _EVERYTHING:
                self._tell(what)
            for notice in connection.notifies():
                schema, _, what = notice.payload.partition(" ")
                if self._closed.is_set():
                    return
                if schema == self._place.schema and not self._is_own(notice.pid):
                    self._tell(what)
        finally:
            self._session = None
            connection.close()

    def _tell(self, what: str) -> None:
        try:
            self._loop.call_soon_threadsafe(self._deliver, what)
        except RuntimeError:
            self._closed.set()  # the loop was closed under the store: nobody is left to be told

    def _deliver(self, what: str) -> None:
        if not self._closed.is_set():
            self._told(what)
