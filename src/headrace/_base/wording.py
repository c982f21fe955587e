"""Numbers, times and amounts in the words that people use; the same on the command line and on pages."""

from __future__ import annotations

from datetime import timedelta


def duration(length: timedelta) -> str:
    """Two digits that matter."""
    seconds = length.total_seconds()
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    if seconds >= 10:
        return f"{seconds:.0f} s"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size(octets: int) -> str:
    """Bytes with the unit that leaves few digits."""
    amount = float(octets)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
