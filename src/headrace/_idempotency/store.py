"""Rows in, values out."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._base.clock import Instant, to_micros
from headrace._idempotency.model import KEPT, Answer, Remembered
from headrace._ports.database import Reader, SqlValue, Transaction
from headrace._store.blobs import seal, unseal
from headrace._store.places import Place
from headrace._store.statements import load
from headrace.errors import Conflict

SQL = load("headrace._idempotency")

PLACES = (Place("idempotency", key=("key",), values=("body",)),)
"""Where answers stand that are given again."""
_FORGOTTEN_AT_ONCE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request with a key; ``hash`` tells it from any other request."""

    key: str
    route: str
    hash: bytes
    at: Instant

    def note(self, tx: Transaction) -> None:
        """In the transaction of the request's own effect: from its commit on it is known to have been carried out.

        Raises ``Conflict``, so that the effect is undone, where another request of this key came first.
        """
        if tx.run(SQL.note_request, self._parameters() | {"old": self.at - to_micros(KEPT)}):
            return
        # There is one already: this same request, which writes more than once, or one that another process carries out.
        if tx.one(SQL.noted_at, {"key": self.key}) != (self.at,):
            raise Conflict(
                "another request with the same idempotency key came first; send this one again to get its answer"
            )

    def keep(self, tx: Transaction, answer: Answer) -> None:
        """What will be answered, also to those who ask again; a few that are too old are forgotten."""
        more: dict[str, SqlValue] = {"status": answer.status, "type": answer.type, "body": seal(tx, answer.body)}
        tx.run(SQL.keep_answer, self._parameters() | more)
        tx.run(SQL.forget_old, {"before": self.at - to_micros(KEPT), "count": _FORGOTTEN_AT_ONCE})

    def _parameters(self) -> dict[str, SqlValue]:
        return {"key": self.key, "route": self.route, "hash": self.hash, "at": self.at}


def remembered(reader: Reader, key: str, now: Instant) -> Remembered | None:
    row = reader.one(SQL.remembered, {"key": key, "after": now - to_micros(KEPT)})
    if row is None:
        return None
    hash, status, type, body = row
    return Remembered(
        hash=hash, answer=None if status is None else Answer(status=status, type=type, body=unseal(reader, body) or b"")
    )
