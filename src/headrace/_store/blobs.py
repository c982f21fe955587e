"""Values of any size in rows: large ones are put aside by content, the row keeps a reference."""

from __future__ import annotations

from hashlib import sha256

from headrace._ports.database import Reader, Transaction
from headrace._store.statements import load
from headrace.errors import StoreCorrupt

_QUERIES = load("headrace._store", "store.sql")

ASIDE_OVER = 128 * 1024
REFERENCE = b"\x00"  # no JSON text begins with it


def put_aside(tx: Transaction, value: bytes | None) -> bytes | None:
    """A large value goes to its own table, by content; the row keeps a reference."""
    if value is None or len(value) <= ASIDE_OVER:
        return value
    digest = sha256(value).digest()
    tx.run(_QUERIES.put_payload, {"hash": digest, "value": value})
    return REFERENCE + digest


def fetch(reader: Reader, stored: bytes | None) -> bytes | None:
    if stored is None or not stored.startswith(REFERENCE):
        return stored
    row = reader.one(_QUERIES.payload, {"hash": stored[1:]})
    if row is None:
        raise StoreCorrupt(
            f"a value that was put aside is gone: {stored[1:].hex()}; run `headrace check`, then restore a backup"
        )
    value: bytes = row[0]
    return value
