"""What stored values look like: as they are, compressed, encrypted.

The first byte tells the form; no JSON text begins with one of these.

``00``  put aside: the address of a value in the table of payloads, where it has one of the other forms
``01``  compressed: a frame of zstd, with its checksum
``02``  encrypted: id of the key (4 bytes), nonce (12), AES-256-GCM of a plain or compressed value, its tag (16)

The form and the id of the key are authenticated with the value. Everything that a key is used for has a subkey of its own.
"""

from __future__ import annotations

import base64
import hmac
import itertools
import os
import sys
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from typing import Any, Final

from headrace.errors import ConfigurationError, KeyMissing, StoreCorrupt

__all__ = ["ASIDE", "PLAIN", "Key", "Vault", "as_text", "is_veil", "key_id", "new_key", "read_key"]

ASIDE: Final = b"\x00"
_COMPRESSED: Final = b"\x01"
_ENCRYPTED: Final = b"\x02"
_FIRST_OF_JSON: Final = 0x20

_KEY_BYTES: Final = 32
_TO_STANDARD: Final = str.maketrans("-_", "+/")
_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_NONCES: Final = 1 << 8 * _NONCE_BYTES

# A larger value would take pages of its own beside the row. Unpacking costs about 12 microseconds, whatever the size.
COMPRESS_OVER: Final = 1024
# On JSON this packs as well as the higher levels do, in half the time or less.
_LEVEL: Final = 1
# Far more than any value may have: what claims to be larger is damaged, and must not take all memory first.
_MOST: Final = 64 * 2**20
_VEIL: Final = b'{"encrypted":"'


def new_key() -> str:
    """A fresh key in the form in which settings and ``Headrace(keys=[...])`` take it."""
    return base64.b64encode(os.urandom(_KEY_BYTES)).decode()


def key_id(key: str | bytes) -> str:
    """What a key is called where it must not be shown."""
    return sha256(b"headrace id" + read_key(key)).hexdigest()[: 2 * _ID_BYTES]


def as_text(key: str | bytes) -> str:
    """A key in the form of ``new_key``, to hand it on."""
    return base64.b64encode(read_key(key)).decode()


def read_key(key: str | bytes, name: str = "the key") -> bytes:
    """The bytes of a key; an error says what it is called, and nothing of what it is."""
    if isinstance(key, bytes) and len(key) == _KEY_BYTES:
        return key
    text = key.decode("ascii", "replace") if isinstance(key, bytes) else key
    try:
        raw = base64.b64decode(text.strip().translate(_TO_STANDARD), validate=True)
    except ValueError:
        raw = b""
    if len(raw) != _KEY_BYTES:
        raise ConfigurationError(f"{name} is not {_KEY_BYTES} bytes in base64; `headrace keys new` prints one that is")
    return raw


class Key:
    """One secret of 32 bytes. Neither its text nor any error has more of it than its id."""

    __slots__ = ("_addresses", "_cipher", "_nonces", "head", "id")

    def __init__(self, secret: str | bytes, *, name: str = "the key") -> None:
        raw = read_key(secret, name)
        self.id = key_id(raw)
        self.head = _ENCRYPTED + bytes.fromhex(self.id)
        self._addresses = _subkey(raw, b"addresses")
        self._cipher = _aes_gcm()(_subkey(raw, b"values"))
        self._nonces = _Nonces()

    def __repr__(self) -> str:
        return f"<key {self.id}>"

    def encrypt(self, value: bytes) -> bytes:
        nonce = self._nonces.take()
        sealed: bytes = self._cipher.encrypt(nonce, value, self.head)
        return self.head + nonce + sealed

    def decrypt(self, stored: bytes) -> bytes:
        begin = len(self.head)
        try:
            value: bytes = self._cipher.decrypt(
                stored[begin : begin + _NONCE_BYTES], stored[begin + _NONCE_BYTES :], self.head
            )
        except (_invalid_tag(), ValueError):
            raise StoreCorrupt(
                f"a value was changed or damaged: it does not fit key {self.id}; run `headrace check`, restore a backup"
            ) from None
        return value

    def address(self, value: bytes) -> bytes:
        return hmac.digest(self._addresses, value, "sha256")


