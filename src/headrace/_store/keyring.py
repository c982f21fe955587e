"""Which keys the values of a store are under.

The table ``meta`` has a row for each, with a few words encrypted by it: who comes without the key, or with another one,
learns it at the door and not in the middle of a run.
"""

from __future__ import annotations

from headrace._ports.database import Reader, Transaction
from headrace._store.statements import load
from headrace.errors import KeyMissing, StoreCorrupt

_QUERIES = load("headrace._store", "store.sql")
_PREFIX = "key:"
_CHECK = b'"headrace"'
_SWEPT = "swept_under"


def keys_in_use(reader: Reader) -> dict[str, bytes]:
    """The ids of the keys that values may be under, each with the check value that it encrypts."""
    rows = reader.all(_QUERIES.keys_in_use)
    return {name.removeprefix(_PREFIX): bytes.fromhex(value) for name, value in rows}


def missing_keys(reader: Reader) -> tuple[str, ...]:
    """The ids of the keys that values may be under and that the reader's vault has not."""
    return tuple(key_id for key_id in keys_in_use(reader) if key_id not in reader.vault.key_ids)


def refuse_missing(reader: Reader) -> None:
    """Raise KeyMissing unless the vault has every key that values of this store may be under."""
    if missing := missing_keys(reader):
        raise KeyMissing(*missing)
    vault = reader.vault
    for key_id, check in keys_in_use(reader).items():
        if vault.unseal(check) != _CHECK:
            raise StoreCorrupt(f"the check value of key {key_id} is damaged; run `headrace check`, restore a backup")


def admit(tx: Transaction) -> None:
    """Refuse a vault that cannot read the store, and note the key that it will write with."""
    refuse_missing(tx)
    vault = tx.vault
    if not vault.key_ids:
        return
    first = vault.key_ids[0]
    if first not in keys_in_use(tx):
        tx.run(_QUERIES.set_meta, {"name": _PREFIX + first, "value": vault.seal(_CHECK).hex()})
    if not is_swept(tx, first):
        tx.run(_QUERIES.forget_meta, {"name": _SWEPT})


def keep_only(tx: Transaction, key_id: str) -> tuple[str, ...]:
    """No value is under any other key any more; returns those that are not needed from now on."""
    others = tuple(other for other in keys_in_use(tx) if other != key_id)
    for other in others:
        tx.run(_QUERIES.forget_meta, {"name": _PREFIX + other})
    return others


def is_swept(reader: Reader, key_id: str) -> bool:
    """Whether the file was written anew since it had anything that is not under this key."""
    return reader.one(_QUERIES.meta_value, {"name": _SWEPT}) == (key_id,)


def note_swept(tx: Transaction, key_id: str) -> None:
    tx.run(_QUERIES.set_meta, {"name": _SWEPT, "value": key_id})
