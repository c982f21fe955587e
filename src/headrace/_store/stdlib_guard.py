"""Keeps the standard library's ``sqlite3`` from opening a store file in the process that owns it.

Two SQLite libraries in one process do not know of each other: when one closes the file, the kernel drops the other's
locks on it, and the file can be corrupted.
"""

from __future__ import annotations

import os
import sys
import threading
import urllib.parse
from pathlib import Path

from headrace.errors import ConfigurationError

_Identity = tuple[int, int]

_open_files: dict[_Identity, int] = {}
_lock = threading.Lock()
_installed = False


def guard(path: Path) -> None:
    """Refuse ``sqlite3.connect`` on this file until ``release``."""
    global _installed
    identity = _identity(path)
    if identity is None:
        return
    with _lock:
        _open_files[identity] = _open_files.get(identity, 0) + 1
        if not _installed:
            sys.addaudithook(_on_event)
            _installed = True


def release(path: Path) -> None:
    identity = _identity(path)
    with _lock:
        if identity is None or identity not in _open_files:
            return
        _open_files[identity] -= 1
        if not _open_files[identity]:
            del _open_files[identity]


def _on_event(event: str, arguments: tuple[object, ...]) -> None:
    if event != "sqlite3.connect" or not _open_files:
        return
    path = _path_of(arguments[0])
    if path is not None and _identity(path) in _open_files:
        raise ConfigurationError(
            f"sqlite3.connect({str(path)!r}) in the process that owns this store would drop its locks and could corrupt it. "
            "Read through the store (Database.read), open it from another process, or use a file of your own"
        )


def _path_of(database: object) -> Path | None:
    if not isinstance(database, (str, bytes, os.PathLike)):
        return None
    text = os.fsdecode(database)
    if text.startswith("file:"):
        text = urllib.parse.unquote(urllib.parse.urlsplit(text).path)
    return Path(text) if text and text != ":memory:" else None


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
