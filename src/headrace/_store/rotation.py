"""Putting everything that a store holds under the first key of its vault.

The rows are gone through in slices, each a transaction of its own, so that a kill loses one slice at most and the next try goes
on behind it: a value that is under the first key already is left alone. What was put aside gets a new address, since the
address depends on the key. Only when nothing is under them any more are the older keys, and what was put aside under
them, forgotten. At last the file, or each table of a database, is written anew: freed pages keep what stood in them.
"""

from __future__ import annotations

import asyncio
from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial

from headrace._base.vault import ASIDE, Vault
from headrace._ports.database import Database, Row, SqlValue, Transaction
from headrace._store import keyring, maintenance
from headrace._store.blobs import naming, seal, seal_text, text_as_value, unseal, unseal_text
from headrace._store.location import Location, PostgresUrl
from headrace._store.opening import is_there, open_store
from headrace._store.places import Place, PlacedRow
from headrace._store.statements import load
from headrace.errors import ConfigurationError

_QUERIES = load("headrace._store", "store.sql")
_ROWS = 500
_BYTES = 2 * 2**20
_PAYLOADS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What was done: how many values and texts were written anew, which keys nothing is under any more."""

    key: str
    rewritten: int
    forgotten: tuple[str, ...]
    written_anew: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slice:
    """``moved`` leads from what rows had of values that were put aside to what they have now."""

    last: Row | None
    rewritten: int
    moved: Mapping[bytes, bytes]


async def rotate_store(location: Location, vault: Vault, places: Sequence[Place]) -> Rotated:
    """Own a store for as long as it takes; may be stopped at any moment and called again."""
    key = _first_key(location, vault)
    database = await open_store(location, vault=vault)
    try:
        rewritten, forgotten = await rotate(database, key, places)
        swept = database.read(lambda reader: keyring.is_swept(reader, key))
    finally:
        await database.close()
    due = bool(rewritten) or not swept
    if due:
        await asyncio.to_thread(_write_anew, location, vault, lambda tx: keyring.note_swept(tx, key))
    return Rotated(key=key, rewritten=rewritten, forgotten=forgotten, written_anew=due)


def _write_anew(location: Location, vault: Vault, note: Callable[[Transaction], None]) -> None:
    if isinstance(location, PostgresUrl):
        from headrace._store import postgres_maintenance

        postgres_maintenance.write_anew(location, vault, note)
    else:
        maintenance.write_anew(location, vault, note)


def _first_key(location: Location, vault: Vault) -> str:
    if not is_there(location):
        raise ConfigurationError(f"there is no store at {location}; give another path")
    if not vault.key_ids:
        raise ConfigurationError("no key is given: set HEADRACE_STORE__KEY; `headrace keys new` prints one")
    return vault.key_ids[0]


async def rotate(
    database: Database, key: str, places: Sequence[Place], *, rows: int = _ROWS
) -> tuple[int, tuple[str, ...]]:
    """Put all values under the first key; returns how many were not, and which keys nothing is under any more."""
    rewritten = 0
    moved: dict[bytes, bytes] = {}
    for place in places:
        after: Row | None = None
        while True:
            done = await database.write(partial(_rotate_slice, place=place, after=after, rows=rows, moved=moved))
            if done.last is None:
                break
            rewritten += done.rewritten
            moved |= done.moved
            after = done.last
    await _forget_payloads(database)
    return rewritten, await database.write(partial(keyring.keep_only, key_id=key))


def _rotate_slice(tx: Transaction, *, place: Place, after: Row | None, rows: int, moved: dict[bytes, bytes]) -> _Slice:
    # Read first, then write: rows that change under an open cursor may come twice.
    found = _read_slice(tx, place, after, rows)
    newly: dict[bytes, bytes] = {}
    rewritten = 0
    for row in found:
        with naming(row.__str__):
            changed = _sealed_anew(tx, row, ChainMap(newly, moved))
        if changed:
            tx.run(place.update(tuple(changed)), {**dict(zip(place.key, row.key, strict=True)), **changed})
            rewritten += len(changed)
    return _Slice(last=found[-1].key if found else None, rewritten=rewritten, moved=newly)


def _read_slice(tx: Transaction, place: Place, after: Row | None, most: int) -> list[PlacedRow]:
    found = []
    size = 0
    rows = place.rows(tx, after=after, count=most)
    for row in rows:
        found.append(row)
        size += sum(map(len, row.values.values()))
        if size > _BYTES:
            break
    rows.close()
    return found


def _sealed_anew(tx: Transaction, row: PlacedRow, moved: MutableMapping[bytes, bytes]) -> dict[str, SqlValue]:
    changed: dict[str, SqlValue] = {}
    for column, stored in row.values.items():
        if stored.startswith(ASIDE):
            new = _moved(tx, stored, moved)
            if new != stored:
                changed[column] = new
        elif not tx.vault.is_current(stored):
            changed[column] = seal(tx, unseal(tx, stored))
    for column, text in row.texts.items():
        if not tx.vault.is_current(text_as_value(text)):
            changed[column] = seal_text(tx, unseal_text(tx, text))
    return changed


def _moved(tx: Transaction, stored: bytes, moved: MutableMapping[bytes, bytes]) -> bytes | None:
    if stored not in moved:
        head = tx.one(_QUERIES.payload_head, {"hash": stored[len(ASIDE) :]})
        if head is not None and tx.vault.is_current(head[0]):
            return stored
        new = seal(tx, unseal(tx, stored))
        assert new is not None
        moved[stored] = new
    return moved[stored]


async def _forget_payloads(database: Database) -> None:
    """Values that were put aside under older keys; no row has their addresses any more."""
    after: bytes | None = b""
    while after is not None:
        after = await database.write(partial(_forget_some_payloads, after=after))


def _forget_some_payloads(tx: Transaction, *, after: bytes) -> bytes | None:
    last: bytes | None = None
    for address, head in tx.all(_QUERIES.payload_heads, {"after": after, "count": _PAYLOADS}):
        if not tx.vault.is_current(head):
            tx.run(_QUERIES.forget_payload, {"hash": address})
        last = address
    return last
