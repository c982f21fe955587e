"""Values of any size in rows: every one that is stored goes through ``seal``, every one that is read through ``unseal``.

Large ones are put aside by content, and the row keeps their address. What else is done to them is the vault's affair.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headrace._base.vault import ASIDE, is_veil
from headrace._ports.database import Reader, Transaction
from headrace._store.keyring import keys_in_use
from headrace._store.statements import load
from headrace.errors import KeyMissing, StoreCorrupt

_QUERIES = load("headrace._store", "store.sql")

ASIDE_OVER = 128 * 1024
_SEALED_TEXT = "\x02"
_VEILED_TEXT = "(encrypted)"


def seal(tx: Transaction, value: bytes | None) -> bytes | None:
    """What a row keeps of a value."""
    vault = tx.vault
    if value is None or len(value) <= vault.plain_up_to:
        return value
    return vault.seal(value) if len(value) <= ASIDE_OVER else _put_aside(tx, value)


def unseal(reader: Reader, stored: bytes | None) -> bytes | None:
    """The value of which a row kept this; raises StoreCorrupt where it is not what was stored."""
    if not stored or stored[0] >= reader.vault.plain_from:
        return stored
    if stored.startswith(ASIDE):
        return _fetch(reader, stored[1:])
    return _opened(reader, stored)


def _put_aside(tx: Transaction, value: bytes) -> bytes:
    address = tx.vault.address(value)
    if tx.one(_QUERIES.payload_is_there, {"hash": address}) is None:
        tx.run(_QUERIES.put_payload, {"hash": address, "value": tx.vault.seal(value)})
    return ASIDE + address


def _fetch(reader: Reader, address: bytes) -> bytes:
    row = reader.one(_QUERIES.payload, {"hash": address})
    if row is None:
        raise StoreCorrupt(
            f"a value that was put aside is gone: {address.hex()}; run `headrace check`, then restore a backup"
        )
    return open_payload(reader, address, row[0])


def open_payload(reader: Reader, address: bytes, stored: bytes) -> bytes:
    """A value that was put aside; raises StoreCorrupt where it is another one than its address says."""
    value = _opened(reader, stored)
    if not (reader.vault.veils and is_veil(value)) and not reader.vault.fits(address, stored, value):
        raise StoreCorrupt(
            f"a value that was put aside is another one now: {address.hex()}; run `headrace check`, then restore a backup"
        )
    return value


def _opened(reader: Reader, stored: bytes) -> bytes:
    try:
        value = reader.vault.unseal(stored)
    except KeyMissing as missing:
        # A damaged id must not send anybody looking for a key that never was.
        if missing.key_ids[0] in keys_in_use(reader):
            raise
        raise StoreCorrupt("a value is damaged: it names a key that this store has never had") from missing
    if value is stored and reader.vault.key_ids:
        _check_plain(value)
    return value


def _check_plain(value: bytes) -> None:
    """Where values are encrypted, one that seems not to be may be a damaged one."""
    try:
        json.loads(value)
    except ValueError:
        raise StoreCorrupt("a value is damaged: it is neither encrypted nor JSON") from None


def seal_text(tx: Transaction, text: str) -> str:
    """What a row keeps of a text that may repeat a value: an error's message, say."""
    vault = tx.vault
    if not text or not vault.key_ids:
        return text
    return _SEALED_TEXT + base64.b64encode(vault.seal(text.encode())).decode()


def text_as_value(stored: str) -> bytes:
    """What a row keeps of a text, as it would keep it of a value."""
    if not stored.startswith(_SEALED_TEXT):
        return stored.encode()
    try:
        return base64.b64decode(stored[len(_SEALED_TEXT) :], validate=True)
    except ValueError:
        raise StoreCorrupt("an encrypted text is damaged; run `headrace check`, restore a backup") from None


def unseal_text(reader: Reader, stored: str) -> str:
    if not stored.startswith(_SEALED_TEXT):
        return stored
    text = _opened(reader, text_as_value(stored))
    return _VEILED_TEXT if reader.vault.veils and is_veil(text) else text.decode()


@contextmanager
def naming(place: Callable[[], str]) -> Iterator[None]:
    """Where a value turns out to be damaged, say whose it is."""
    try:
        yield
    except StoreCorrupt as damage:
        raise StoreCorrupt(f"{place()}: {damage}") from damage
