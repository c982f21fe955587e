"""A disk that remembers, fails on demand and can lose its power.

It lies under SQLite as a VFS: files are real, every write, truncation, sync and deletion is noted. From the notes it makes
what a power loss at any moment could leave: what was synced is there; of what was not, each 512-byte sector of each write
is there or is not, as the seed decides.

    disk = FakeDisk()
    database = await open_sqlite(path, vfs=disk.vfs)
    ...
    disk.after_power_loss(folder, at=disk.moment(), seed=7)      # a folder with the files as a restart would find them
    disk.fail("sync")                                            # from now on, until disk.heal()
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

import apsw

__all__ = ["FakeDisk"]

Verb = Literal["write", "truncate", "sync", "open", "delete"]
Trouble = Literal["full", "broken", "read-only"]

_SECTOR = 512
_numbers = itertools.count(1)
_VOLATILE = ("-shm",)
_LOGS = ("-wal", "-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    verb: Verb
    file: str
    offset: int = 0
    content: bytes = b""
    durable: bool = False


@dataclass(slots=True, kw_only=True)
class _Fault:
    verb: Verb
    trouble: Trouble
    file: str
    after: int


class FakeDisk:
    """Pass ``vfs`` to ``open_sqlite``; close it after the last connection."""

    def __init__(self) -> None:
        self.vfs = f"headrace-fake-disk-{next(_numbers)}"
        self._found: dict[str, bytes] = {}
        self._notes: list[_Note] = []
        self._faults: list[_Fault] = []
        self._system = _Vfs(self)

    def moment(self) -> int:
        """How much has happened so far; a moment for ``after_power_loss``."""
        return len(self._notes)

    def fail(
        self, verb: Literal["write", "sync"], *, trouble: Trouble = "broken", file: str = "", after: int = 0
    ) -> None:
        """Fail from now on, in files whose name ends with ``file``, after so many successes."""
        self._faults.append(_Fault(verb=verb, trouble=trouble, file=file, after=after))

    def heal(self) -> None:
        self._faults.clear()

    def after_power_loss(self, folder: Path, *, at: int, seed: int) -> None:
        """Write the files as they may be found when the power failed at that moment."""
        chance = random.Random(seed)
        for name, content in _survivors(self._found, self._notes[:at], chance).items():
            (folder / name).write_bytes(content)

    def lose_power(self, folder: Path, *, seed: int) -> None:
        """Do to the files in their own folder what a power loss does, and begin anew with what is left; nobody may have them open."""
        left = _survivors(self._found, self._notes, random.Random(seed))
        for name in {*self._found, *(note.file for note in self._notes)}:
            for file in (name, *(name + suffix for suffix in _VOLATILE)):
                (folder / file).unlink(missing_ok=True)
        for name, content in left.items():
            (folder / name).write_bytes(content)
        self._found = left
        self._notes.clear()

    def close(self) -> None:
        self._system.unregister()

    def __enter__(self) -> FakeDisk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _note(self, note: _Note) -> None:
        if not note.file.endswith(_VOLATILE):
            self._notes.append(note)

    def _meet_fault(self, verb: Verb, file: str) -> None:
        for fault in self._faults:
            if fault.verb != verb or not file.endswith(fault.file):
                continue
            if fault.after:
                fault.after -= 1
                continue
            raise _error(verb, fault.trouble)


def _error(verb: Verb, trouble: Trouble) -> Exception:
    if trouble == "full":
        return apsw.FullError("the fake disk is full")
    if trouble == "read-only":
        return apsw.ReadOnlyError("the fake disk is read-only")
    return apsw.exception_for(apsw.SQLITE_IOERR_FSYNC if verb == "sync" else apsw.SQLITE_IOERR_WRITE)


class _Vfs(apsw.VFS):
    def __init__(self, disk: FakeDisk) -> None:
        self._disk = disk
        super().__init__(disk.vfs, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        file = _File(self._disk, name, flags)
        if file.name and flags[0] & apsw.SQLITE_OPEN_CREATE:
            self._disk._note(_Note(verb="open", file=file.name))
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._disk._note(_Note(verb="delete", file=Path(filename).name, durable=syncdir))

    def excepthook(
        self, etype: type[BaseException] | None, evalue: BaseException | None, etraceback: TracebackType | None
    ) -> bool:
        """The error reaches SQLite as a code; nobody else is to be told."""
        return True


class _File(apsw.VFSFile):
    def __init__(self, disk: FakeDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.name = Path(path).name if path else ""
        super().__init__("", name, flags)

    def xWrite(self, data: bytes | bytearray | memoryview, offset: int) -> None:
        self._disk._meet_fault("write", self.name)
        super().xWrite(data, offset)
        self._note(_Note(verb="write", file=self.name, offset=offset, content=bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        self._disk._meet_fault("truncate", self.name)
        super().xTruncate(newsize)
        self._note(_Note(verb="truncate", file=self.name, offset=newsize))

    def xSync(self, flags: int) -> None:
        self._disk._meet_fault("sync", self.name)
        # The real file is not synced: nothing here will lose power, and hundreds of syncs take their time.
        self._note(_Note(verb="sync", file=self.name))

    def excepthook(
        self, etype: type[BaseException] | None, evalue: BaseException | None, etraceback: TracebackType | None
    ) -> bool:
        return True

    def _note(self, note: _Note) -> None:
        if self.name:
            self._disk._note(note)


class _Surface:
    """One file: what a power loss surely leaves, and the changes whose fate is open."""

    def __init__(self, content: bytes = b"", *, named: bool = False) -> None:
        self.content = bytearray(content)
        self.open: list[_Note] = []
        self.named = named

    def sync(self) -> None:
        for note in self.open:
            _apply(self.content, note.verb, note.offset, note.content)
        self.open.clear()

    def survivor(self, chance: random.Random) -> bytes:
        content = bytearray(self.content)
        # Some power losses take all that was open, some nearly nothing; a coin for each sector alone would show neither.
        luck = chance.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for note in self.open:
            for verb, offset, piece in _pieces(note):
                if chance.random() < luck:
                    _apply(content, verb, offset, piece)
        return bytes(content)


class _Folder:
    """Names come and go for good when the folder is synced, which SQLite does with the first sync of each new log."""

    def __init__(self, found: Mapping[str, bytes]) -> None:
        self.surfaces = {name: _Surface(content, named=True) for name, content in found.items()}
        self.doomed: dict[str, _Surface] = {}
        self._fresh_logs: set[str] = set()

    def replay(self, note: _Note) -> None:
        surface = self.surfaces.setdefault(note.file, _Surface())
        if note.verb == "open" and note.file.endswith(_LOGS):
            self._fresh_logs.add(note.file)
        elif note.verb in ("write", "truncate"):
            surface.open.append(note)
        elif note.verb == "sync":
            surface.sync()
            if note.file in self._fresh_logs:
                self._fresh_logs.discard(note.file)
                self._sync_names()
        elif note.verb == "delete":
            self.doomed[note.file] = self.surfaces.pop(note.file)
            if note.durable:
                self._sync_names()

    def survivors(self, chance: random.Random) -> dict[str, bytes]:
        files = {**self.doomed, **self.surfaces}
        return {
            name: surface.survivor(chance)
            for name, surface in files.items()
            if (surface.named and name in self.surfaces) or chance.random() < 0.5
        }

    def _sync_names(self) -> None:
        self.doomed.clear()
        for surface in self.surfaces.values():
            surface.named = True


def _survivors(found: Mapping[str, bytes], notes: Iterable[_Note], chance: random.Random) -> dict[str, bytes]:
    folder = _Folder(found)
    for note in notes:
        folder.replay(note)
    return folder.survivors(chance)


def _pieces(note: _Note) -> Iterable[tuple[Verb, int, bytes]]:
    if note.verb == "truncate":
        yield "truncate", note.offset, b""
        return
    start = note.offset
    end = start + len(note.content)
    while start < end:
        boundary = min(end, (start // _SECTOR + 1) * _SECTOR)
        yield "write", start, note.content[start - note.offset : boundary - note.offset]
        start = boundary


def _apply(content: bytearray, verb: Verb, offset: int, piece: bytes) -> None:
    if verb == "truncate":
        del content[offset:]
        return
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(piece)] = piece
