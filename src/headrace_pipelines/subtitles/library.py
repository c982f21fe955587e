"""The library on disk: walking through it, waiting until files are written, watching it.

What the operating system reports is a hint to look; only a scan says how things are.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from stat import S_ISREG

from headrace_pipelines.services.clock import Clock, LoopClock, wait
from headrace_pipelines.subtitles.rules.library import (
    Listing,
    Scan,
    Shelf,
    Unreadable,
    VideoFile,
    compare,
    is_closed,
    keeps_out,
    tells_of_changes,
    videos_among,
)
from headrace_pipelines.subtitles.rules.naming import is_ignored, is_media
from headrace_pipelines.subtitles.rules.packages import extra

_logger = logging.getLogger(__name__)

_MOUNTS = Path("/proc/mounts")
_FRESH = timedelta(minutes=1)
_PAUSE = timedelta(seconds=2)
_CHECKS = 2
_TOO_MANY = 1_000
"""So many reports at once are quicker to look up by a scan."""


# --- scan --------------------------------------------------------------------------------------------------------------


async def scan(
    roots: Sequence[Path], index: Mapping[str, VideoFile] | None = None, *, ignore: Sequence[str] = ()
) -> Scan:
    """Walk through the roots, without holding up anybody; ``index`` is that of the scan before."""
    known = index or {}
    listing = await asyncio.to_thread(_listed, tuple(roots), known, tuple(ignore))
    return compare(known, listing)


def _listed(roots: Sequence[Path], index: Mapping[str, VideoFile], ignore: Sequence[str]) -> Listing:
    walk = _Walk(roots, ignore)
    for root in roots:
        walk.through(root, index)
    return Listing(videos=tuple(walk.videos[path] for path in sorted(walk.videos)), unreadable=tuple(walk.unreadable))


class _Walk:
    def __init__(self, roots: Sequence[Path], ignore: Sequence[str]) -> None:
        self._ignore = ignore
        self._real_roots = [os.path.realpath(root) for root in roots]
        self.videos: dict[str, VideoFile] = {}
        self.unreadable: list[Unreadable] = []

    def through(self, root: Path, index: Mapping[str, VideoFile]) -> None:
        top = str(root)
        before = len(self.videos)
        folders = [top]
        while folders:
            folders += self._folder(folders.pop(), top)
        known = sum(path.startswith(top.rstrip("/") + "/") for path in index) if len(self.videos) == before else 0
        if known and not any(one.path == top for one in self.unreadable):
            reason = f"it is empty, and {known} videos were known in it; is its disk mounted?"
            self.unreadable.append(Unreadable(path=top, reason=reason))

    def _folder(self, folder: str, top: str) -> list[str]:
        """Take in the videos of a folder; give the folders in it."""
        try:
            with os.scandir(folder) as listed:
                entries = {entry.name: entry for entry in listed}
            if keeps_out(entries):
                return []
            inside = [entry.path for entry in entries.values() if self._is_open_folder(entry)]
        except OSError as error:
            self.unreadable.append(Unreadable(path=folder, reason=error.strerror or type(error).__name__))
            return []
        names = videos_among(entries, os.path.relpath(folder, top), self._ignore)
        if names:
            shelf = Shelf(entries)
            for name in names:
                self._take(entries[name], shelf)
        return inside

    def _is_open_folder(self, entry: os.DirEntry[str]) -> bool:
        # A link to a folder may lead back to where we are, or out of the library.
        return entry.is_dir(follow_symlinks=False) and not is_closed(entry.name, self._ignore)

    def _take(self, entry: os.DirEntry[str], shelf: Shelf) -> None:
        try:
            if entry.is_symlink() and not self._is_inside(entry.path):
                return
            facts = entry.stat()
        except FileNotFoundError:
            return  # it was here a moment ago, or is a link to nothing
        except OSError as error:
            self.unreadable.append(Unreadable(path=entry.path, reason=error.strerror or type(error).__name__))
            return
        if not S_ISREG(facts.st_mode):
            return
        subtitles, has_unnamed = shelf.beside(entry.name)
        self.videos[entry.path] = VideoFile(
            path=entry.path,
            device=facts.st_dev,
            inode=facts.st_ino,
            size=facts.st_size,
            mtime_ns=facts.st_mtime_ns,
            subtitles=subtitles,
            has_unnamed=has_unnamed,
        )

    def _is_inside(self, path: str) -> bool:
        real = os.path.realpath(path)
        return any(real.startswith(root.rstrip("/") + "/") for root in self._real_roots)


# --- files that are still being written --------------------------------------------------------------------------------


async def stable_files(
    paths: Iterable[Path],
    *,
    clock: Clock | None = None,
    pause: timedelta = _PAUSE,
    checks: int = _CHECKS,
) -> AsyncIterator[Path]:
    """Give each file once nobody has written to it for ``checks`` pauses, all watched together; what vanishes is not given."""
    clock = clock or LoopClock()
    seen = {path: facts for path, facts in (await _looked_at(list(paths))).items() if facts is not None}
    quiet = dict.fromkeys(seen, 0)
    while seen:
        await wait(clock, pause.total_seconds())
        for path, facts in (await _looked_at(list(seen))).items():
            if facts is None:
                del seen[path], quiet[path]
                continue
            quiet[path] = quiet[path] + 1 if facts == seen[path] else 0
            seen[path] = facts
            if quiet[path] >= checks:
                del seen[path], quiet[path]
                yield path


def is_fresh(path: Path) -> bool:
    """Whether somebody wrote to it just now, and may be doing so still."""
    try:
        return time.time() - path.stat().st_mtime < _FRESH.total_seconds()  # noqa: TID251 - files are dated by the system's clock
    except FileNotFoundError:
        return False


async def _looked_at(paths: Sequence[Path]) -> dict[Path, tuple[int, int] | None]:
    def look() -> dict[Path, tuple[int, int] | None]:
        return {path: _size_and_time(path) for path in paths}

    return await asyncio.to_thread(look)


def _size_and_time(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return (facts.st_size, facts.st_mtime_ns)


# --- watch -------------------------------------------------------------------------------------------------------------


class Why(StrEnum):
    """Why a scan is due."""

    BEGINNING = "beginning"
    """What happened while nobody watched."""
    TIME = "time"
    FOLDER = "a folder"
    """Moved in with all that is in it, which nobody reports."""
    TOO_MUCH = "too much at once"
    BLIND = "nothing is reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """Something happened to these videos, or a scan is due."""

    videos: tuple[Path, ...] = ()
    scan: Why | None = None


async def watch(
    roots: Sequence[Path],
    *,
    clock: Clock | None = None,
    scan_every: timedelta = timedelta(hours=1),
    scan_every_if_blind: timedelta = timedelta(minutes=5),
) -> AsyncIterator[Hint]:
    """Tell when to look: at once, on reports of the operating system, and from time to time because some get lost.

    Folders on another machine report nothing, and no more can be watched than the system allows; those are scanned more often.
    """
    clock = clock or LoopClock()
    hints: asyncio.Queue[Hint] = asyncio.Queue()
    seeing = [root for root in roots if await asyncio.to_thread(_tells, root)]
    blind = len(seeing) < len(roots)
    yield Hint(scan=Why.BEGINNING)
    async with _reports(seeing, hints) as reporting:
        while True:
            blind = blind or reporting.done()
            every = scan_every_if_blind if blind else scan_every
            if (hint := await _next(hints, clock, every)) is None:
                hint = Hint(scan=Why.BLIND if blind else Why.TIME)
            yield hint


def _tells(root: Path) -> bool:
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return True  # not Linux
    return root.is_dir() and tells_of_changes(os.path.realpath(root), mounts)


async def _next(hints: asyncio.Queue[Hint], clock: Clock, every: timedelta) -> Hint | None:
    """The next report; None if there was none for so long."""
    waiting = [asyncio.ensure_future(hints.get()), asyncio.ensure_future(wait(clock, every.total_seconds()))]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        got = waiting[0]
        return got.result() if got.done() else None
    finally:
        for one in waiting:
            one.cancel()


@asynccontextmanager
async def _reports(roots: Sequence[Path], hints: asyncio.Queue[Hint]) -> AsyncIterator[asyncio.Task[None]]:
    stop = threading.Event()
    reporting = asyncio.create_task(_report(roots, hints, stop))
    try:
        yield reporting
    finally:
        stop.set()
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)


async def _report(roots: Sequence[Path], hints: asyncio.Queue[Hint], stop: threading.Event) -> None:
    """Returns when nothing is reported any more."""
    if not roots:
        return
    with extra():
        from watchfiles import awatch
    try:
        async for changes in awatch(*roots, watch_filter=_is_of_interest, stop_event=stop, recursive=True, step=100):
            await hints.put(await asyncio.to_thread(_hint, {path for _, path in changes}))
    except (OSError, RuntimeError) as error:
        # Mostly the limit of watches (fs.inotify.max_user_watches), or a root that went away.
        values = {"reason": str(error)}
        _logger.warning("library.not_watched", extra={"event": "library.not_watched", "values": values})
        await hints.put(Hint(scan=Why.BLIND))


def _hint(reported: set[str]) -> Hint:
    if len(reported) > _TOO_MANY:
        return Hint(scan=Why.TOO_MUCH)
    paths = [Path(path) for path in sorted(reported)]
    if any(path.is_dir() for path in paths):
        return Hint(scan=Why.FOLDER)
    return Hint(videos=tuple(path for path in paths if is_media(path.name)))


def _is_of_interest(_change: object, path: str) -> bool:
    name = Path(path).name
    return is_media(name) or (not is_ignored(name) and Path(path).is_dir())
