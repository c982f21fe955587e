"""The files beside the videos. A subtitle appears whole or not at all, and nobody's own file is lost."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import HeadraceError

from .rules.moviehash import PIECE, SMALLEST, moviehash
from .rules.naming import LONGEST_NAME, shorten


class FileError(HeadraceError):
    """A file could not be read or written; the classes below say why."""

    def __init__(self, path: str, details: str = "") -> None:
        super().__init__(path, details)
        self.path = path
        self.details = details

    advice = "look at the folder"

    def __str__(self) -> str:
        return f"{self.path}: {self.details}; {self.advice}" if self.details else f"{self.path}: {self.advice}"


class DiskFull(FileError):
    """No space, or the quota of the user is used up; worth another try when there is space."""

    advice = "make space, then try again"


class ReadOnly(FileError):
    """The file system is mounted read-only."""

    advice = "mount the library so that it can be written, then try again"


class NotPermitted(FileError):
    """The process may not read or write there."""

    advice = "give the user under which Headrace runs the right to read and write there"


class FileGone(FileError):
    """The file, or its folder, is not there; renamed, perhaps."""

    advice = "scan the library again"


class NameTooLong(FileError):
    """Longer than the file system allows."""

    advice = f"shorten the name of the video; {LONGEST_NAME} bytes are the limit of most file systems"


class OutsideRoots(FileError):
    """Once all links are followed, it lies in none of the configured folders."""

    advice = "only files below the configured media folders are read and written; add the folder to the settings, if it is meant"


class NotOurs(FileError):
    """There is a file that Headrace did not write, or that somebody has changed since."""

    advice = "ask with overwrite=true to replace it; the present one is then kept as .bak"


class TooLarge(FileError):
    """Larger than such a file can be."""

    advice = "look at what it is"


_REASONS: dict[int, type[FileError]] = {
    errno.ENOSPC: DiskFull,
    errno.EDQUOT: DiskFull,
    errno.EROFS: ReadOnly,
    errno.EACCES: NotPermitted,
    errno.EPERM: NotPermitted,
    errno.ENOENT: FileGone,
    errno.ENOTDIR: FileGone,
    errno.ENAMETOOLONG: NameTooLong,
}
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EXDEV, errno.EMLINK, errno.ENOSYS}


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the operating system refuses gets a class of its own."""
    try:
        yield
    except OSError as error:
        raise _REASONS.get(error.errno or 0, FileError)(str(path), error.strerror or str(error)) from error
    except (RuntimeError, ValueError) as error:
        # What pathlib says of links in a circle, and the system calls of a zero in a name.
        raise FileError(str(path), str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """What a new file gets; what is None stays as the operating system gives it."""

    mode: int | None = None
    user: int | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    path: str
    sha256: str
    size: int
    backup: str = ""
    """Where the file is that stood there before; empty if there was none, or it was Headrace's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoBytes:
    """What of a video is needed to know it again."""

    size: int
    mtime_ns: int
    inode: int
    head: bytes
    tail: bytes

    @property
    def moviehash(self) -> str | None:
        return moviehash(self.size, self.head, self.tail)


# --- where -------------------------------------------------------------------------------------------------------------


def within_roots(path: Path, roots: Sequence[Path]) -> Path:
    """The path with all links followed, if it lies below one of the roots; `OutsideRoots` if not."""
    with _told(path):
        real = path.resolve()
        allowed = [root.resolve() for root in roots]
    if not any(real.is_relative_to(root) and real != root for root in allowed):
        raise OutsideRoots(str(path), f"it is {real}" if real != path else "")
    return real


# --- reading -----------------------------------------------------------------------------------------------------------


def read_whole(path: Path, roots: Sequence[Path], *, largest: int) -> bytes:
    """All of a file that has at most so many bytes."""
    real = within_roots(path, roots)
    with _told(path), _opened(real) as descriptor, open(descriptor, "rb", closefd=False) as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        raise TooLarge(str(path), f"it has more than {largest:,} bytes")
    return data


def read_video(path: Path, roots: Sequence[Path]) -> VideoBytes:
    """Size, beginning and end; of a small file both are empty."""
    real = within_roots(path, roots)
    with _told(path), _opened(real) as descriptor:
        found = os.fstat(descriptor)
        is_large = found.st_size >= SMALLEST
        head = _read_at(descriptor, 0, path) if is_large else b""
        tail = _read_at(descriptor, found.st_size - PIECE, path) if is_large else b""
    return VideoBytes(size=found.st_size, mtime_ns=found.st_mtime_ns, inode=found.st_ino, head=head, tail=tail)


def _read_at(descriptor: int, offset: int, path: Path) -> bytes:
    pieces = b""
    while len(pieces) < PIECE:
        more = os.pread(descriptor, PIECE - len(pieces), offset + len(pieces))
        if not more:
            raise FileError(str(path), "it became shorter while it was read")
        pieces += more
    return pieces


@contextmanager
def _opened(real: Path) -> Iterator[int]:
    """A regular file: reading from a pipe or a device could wait for ever."""
    descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileError(str(real), "it is no regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def names_in(folder: Path, roots: Sequence[Path]) -> list[str]:
    """The names of what lies in a folder, which may be a root itself."""
    with _told(folder):
        real = folder.resolve()
        if not any(real.is_relative_to(root.resolve()) for root in roots):
            raise OutsideRoots(str(folder), f"it is {real}" if real != folder else "")
        return [entry.name for entry in real.iterdir()]


# --- writing -----------------------------------------------------------------------------------------------------------


def place(
    path: Path,
    data: bytes,
    *,
    roots: Sequence[Path],
    known_sha256: str | None = None,
    overwrite: bool = False,
    ownership: Ownership | None = None,
) -> Placed:
    """Put a file there in one moment, and see it on the disk; doing so twice is as good as once.

    A file that is there already is replaced if it is the one that Headrace wrote, known by its digest. Any other one is
    replaced only if `overwrite` says so, and then it stays as ``.bak``.
    """
    target = within_roots(path, roots)
    if len(path.name.encode()) > LONGEST_NAME:
        raise NameTooLong(str(path), f"its name has {len(path.name.encode())} bytes")
    digest = hashlib.sha256(data).hexdigest()
    with _told(path):
        present = _digest(target)
        if present == digest:
            return Placed(path=str(target), sha256=digest, size=len(data))
        is_ours = present is None or present == known_sha256
        if not is_ours and not overwrite:
            raise NotOurs(str(path), "there is a file that Headrace did not write, or that was changed since")
        backup = "" if is_ours else str(_keep(target))
        _write(target, data, ownership or Ownership())
    return Placed(path=str(target), sha256=digest, size=len(data), backup=backup)


def make_folder(folder: Path) -> None:
    """A folder of our own, with those around it."""
    with _told(folder):
        folder.mkdir(parents=True, exist_ok=True)


def _digest(path: Path) -> str | None:
    try:
        with _opened(path) as descriptor, open(descriptor, "rb", closefd=False) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _keep(target: Path) -> Path:
    """A second name for the present file; an older backup is never written over."""
    for number in range(1, 100):
        ending = ".bak" if number == 1 else f".bak{number}"
        backup = target.with_name(shorten(target.name, LONGEST_NAME - len(ending)) + ending)
        try:
            os.link(target, backup)
        except FileExistsError:
            # From an attempt that ended between this and the writing.
            if backup.samefile(target):
                return backup
            continue
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if backup.exists():
                continue
            shutil.copy2(target, backup)
        return backup
    raise NotOurs(str(target), "there are 99 backups of it already; remove some of them")


def _write(target: Path, data: bytes, ownership: Ownership) -> None:
    # Opened once and used by number, so that a folder that is swapped for a link meanwhile leads nowhere.
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    ending = f".{secrets.token_hex(4)}.part"
    temporary = f".{shorten(target.stem, LONGEST_NAME - len(ending) - 1)}{ending}"
    try:
        descriptor = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666, dir_fd=folder
        )
        try:
            _fill(descriptor, data, ownership)
            os.rename(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _remove(temporary, folder)
            raise
        os.fsync(folder)
    finally:
        os.close(folder)


def _fill(descriptor: int, data: bytes, ownership: Ownership) -> None:
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        if ownership.user is not None or ownership.group is not None:
            os.fchown(descriptor, _or_same(ownership.user), _or_same(ownership.group))
        # After the owner, whose change takes bits away.
        if ownership.mode is not None:
            os.fchmod(descriptor, ownership.mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _or_same(number: int | None) -> int:
    return -1 if number is None else number


def _remove(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