class _Nonces:
    """Numbers that are used once with one key: counted up from a random one, as NIST SP 800-38D 8.2.2 allows.

    Random ones would have to be changed for another key after 2**32 values; ranges of this many meet far less often.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._counted = itertools.count(int.from_bytes(os.urandom(_NONCE_BYTES), "big"))

    def take(self) -> bytes:
        # A forked process would go on with the same numbers as its parent.
        if self._process != os.getpid():
            self._begin()
        return (next(self._counted) % _NONCES).to_bytes(_NONCE_BYTES, "big")


class Vault:
    """Turns values into what is stored of them, and back: over a size compressed, with keys encrypted.

    The first key encrypts, all of them decrypt. With ``veil`` a value under a key that is not among them reads as a
    note of that instead of an error, for those who look at a store and cannot do harm with it.
    """

    __slots__ = ("_by_head", "_compress_over", "_compressor", "_keys", "_veil", "plain_from", "plain_up_to")

    def __init__(
        self, keys: Iterable[str | bytes | Key] = (), *, compress_over: int = COMPRESS_OVER, veil: bool = False
    ) -> None:
        self._keys = tuple(
            key if isinstance(key, Key) else Key(key, name=f"key {number}") for number, key in enumerate(keys, 1)
        )
        self._by_head = {key.head: key for key in self._keys}
        self._compress_over = compress_over
        self._compressor: Any = None
        self._veil = veil
        # Two questions that the hot path asks without a call: is a value of this length stored as it is, and is a stored
        # one with this first byte given out as it is?
        self.plain_up_to = -1 if self._keys else compress_over
        self.plain_from = 0x100 if self._keys else _FIRST_OF_JSON

    def __repr__(self) -> str:
        return f"<vault with {', '.join(map(repr, self._keys)) or 'no key'}>"

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of the keys; the first one encrypts."""
        return tuple(key.id for key in self._keys)

    @property
    def veils(self) -> bool:
        return self._veil

    def seal(self, value: bytes) -> bytes:
        packed = self._compressed(value) if len(value) > self._compress_over else value
        return self._keys[0].encrypt(packed) if self._keys else packed

    def unseal(self, stored: bytes) -> bytes:
        """The value; raises StoreCorrupt where it is not what was stored, KeyMissing where it cannot be known."""
        if stored.startswith(_ENCRYPTED):
            stored = self._decrypted(stored)
        if stored.startswith(_COMPRESSED):
            return _decompressed(stored[1:])
        if stored and stored[0] < _FIRST_OF_JSON:
            raise StoreCorrupt(f"a value has the form {stored[0]:02x}, which there is not; run `headrace check`")
        return stored

    def is_current(self, stored: bytes) -> bool:
        """Whether a stored value is under the first key."""
        return stored.startswith(self._keys[0].head) if self._keys else not stored.startswith(_ENCRYPTED)

    def address(self, value: bytes) -> bytes:
        """Where a value is put aside: by content, but nobody without the key can guess the content from it."""
        return self._keys[0].address(value) if self._keys else sha256(value).digest()

    def fits(self, address: bytes, stored: bytes, value: bytes) -> bool:
        """Whether what was found at an address is what was put aside there."""
        key = self._by_head.get(stored[: len(_ENCRYPTED) + _ID_BYTES])
        return address == (key.address(value) if key is not None else sha256(value).digest())

    def _decrypted(self, stored: bytes) -> bytes:
        key = self._by_head.get(stored[: len(_ENCRYPTED) + _ID_BYTES])
        if key is not None:
            return key.decrypt(stored)
        missing = stored[len(_ENCRYPTED) : len(_ENCRYPTED) + _ID_BYTES].hex()
        if self._veil:
            return _VEIL + missing.encode() + b'"}'
        raise KeyMissing(missing)

    def _compressed(self, value: bytes) -> bytes:
        if self._compressor is None:
            zstd = _zstd()
            parameter = zstd.CompressionParameter
            self._compressor = zstd.ZstdCompressor(
                options={parameter.compression_level: _LEVEL, parameter.checksum_flag: 1}
            )
        frame: bytes = self._compressor.compress(value, self._compressor.FLUSH_FRAME)
        return _COMPRESSED + frame if len(frame) < len(value) else value


PLAIN: Final = Vault()
"""What a store has that nobody gave a key."""


def is_veil(value: bytes) -> bool:
    """Whether this is the note that stands for a value whose key is missing."""
    return value.startswith(_VEIL)


def _decompressed(frame: bytes) -> bytes:
    zstd = _zstd()
    decompressor = zstd.ZstdDecompressor()
    try:
        value: bytes = decompressor.decompress(frame, max_length=_MOST)
    except (zstd.ZstdError, MemoryError):
        value = b""
    if not decompressor.eof or decompressor.unused_data:
        raise StoreCorrupt("a compressed value is damaged; run `headrace check`, restore a backup")
    return value


def _subkey(secret: bytes, purpose: bytes) -> bytes:
    return hmac.digest(secret, b"headrace " + purpose, "sha256")


@cache
def _aes_gcm() -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise ConfigurationError(
            "a key is given, and encryption needs one more package: pip install 'headrace[encryption]'"
        ) from error
    return AESGCM


@cache
def _invalid_tag() -> type[Exception]:
    from cryptography.exceptions import InvalidTag

    return InvalidTag


@cache
def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
