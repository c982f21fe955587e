"""The forms of stored values: each comes back as it was, or not at all."""

from __future__ import annotations

import base64
import builtins
import json
import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace._base import vault as module
from headrace._base.vault import COMPRESS_OVER, Key, Vault, as_text, is_veil, key_id, new_key, read_key
from headrace.errors import ConfigurationError, KeyMissing, StoreCorrupt

KEY, OTHER = bytes(range(32)), bytes(range(32, 64))
VAULTS = {"plain": Vault(), "encrypted": Vault([KEY]), "rotated": Vault([OTHER, KEY])}
SMALL = b'{"name":"ann"}'
LARGE = json.dumps([{"id": number, "name": "ann"} for number in range(300)]).encode()

anything_in_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=50) | st.dictionaries(st.text(), inner, max_size=20),
)


@pytest.mark.parametrize("vault", VAULTS.values(), ids=VAULTS)
@given(value=anything_in_json, times=st.integers(1, 200))
@settings(deadline=None)
def test_every_value_comes_back(vault: Vault, value: object, times: int) -> None:
    """Whatever the form, what a flow reads is what was recorded."""
    stored = json.dumps([value] * times).encode()

    assert vault.unseal(vault.seal(stored)) == stored


def test_a_small_value_without_a_key_is_stored_as_it_is() -> None:
    """The hot path pays one comparison of lengths, and the file can be read by any tool."""
    assert Vault().seal(SMALL) == SMALL
    assert len(SMALL) <= Vault().plain_up_to


def test_a_large_value_is_compressed() -> None:
    """Files of a third of the size are copied and backed up in a third of the time."""
    stored = Vault().seal(LARGE)

    assert stored[0] == 1
    assert len(stored) < len(LARGE) / 3


def test_what_does_not_get_smaller_is_not_compressed() -> None:
    """Packing what is packed already costs time at every reading and gives nothing."""
    noise = json.dumps(random.Random(1).randbytes(3 * COMPRESS_OVER).hex()).encode()
    packed = base64.b64encode(random.Random(1).randbytes(COMPRESS_OVER))

    assert Vault().seal(noise)[0] == 1  # hexadecimal digits are half a byte each
    assert Vault(compress_over=0).seal(b'"x"') == b'"x"'
    assert Vault().unseal(Vault().seal(packed)) == packed


@pytest.mark.parametrize("value", [SMALL, LARGE, b"null", b""], ids=["small", "large", "null", "empty"])
def test_an_encrypted_value_shows_nothing_of_itself(value: bytes) -> None:
    """This is what the key is for."""
    stored = Vault([KEY]).seal(value)

    assert stored[:5] == b"\x02" + bytes.fromhex(key_id(KEY))
    assert b"ann" not in stored


def test_a_large_value_is_compressed_before_it_is_encrypted() -> None:
    """The other way round nothing would get smaller."""
    assert len(Vault([KEY]).seal(LARGE)) < len(LARGE) / 3


def test_equal_values_look_different_when_encrypted() -> None:
    """Otherwise everybody could see which results are the same."""
    vault = Vault([KEY])

    assert vault.seal(SMALL) != vault.seal(SMALL)


def test_no_nonce_is_used_twice() -> None:
    """With one nonce for two values AES-GCM gives away both, and its own key for authentication."""
    key = Key(KEY)

    nonces = {key.encrypt(b"1")[5:17] for _ in range(10_000)} | {Key(KEY).encrypt(b"1")[5:17] for _ in range(100)}

    assert len(nonces) == 10_100


def test_nonces_run_over_without_an_error() -> None:
    """They are counted from a random number, which may be the last one there is."""
    nonces = module._Nonces()
    nonces._counted = iter([(1 << 96) - 1, 1 << 96])  # type: ignore[assignment]  # any iterator will do

    assert [nonces.take(), nonces.take()] == [b"\xff" * 12, bytes(12)]


