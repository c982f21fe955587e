"""Who owns a store file: a lock on a file beside it.

The lock is never taken on the database itself: closing any other descriptor of that file in this process would drop it,
and with it the locks of SQLite. The epoch in the database guards where a lock cannot (see ``GroupCommit``).
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
import weakref
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from headrace._base.clock import Instant, to_datetime
from headrace.errors import StoreOwned

# Whoever asks who the owner is holds the lock for a moment.
_TRIES = 25
_PAUSE = 0.02
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that holds a store file, and where it answers."""

    pid: int
    host: str
    boot_id: str
    started_at: Instant
    address: str | None = None
    token_file: str | None = None


def lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


class OwnerLock:
    """Held from opening to closing; the kernel frees it when the process dies."""

    def __init__(self, descriptor: int, owner: Owner) -> None:
        self._descriptor: int | None = descriptor
        self.owner = owner
        _held.add(self)
        self._write()

    def announce(self, address: str | None, token_file: str | None) -> None:
        """Say where the owner answers, for those who want something changed."""
        self.owner = replace(self.owner, address=address, token_file=token_file)
        self._write()

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self) -> None:
        assert self._descriptor is not None
        text = json.dumps(asdict(self.owner), indent=1).encode() + b"\n"
        os.pwrite(self._descriptor, text, 0)
        os.ftruncate(self._descriptor, len(text))


_held: weakref.WeakSet[OwnerLock] = weakref.WeakSet()


def _let_go_in_child() -> None:
    # A forked worker that outlives a killed owner would keep the file locked.
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_let_go_in_child)


def acquire(path: Path, *, now: Instant) -> OwnerLock:
    """Become the owner of a store file, or raise ``StoreOwned`` naming who is."""
    descriptor = os.open(lock_path(path), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not _lock(descriptor, fcntl.LOCK_EX, tries=_TRIES):
        owner = _read(descriptor)
        os.close(descriptor)
        raise StoreOwned(refusal(str(path), owner))
    return OwnerLock(descriptor, this_process(now))


def this_process(now: Instant) -> Owner:
    return Owner(pid=os.getpid(), host=socket.gethostname(), boot_id=_boot_id(), started_at=now)


def read_owner(path: Path) -> Owner | None:
    """Who holds the file now, or None when nobody does."""
    try:
        descriptor = os.open(lock_path(path), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        if _lock(descriptor, fcntl.LOCK_SH, tries=1):
            return None
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, kind: int, *, tries: int) -> bool:
    for attempt in range(tries):
        if attempt:
            time.sleep(_PAUSE)  # noqa: TID251  a pause of the operating system's time, in no event loop
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _read(descriptor: int) -> Owner | None:
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)  # noqa: TID251  a pause of the operating system's time, in no event loop
        try:
            return Owner(**json.loads(os.pread(descriptor, 65_536, 0)))
        except (ValueError, TypeError):
            # The owner is writing it, or has not yet.
            continue
    return None


def refusal(store: str, owner: Owner | None) -> str:
    """What the second one is told who wants to own a store."""
    if owner is None:
        return f"{store} is owned by another process; stop that one first"
    since = to_datetime(owner.started_at).isoformat(timespec="seconds")
    where = f", which answers at {owner.address}" if owner.address else ""
    return (
        f"{store} is owned by process {owner.pid} on {owner.host} since {since}{where}. "
        f"Stop it first (kill {owner.pid}), or ask it for the change; reading needs no owner (`headrace runs ls`)"
    )


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
