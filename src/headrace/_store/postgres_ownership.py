"""Who owns a schema: a lock of the writing connection, and an epoch.

The server frees the lock when it notices that the connection is gone, and another process may take it then. So whoever
lost its connection takes the lock again, and the epoch says whether somebody else had it meanwhile.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

from headrace._base.clock import SystemClock
from headrace._store.location import PostgresUrl
from headrace._store.ownership import Owner, refusal, this_process
from headrace._store.postgres_connection import Session
from headrace._store.statements import load
from headrace.errors import StoreBusy, StoreLost, StoreOwned

_HERE = load("headrace._store", "postgres.sql")
_STORE = load("headrace._store", "store.sql")

# A server needs a moment to notice that an owner which was killed is gone.
_TRIES = 50
_PAUSE = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Held from opening to closing."""

    epoch: str
    owner: Owner
    left_in_order: bool


def lock(session: Session, place: PostgresUrl) -> None:
    """Hold the schema, or raise ``StoreOwned`` naming who does."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)  # noqa: TID251  a pause of the operating system's time, in no event loop
        if session.one(_HERE.try_to_own, {"schema": place.schema}) == (1,):
            return
    raise StoreOwned(refusal(f"the schema {place.schema} of {place}", _read(session)))


def begin_epoch(session: Session) -> Ownership:
    """After locking and migrating: from here on every earlier owner is refused."""
    session.control("BEGIN")
    meta = {name: _meta(session, name) for name in ("owner_epoch", "left_in_order")}
    epoch = str(int(meta["owner_epoch"] or "0") + 1)
    owner = this_process(SystemClock().now())
    for name, value in (("owner_epoch", epoch), ("left_in_order", "no"), ("owner", in_words(owner))):
        session.run(_STORE.set_meta, {"name": name, "value": value})
    session.control("COMMIT")
    return Ownership(epoch=epoch, owner=owner, left_in_order=(meta["left_in_order"] or "yes") == "yes")


def take_again(session: Session, place: PostgresUrl, epoch: str) -> None:
    """On a new connection; raises ``StoreLost`` when another process was the owner meanwhile."""
    is_locked = session.one(_HERE.try_to_own, {"schema": place.schema}) == (1,)
    if _meta(session, "owner_epoch") != epoch:
        raise lost()
    if not is_locked:
        raise StoreBusy("the server still holds the connection that this process has lost")


def lost() -> StoreLost:
    return StoreLost("another process has taken the store over since; this one must stop")


def let_go(session: Session, place: PostgresUrl) -> None:
    session.one(_HERE.disown, {"schema": place.schema})


def read_owner(session: Session, place: PostgresUrl) -> Owner | None:
    """Who holds the schema now, or None when nobody does."""
    return _read(session) if session.one(_HERE.is_owned, {"schema": place.schema}) is not None else None


def in_words(owner: Owner) -> str:
    return json.dumps(asdict(owner))


def _read(session: Session) -> Owner | None:
    if session.one(_HERE.has_meta) != (1,):
        return None  # whoever holds it is about to make it
    text = _meta(session, "owner")
    return None if text is None else Owner(**json.loads(text))


def _meta(session: Session, name: str) -> str | None:
    row = session.one(_STORE.meta_value, {"name": name})
    return None if row is None else str(row[0])
