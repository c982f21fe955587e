"""What this machine gives a store: which SQLite, and how fast its disk answers for what was written."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import apsw

# Before it a checkpoint that races a restart of the log can corrupt the file.
OLDEST_SOUND_SQLITE = (3, 51, 3)
_BLOCK = b"\x55" * 4096


def sqlite_version() -> str:
    """The version of the SQLite that opens stores; it comes with the driver."""
    return str(apsw.sqlite_lib_version())


def is_sound_sqlite() -> bool:
    return tuple(int(part) for part in sqlite_version().split(".")[:3]) >= OLDEST_SOUND_SQLITE


def sync_times(folder: Path, *, seconds: float, most: int = 10_000) -> list[float]:
    """Seconds that each write of a block took until the disk had it."""
    taken: list[float] = []
    with tempfile.TemporaryFile(dir=folder) as file:
        until = time.perf_counter() + seconds
        while len(taken) < most and (not taken or time.perf_counter() < until):
            began = time.perf_counter()
            file.write(_BLOCK)
            file.flush()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - began)
    return taken
