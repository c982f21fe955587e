"""What a scan of a library means: what is new, what moved, and which subtitles are missing.

A scan gives every video as a value, the next one gets those values back, and only what differs is looked at again. A folder
that cannot be read says nothing about its files: they are kept, because a disk that is not mounted has lost no films.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.rules.languages import SAME_BY_DEFAULT, SameLanguages
from headrace_pipelines.subtitles.rules.naming import (
    LONGEST_NAME,
    SUBTITLE_EXTENSIONS,
    is_ignored,
    is_media,
    subtitles_beside,
)

_LONGEST_EXTENSION = max(map(len, SUBTITLE_EXTENSIONS))
_SYSTEM_FOLDERS = {"@eadir", "#recycle", "#snapshot", "$recycle.bin", "lost+found", "system volume information"}
_KEEP_OUT = {".ignore", ".nomedia", ".plexignore"}
# A file system over a network tells nobody what another machine has written.
_SILENT = {
    "9p",
    "afs",
    "ceph",
    "cifs",
    "davfs",
    "fuse.sshfs",
    "glusterfs",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
}
_SILENT_PREFIXES = ("fuse.", "nfs")


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFile:
    """A video as the disk knows it, and which subtitles lie beside it."""

    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int
    subtitles: tuple[Wanted, ...] = ()
    has_unnamed: bool = False
    """There is one whose name does not tell its language."""

    @property
    def identity(self) -> tuple[int, int, int, int]:
        """What a rename keeps. The number alone is given to the next file as soon as this one is deleted."""
        return (self.device, self.inode, self.size, self.mtime_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a walk through the roots found."""

    videos: tuple[VideoFile, ...]
    unreadable: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    before: VideoFile
    after: VideoFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What changed since the scan before."""

    new: tuple[VideoFile, ...] = ()
    changed: tuple[VideoFile, ...] = ()
    """Other content under the name of before: what was found for it does not fit any more."""
    moved: tuple[Moved, ...] = ()
    lost_subtitles: tuple[VideoFile, ...] = ()
    """The video is as it was, and a subtitle beside it is gone."""
    gone: tuple[VideoFile, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    index: Mapping[str, VideoFile]
    """For the next scan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A video, and what it lacks."""

    video: VideoFile
    missing: tuple[Wanted, ...]


# --- what a scan means -------------------------------------------------------------------------------------------------


def compare(index: Mapping[str, VideoFile], listing: Listing) -> Scan:
    found = {video.path: video for video in listing.videos}
    hidden = tuple(one.path for one in listing.unreadable)
    kept = {path: known for path, known in index.items() if path not in found and _is_below(path, hidden)}
    gone = {known.identity: known for path, known in index.items() if path not in found and path not in kept}
    new, changed, moved, lost = [], [], [], []
    for video in listing.videos:
        known = index.get(video.path)
        if known is None:
            before = gone.pop(video.identity, None)
            if before is None:
                new.append(video)
            else:
                moved.append(Moved(before=before, after=video))
        elif known.identity != video.identity:
            changed.append(video)
        elif set(known.subtitles) - set(video.subtitles) or known.has_unnamed > video.has_unnamed:
            lost.append(video)
    return Scan(
        new=tuple(new),
        changed=tuple(changed),
        moved=tuple(moved),
        lost_subtitles=tuple(lost),
        gone=tuple(gone.values()),
        unreadable=listing.unreadable,
        index={**kept, **found},
    )


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def wishes(
    scan: Scan, wanted: Sequence[Wanted], same: SameLanguages = SAME_BY_DEFAULT, *, unnamed_is: str | None = None
) -> tuple[Wish, ...]:
    """What is to be looked for after a scan: nothing for what is as it was."""
    # What lay beside a video that moved will be moved after it.
    followed = [replace(one.after, subtitles=(*one.before.subtitles, *one.after.subtitles)) for one in scan.moved]
    looked_at = [*scan.new, *scan.changed, *followed, *scan.lost_subtitles]
    pairs = [(video, missing(video, wanted, same, unnamed_is=unnamed_is)) for video in looked_at]
    return tuple(Wish(video=video, missing=lacks) for video, lacks in pairs if lacks)


def missing(
    video: VideoFile,
    wanted: Sequence[Wanted],
    same: SameLanguages = SAME_BY_DEFAULT,
    *,
    unnamed_is: str | None = None,
) -> tuple[Wanted, ...]:
    """Of what is wanted, what does not lie beside a video; ``unnamed_is`` is what a name without a language stands for."""
    there = list(video.subtitles)
    if video.has_unnamed and unnamed_is:
        there.append(Wanted(language=unnamed_is))
    return tuple(one for one in wanted if not any(serves(have, one, same) for have in there))


def serves(have: Wanted, wanted: Wanted, same: SameLanguages) -> bool:
    if not same.satisfies(have.language, wanted.language) or have.forced != wanted.forced:
        return False
    # Whoever does not need the sounds in brackets is still served by a subtitle that has them.
    return have.hearing_impaired or not wanted.hearing_impaired


# --- what a folder means -----------------------------------------------------------------------------------------------


def is_closed(name: str, ignore: Iterable[str] = ()) -> bool:
    """Whether a folder below a root is none of our business."""
    return name.startswith(".") or name.lower() in _SYSTEM_FOLDERS or any(fnmatchcase(name, one) for one in ignore)


def keeps_out(names: Iterable[str]) -> bool:
    """Whether a folder holds a file by which players are told to leave it alone."""
    return not _KEEP_OUT.isdisjoint(names)


def videos_among(names: Iterable[str], folder: str, ignore: Iterable[str] = ()) -> list[str]:
    """Those files of a folder, given by its path below the root, for which subtitles are wanted."""
    place = PurePosixPath(folder)
    patterns = tuple(ignore)
    return [
        name for name in names if is_media(str(place / name)) and not any(fnmatchcase(name, one) for one in patterns)
    ]


class Shelf:
    """The subtitle files of one folder; a folder may hold thousands of videos, so each looks only at names like its own."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(
            name for name in names if PurePosixPath(name).suffix.lower() in SUBTITLE_EXTENSIONS and not is_ignored(name)
        )
        shortened = LONGEST_NAME - _LONGEST_EXTENSION
        self._long = [name for name in self._names if len(name.encode()) >= shortened]

    def beside(self, video: str) -> tuple[tuple[Wanted, ...], bool]:
        """The languages and sorts that lie beside a video, and whether one does not tell its language."""
        stem = PurePosixPath(video).stem
        begin = bisect_left(self._names, stem)
        end = bisect_left(self._names, stem + "\U0010ffff", begin)
        names = {*self._names[begin:end], *self._long}
        if not names:
            return (), False
        found = subtitles_beside(video, names)
        told = {one.wanted: None for one in found if one.wanted is not None}
        return tuple(told), any(one.wanted is None for one in found)


# --- where a library lies ----------------------------------------------------------------------------------------------


def tells_of_changes(path: str, mounts: str) -> bool:
    """Whether the file system of a path reports what happens in it; ``mounts`` is the text of ``/proc/mounts``."""
    kind = _file_system(path, mounts)
    return kind not in _SILENT and not kind.startswith(_SILENT_PREFIXES)


def _file_system(path: str, mounts: str) -> str:
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        place = fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        if _is_below(path, (place,)) and len(place) >= len(best):
            best, kind = place, fields[2]
    return kind