def test_a_forked_process_counts_from_another_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parent and child would use the same nonces for different values."""
    nonces = module._Nonces()
    before = int.from_bytes(nonces.take(), "big")

    monkeypatch.setattr(os, "getpid", lambda: -1)

    assert int.from_bytes(nonces.take(), "big") != before + 1


@pytest.mark.parametrize("value", [SMALL, LARGE], ids=["small", "large"])
def test_a_flipped_bit_of_an_encrypted_value_is_noticed(value: bytes) -> None:
    """A changed value that passes would enter a flow as a recorded fact."""
    vault = Vault([KEY])
    stored = vault.seal(value)

    for position in range(len(stored)):
        for bit in range(8):
            changed = flipped(stored, position, bit)
            if changed[0] < 0x20:
                with pytest.raises((StoreCorrupt, KeyMissing)):
                    vault.unseal(changed)
            else:  # it looks as if it were not encrypted; whoever has the store sees that it is no JSON either
                with pytest.raises(ValueError, match=r".*"):
                    json.loads(vault.unseal(changed))


def test_a_flipped_bit_of_a_compressed_value_is_noticed() -> None:
    """Without its checksum a frame may unpack to something else without a complaint."""
    stored = Vault().seal(LARGE)

    for position in range(1, len(stored)):
        for bit in range(8):
            try:
                value = Vault().unseal(flipped(stored, position, bit))
            except StoreCorrupt:
                continue
            assert value == LARGE  # a bit of the header that means nothing


def flipped(stored: bytes, position: int, bit: int) -> bytes:
    changed = bytearray(stored)
    changed[position] ^= 1 << bit
    return bytes(changed)


@pytest.mark.parametrize("cut", [1, 4, 5, 16, 17, 32, 40])
def test_half_a_value_is_an_error(cut: int) -> None:
    """A file that was cut must not lead to an error that nobody expects."""
    with pytest.raises((StoreCorrupt, KeyMissing)):
        Vault([KEY]).unseal(Vault([KEY]).seal(SMALL)[:cut])


def test_half_a_frame_and_two_frames_are_errors() -> None:
    """zstd reads the first frame and says nothing of what follows it."""
    stored = Vault().seal(LARGE)

    for changed in (stored[:-1], stored[:10], b"\x01", stored + stored[1:]):
        with pytest.raises(StoreCorrupt):
            Vault().unseal(changed)


def test_an_unknown_form_is_an_error() -> None:
    """A newer Headrace may know it; this one must not take it for JSON."""
    with pytest.raises(StoreCorrupt, match="form 07"):
        Vault().unseal(b"\x07abc")


def test_another_key_is_named_not_tried() -> None:
    """Whoever looks for the right key needs to know which one that is."""
    with pytest.raises(KeyMissing) as refused:
        Vault([OTHER]).unseal(Vault([KEY]).seal(SMALL))

    assert refused.value.key_ids == (key_id(KEY),)
    assert key_id(KEY) in str(refused.value)


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    """Rotation without a moment in which something cannot be read."""
    before, during = Vault([KEY]), Vault([OTHER, KEY])
    old = before.seal(SMALL)
    new = during.seal(SMALL)

    assert (during.unseal(old), Vault([OTHER]).unseal(new)) == (SMALL, SMALL)
    assert (during.is_current(old), during.is_current(new), during.is_current(SMALL)) == (False, True, False)


def test_with_a_veil_a_missing_key_is_no_error() -> None:
    """Who looks at a store without its key shall see what can be seen."""
    seen = Vault(veil=True).unseal(Vault([KEY]).seal(SMALL))

    assert is_veil(seen)
    assert json.loads(seen) == {"encrypted": key_id(KEY)}
    assert not is_veil(SMALL)


def test_an_address_does_not_tell_the_content_to_those_without_the_key() -> None:
    """With a plain digest one could try out what a value might be."""
    plain, encrypted, other = Vault(), Vault([KEY]), Vault([OTHER])

    assert len({vault.address(LARGE) for vault in (plain, encrypted, other)}) == 3
    assert encrypted.address(LARGE) == Vault([KEY]).address(LARGE)
    assert encrypted.fits(encrypted.address(LARGE), encrypted.seal(LARGE), LARGE)
    assert not encrypted.fits(encrypted.address(LARGE), encrypted.seal(SMALL), SMALL)
    assert encrypted.fits(plain.address(LARGE), plain.seal(LARGE), LARGE)


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        base64.b64encode(KEY),
        base64.b64encode(KEY).decode(),
        f"  {base64.b64encode(KEY).decode()}\n",
        base64.urlsafe_b64encode(KEY).decode(),
    ],
    ids=["bytes", "ascii", "text", "with spaces", "for addresses"],
)
def test_keys_come_in_several_forms(key: str | bytes) -> None:
    """From a file, from the environment, from another program."""
    assert read_key(key) == KEY
    assert as_text(key) == base64.b64encode(KEY).decode() or isinstance(key, str)


@pytest.mark.parametrize("key", ["", "swordfish", "é" * 44, base64.b64encode(KEY[:31]).decode(), KEY[:31], b""])
def test_what_is_no_key_is_refused_without_being_repeated(key: str | bytes) -> None:
    """The text of an error ends up in logs; a mistyped key is nearly a key."""
    with pytest.raises(ConfigurationError, match="key 1 is not 32 bytes in base64") as refused:
        Vault([key])

    given = key if isinstance(key, str) else key.decode("latin-1")
    assert not given or given not in str(refused.value)


def test_a_new_key_is_one() -> None:
    """And never the same twice."""
    assert len(read_key(new_key())) == 32
    assert new_key() != new_key()


def test_nothing_shows_a_key() -> None:
    """Objects are printed by debuggers, logged by accident and pickled by test runners."""
    key = Key(KEY)
    vault = Vault([key, OTHER])
    secrets = {KEY.hex(), base64.b64encode(KEY).decode(), repr(KEY)}

    shown = " ".join(map(repr, (key, vault, [vault], {"vault": vault})))

    assert shown.startswith(f"<key {key_id(KEY)}> <vault with <key {key_id(KEY)}>, <key {key_id(OTHER)}>>")
    assert not [secret for secret in secrets if secret in shown]
    assert KEY not in [getattr(key, name) for name in Key.__slots__]


def test_without_the_package_the_install_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encryption is an extra; who sets a key without it must learn what to do."""
    imported: Callable[..., Any] = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    module._aes_gcm.cache_clear()

    with pytest.raises(ConfigurationError, match=r"pip install 'headrace\[encryption\]'"):
        Vault([KEY])
    assert Vault(veil=True).seal(SMALL) == SMALL
