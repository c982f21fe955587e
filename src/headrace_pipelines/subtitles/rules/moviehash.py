"""The fingerprint under which OpenSubtitles knows the very file for which a subtitle was made."""

from __future__ import annotations

import struct

PIECE = 65_536
"""How many bytes of the beginning and of the end are looked at."""
SMALLEST = 2 * PIECE

_WORDS = struct.Struct(f"<{PIECE // 8}Q")


def moviehash(size: int, head: bytes, tail: bytes) -> str | None:
    """The sum of size, first and last 64 KiB as 16 digits, or None for a file that is too small to have one."""
    if size < SMALLEST:
        return None
    if len(head) != PIECE or len(tail) != PIECE:
        raise ValueError(f"moviehash needs the first and the last {PIECE} bytes, not {len(head)} and {len(tail)}")
    total = size + sum(_WORDS.unpack(head)) + sum(_WORDS.unpack(tail))
    return f"{total & 0xFFFF_FFFF_FFFF_FFFF:016x}"
