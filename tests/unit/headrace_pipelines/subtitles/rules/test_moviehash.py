"""The fingerprint of a video."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.rules.moviehash import PIECE, moviehash


@pytest.mark.parametrize(
    "data, digits",
    [
        (bytes(131_072), "0000000000020000"),
        (b"\xff" * 131_072, "000000000001c000"),
        (bytes(i % 256 for i in range(200_000)), "a0601fdf9f620d40"),
        (bytes(7 * i % 251 for i in range(1_000_003)), "92acb3d2da072802"),
    ],
    ids=["zeros", "ones", "counting", "sevens"],
)
def test_known_fingerprints(data: bytes, digits: str) -> None:
    """One wrong digit, and no provider knows the file."""
    assert moviehash(len(data), data[:PIECE], data[-PIECE:]) == digits


@pytest.mark.parametrize("size, digits", [(12_909_756, "8e245d9679d31e12"), (4_295_033_890, "61f7751fc2a72bfb")])
def test_sizes_and_sums_beyond_their_bits_wrap_around(size: int, digits: str) -> None:
    """The two files by which all programs check themselves: their bytes are elsewhere, their sizes and sums are these."""
    words = (int(digits, 16) - size) % 2**64
    head, tail = bytearray(PIECE), bytearray(PIECE)
    head[:8] = ((words + 5) % 2**64).to_bytes(8, "little")
    tail[-8:] = (2**64 - 5).to_bytes(8, "little")

    assert moviehash(size, bytes(head), bytes(tail)) == digits


def test_small_files_have_none() -> None:
    """Beginning and end would overlap, and programs differ in what they make of it."""
    assert moviehash(131_071, bytes(PIECE), bytes(PIECE)) is None
    assert moviehash(0, b"", b"") is None


def test_half_a_piece_is_an_error() -> None:
    """A short read would give a fingerprint that belongs to another file."""
    with pytest.raises(ValueError, match="the first and the last 65536 bytes, not 65536 and 10"):
        moviehash(1_000_000, bytes(PIECE), bytes(10))
