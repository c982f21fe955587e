"""Archives from providers, opened in memory. Nothing is ever written under a name that stands in one."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from headrace_pipelines.subtitles.model import Kind, Release

from .languages import UnknownLanguage, parse_language, primary
from .naming import SUBTITLE_EXTENSIONS, is_ignored
from .releases import parse_release
from .unfit import Unusable

_BY_PREFERENCE = (".srt", ".ass", ".ssa", ".vtt", ".ttml", ".dfxp", ".smi", ".sami", ".sub", ".xml")
_CLOSED = (
    (b"Rar!\x1a\x07", "rar", "there is no free program that opens rar"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z is not opened here"),
    (b"\xfd7zXZ\x00", "xz", "xz is not opened here"),
    (b"BZh", "bzip2", "bzip2 is not opened here"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an archive may become; a few kilobytes can hold gigabytes of zeros."""

    unpacked: int = 10_000_000
    files: int = 20


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    data: bytes


class Refusal(StrEnum):
    CLOSED_FORMAT = "closed_format"
    DAMAGED = "damaged"
    ENCRYPTED = "encrypted"
    NO_SUBTITLE = "no_subtitle"
    TOO_LARGE = "too_large"
    TOO_MANY_FILES = "too_many_files"
    UNSAFE_NAME = "unsafe_name"


class ArchiveRefused(Unusable):
    """The archive is not opened, or holds nothing that fits; the next candidate is to be tried."""

    def __init__(self, why: Refusal, details: str) -> None:
        super().__init__(why, details)
        self.why = why
        self.details = details

    @property
    def word(self) -> str:
        return f"archive_{self.why}"

    def __str__(self) -> str:
        return f"archive refused ({self.why}): {self.details}"


def is_archive(data: bytes) -> bool:
    return data.startswith((b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", *(magic for magic, _, _ in _CLOSED)))


def unpack(
    data: bytes, *, name: str = "", release: Release | None = None, language: str = "", limits: Limits | None = None
) -> Member:
    """The one subtitle that is meant; what is no archive is given back as it is."""
    limits = limits or Limits()
    for magic, kind, reason in _CLOSED:
        if data.startswith(magic):
            raise ArchiveRefused(Refusal.CLOSED_FORMAT, f"it is a {kind} archive, and {reason}; take another subtitle")
    if data.startswith(b"\x1f\x8b"):
        return Member(name.removesuffix(".gz"), _gunzip(data, limits.unpacked))
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _from_zip(data, release, language, limits)
    return Member(name, data)


def _gunzip(data: bytes, largest: int) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(largest + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ArchiveRefused(Refusal.DAMAGED, f"the gzip file cannot be read: {error}") from error
    if len(unpacked) > largest:
        raise ArchiveRefused(Refusal.TOO_LARGE, f"it unpacks to more than {largest:,} bytes")
    return unpacked


def _from_zip(data: bytes, release: Release | None, language: str, limits: Limits) -> Member:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            _refuse_unsafe(members, limits)
            chosen = choose([info.filename for info in members], release, language)
            info = next(info for info in members if info.filename == chosen)
            if info.flag_bits & 0x1:
                raise ArchiveRefused(Refusal.ENCRYPTED, f"{chosen!r} needs a password")
            with archive.open(info) as file:
                # The size in the directory is what somebody wrote there, so the reading is limited, too.
                unpacked = file.read(limits.unpacked + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise ArchiveRefused(Refusal.DAMAGED, f"the zip file cannot be read: {error}") from error
    if len(unpacked) > limits.unpacked:
        raise ArchiveRefused(Refusal.TOO_LARGE, f"{chosen!r} unpacks to more than {limits.unpacked:,} bytes")
    return Member(chosen, unpacked)


def _refuse_unsafe(members: Sequence[zipfile.ZipInfo], limits: Limits) -> None:
    if len(members) > limits.files:
        raise ArchiveRefused(Refusal.TOO_MANY_FILES, f"it holds {len(members)} files, and {limits.files} is the limit")
    total = sum(info.file_size for info in members)
    if total > limits.unpacked:
        raise ArchiveRefused(Refusal.TOO_LARGE, f"it unpacks to {total:,} bytes, and {limits.unpacked:,} is the limit")
    for info in members:
        path = info.filename.replace("\\", "/")
        if path.startswith("/") or ".." in path.split("/") or re.match(r"[A-Za-z]:", path):
            raise ArchiveRefused(Refusal.UNSAFE_NAME, f"{info.filename!r} leads out of the folder")


def choose(names: Sequence[str], release: Release | None = None, language: str = "") -> str:
    """Of the files of an archive the one for this episode and language, in the format that is easiest to read."""
    subtitles = [name for name in names if _is_subtitle(name)]
    if not subtitles:
        raise ArchiveRefused(Refusal.NO_SUBTITLE, f"it holds no subtitle, only {_listed(names)}")
    fitting = [name for name in subtitles if release is None or _fits(name, release, len(subtitles))]
    if not fitting:
        raise ArchiveRefused(
            Refusal.NO_SUBTITLE, f"none of its files is for the episode that is wanted: {_listed(subtitles)}"
        )
    return min(
        fitting, key=lambda name: (_language_rank(name, language), _format_rank(name), "forced" in name.lower(), name)
    )


def _is_subtitle(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.suffix.lower() in SUBTITLE_EXTENSIONS and "__MACOSX" not in path.parts and not is_ignored(str(path))


def _fits(name: str, release: Release, how_many: int) -> bool:
    if release.kind is Kind.MOVIE or not release.episodes:
        return True
    found = parse_release(PurePosixPath(name.replace("\\", "/")).name, Kind.EPISODE)
    if not found.episodes:
        # A single file is what was asked for, however it is called.
        return how_many == 1
    same_season = None in {found.season, release.season} or found.season == release.season
    return same_season and bool(set(found.episodes) & set(release.episodes))


def _language_rank(name: str, language: str) -> int:
    """0 if its name says the wanted language, 1 if it says none, 2 if it says another."""
    parts = re.split(r"[._\-\s/\\]+", PurePosixPath(name).stem)[-2:]
    said = {tag for part in parts if (tag := _tag(part))}
    return 0 if language in said else 2 if said and language else 1


def _tag(part: str) -> str | None:
    if not 2 <= len(part) <= 3 or not part.isalpha():
        return None
    try:
        tag = parse_language(part)
    except UnknownLanguage:
        return None
    # `the` and `end` are languages, too, but hardly in the name of a file.
    return tag if len(primary(tag)) == 2 else None


def _format_rank(name: str) -> int:
    return _BY_PREFERENCE.index(PurePosixPath(name).suffix.lower())


def _listed(names: Sequence[str]) -> str:
    return (", ".join(repr(name) for name in names[:5]) + (", …" if len(names) > 5 else "")) or "nothing"
