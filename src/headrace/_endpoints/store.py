"""Rows in, values out. The subscription of an endpoint is made, paused and dropped in the transaction that does it to the endpoint."""

from __future__ import annotations

import json

from headrace._base.clock import Instant
from headrace._endpoints.model import Attempted, Endpoint, NewEndpoint
from headrace._endpoints.rules import check, subscription_of
from headrace._events.store import drop_subscription, open_cursors, pause_subscription
from headrace._ports.database import Reader, Row, SqlValue, Transaction
from headrace._store.blobs import seal, seal_text, unseal, unseal_text
from headrace._store.places import Place
from headrace._store.statements import load
from headrace.errors import Conflict, NotFound

SQL = load("headrace._endpoints")
PLACES = (Place("endpoints", key=("name",), values=("secret", "old_secret"), texts=("url",)),)
"""Where secrets and addresses stand."""


def add_endpoint(tx: Transaction, new: NewEndpoint, secret: str, at: Instant) -> Endpoint:
    """Begin with the next event; raises ``Conflict`` where there is an endpoint of that name."""
    check(new)
    row: dict[str, SqlValue] = {
        "name": new.name, "url": seal_text(tx, new.url), "topics": json.dumps(new.topics), "filter": new.filter,
        "allow_private": int(new.allow_private), "secret": _sealed(tx, secret), "at": at,
    }  # fmt: skip
    if not tx.run(SQL.add_endpoint, row):
        raise Conflict(f"there is an endpoint {new.name!r} already; use another name, or remove that one first")
    open_cursors(tx, subscription_of(new.name), parts=1, beginning=False, at=at)
    return endpoint(tx, new.name)


def endpoint(reader: Reader, name: str) -> Endpoint:
    found = find_endpoint(reader, name)
    if found is None:
        raise NotFound(f"there is no endpoint {name!r}; `headrace webhooks ls` lists them")
    return found


def find_endpoint(reader: Reader, name: str) -> Endpoint | None:
    row = reader.one(SQL.endpoint, {"name": name})
    return None if row is None else _endpoint(reader, row)


def endpoints(reader: Reader) -> list[Endpoint]:
    """All of them, by name."""
    return [_endpoint(reader, row) for row in reader.all(SQL.all_endpoints)]


def remove_endpoint(tx: Transaction, name: str, at: Instant) -> Endpoint:
    """Nothing goes there any more; what could not be delivered is not waited for."""
    found = endpoint(tx, name)
    tx.run(SQL.remove_endpoint, {"name": name})
    drop_subscription(tx, subscription_of(name), at)
    return found


def disable_endpoint(tx: Transaction, name: str, reason: str, at: Instant) -> Endpoint:
    """Nothing goes there until a person enables it; what comes meanwhile waits in the log."""
    endpoint(tx, name)
    tx.run(SQL.disable_endpoint, {"name": name, "reason": reason, "at": at})
    pause_subscription(tx, subscription_of(name), paused=True)
    return endpoint(tx, name)


def enable_endpoint(tx: Transaction, name: str) -> Endpoint:
    endpoint(tx, name)
    tx.run(SQL.enable_endpoint, {"name": name})
    pause_subscription(tx, subscription_of(name), paused=False)
    return endpoint(tx, name)


def rotate_secret(tx: Transaction, name: str, secret: str, *, until: Instant) -> Endpoint:
    """Sign with a new secret; the one before signs, too, up to a moment."""
    endpoint(tx, name)
    tx.run(SQL.rotate_secret, {"name": name, "secret": _sealed(tx, secret), "until": until})
    return endpoint(tx, name)


def note_attempt(tx: Transaction, name: str, attempted: Attempted) -> None:
    row: dict[str, SqlValue] = {
        "name": name, "at": attempted.at, "event": attempted.event, "topic": attempted.topic, "status": attempted.status,
    }  # fmt: skip
    if attempted.error:
        tx.run(SQL.note_failure, row | {"error": attempted.error})
    else:
        tx.run(SQL.note_success, row)


def _sealed(tx: Transaction, secret: str) -> bytes | None:
    return seal(tx, json.dumps(secret).encode())


def _opened(reader: Reader, stored: bytes | None) -> str | None:
    value = unseal(reader, stored)
    return None if value is None else str(json.loads(value))


def _endpoint(reader: Reader, row: Row) -> Endpoint:
    (
        name, url, topics, filter, allow_private, secret, old_secret, old_until, created_at, disabled_at, reason,
        last_at, last_event, last_topic, last_status, last_error, failures,
    ) = row  # fmt: skip
    last = None
    if last_at is not None:
        last = Attempted(at=last_at, event=last_event, topic=last_topic, status=last_status, error=last_error)
    return Endpoint(
        name=name, url=unseal_text(reader, url), topics=tuple(json.loads(topics)), filter=filter, allow_private=bool(allow_private),
        secret=_opened(reader, secret) or "", old_secret=_opened(reader, old_secret), old_until=old_until, created_at=created_at,
        disabled_at=disabled_at, reason=reason, last=last, failures=failures,
    )  # fmt: skip
