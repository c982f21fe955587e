"""How subtitle files are called, so that Jellyfin, Plex and Kodi find them; and which files are videos at all."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from headrace_pipelines.subtitles.model import Format, Wanted

from .languages import UnknownLanguage, parse_language

LONGEST_NAME = 255
"""Bytes that a file system allows."""

VIDEO_EXTENSIONS = frozenset(
    ".3gp .avi .divx .flv .m2ts .m4v .mk3d .mkv .mov .mp4 .mpeg .mpg .mts .ogm .ogv .rm .rmvb .ts .vob .webm .wmv".split()
)
SUBTITLE_EXTENSIONS = {
    ".ass": Format.ASS,
    ".dfxp": Format.TTML,
    ".sami": Format.SAMI,
    ".smi": Format.SAMI,
    ".srt": Format.SRT,
    ".ssa": Format.SSA,
    ".sub": Format.MICRODVD,
    ".ttml": Format.TTML,
    ".vtt": Format.VTT,
    ".xml": Format.TTML,
}
_EXTENSIONS = {
    Format.ASS: "ass",
    Format.MICRODVD: "sub",
    Format.SAMI: "smi",
    Format.SRT: "srt",
    Format.SSA: "ssa",
    Format.TTML: "ttml",
    Format.VTT: "vtt",
}
_UNFINISHED = (".part", ".!qb", ".tmp", ".crdownload", ".aria2", ".filepart")
_EXTRA_FOLDERS = {"sample", "samples", "trailer", "trailers"}
_EXTRA_NAME = re.compile(r"^(?:sample|trailer)(?:[-._ ].*)?$|[-._ ](?:sample|trailer)[0-9]*$", re.IGNORECASE)
_TRAILER_TITLE = re.compile(r"^trailer[-._ ]park", re.IGNORECASE)

_FORCED = {"forced", "foreign"}
_HEARING = {"sdh", "cc"}
# Three letters that are a language somewhere, and in the name of a file nearly always something else.
_NO_LANGUAGE = {"sub", "dub", "new", "the", "mux", "raw", "rip", "fix", "ass", "ssa", "srt", "vtt", "web", "dvd", "cam"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A subtitle file that lies beside a video."""

    name: str
    wanted: Wanted | None
    """Its language and sort; None if the name does not tell the language."""
    is_default: bool = False


def subtitle_name(video: str, wanted: Wanted, format: Format = Format.SRT) -> str:
    """``<stem>.<language>[.sdh][.forced].<extension>``; a stem that is too long loses whole characters at its end."""
    return _stem(video, _suffix(wanted, format)) + _suffix(wanted, format)


def _suffix(wanted: Wanted, format: Format) -> str:
    # Read again, so that nothing but a tag of a language can become part of a path.
    parts = [parse_language(wanted.language)]
    parts += ["sdh"] if wanted.hearing_impaired else []
    parts += ["forced"] if wanted.forced else []
    return f".{'.'.join(parts)}.{_EXTENSIONS[format]}"


def _stem(video: str, suffix: str) -> str:
    name = PurePosixPath(video.replace("\0", "")).name
    stem = name[: -len(PurePosixPath(name).suffix)] if is_video(name) else name
    if stem in {"", ".", ".."}:
        raise ValueError(f"{video!r} is no name of a video, so no subtitle can be named after it")
    return shorten(stem, LONGEST_NAME - len(suffix.encode()))


def shorten(text: str, limit: int) -> str:
    """As much of a text as fits into so many bytes of UTF-8, without a half letter or an accent that lost its letter."""
    kept = text.encode()[:limit].decode("utf-8", "ignore")
    if kept != text:
        while kept and unicodedata.combining(text[len(kept)]):
            kept = kept[:-1]
    return kept


def subtitles_beside(video: str, names: Iterable[str]) -> list[Beside]:
    """Which of the files of a folder are subtitles of this video, and in which languages and of which sorts."""
    return [found for name in sorted(names) if (found := _read(video, name)) is not None]


def without_language(name: str) -> str:
    """The name of the video that a subtitle file goes with: ``film.mkv`` of ``film.en.sdh.srt``, whatever its extension is."""
    parts = PurePosixPath(name).stem.split(".")
    words = _FORCED | _HEARING | {"default"}
    while len(parts) > 1 and (parts[-1].lower() in words or _language(parts[-1]) is not None):
        parts.pop()
    return ".".join(parts) + ".mkv"


def _read(video: str, name: str) -> Beside | None:
    extension = PurePosixPath(name).suffix
    if extension.lower() not in SUBTITLE_EXTENSIONS:
        return None
    rest = name.removesuffix(extension)
    whole = _stem(video, "")
    if rest == whole:
        return Beside(name=name, wanted=None)
    if rest.startswith(f"{whole}."):
        return _parsed(name, rest.removeprefix(f"{whole}.").split("."))
    # A name that was shortened begins with as much of the stem as left room for what follows.
    for cut in (position for position, sign in enumerate(rest) if sign == "."):
        if len(name.encode()) > LONGEST_NAME - 4 and rest[:cut] == _stem(video, name[cut:]):
            return _parsed(name, rest[cut + 1 :].split("."))
    return None


def _parsed(name: str, parts: list[str]) -> Beside:
    tags = [(part, tag) for part in parts if (tag := _language(part))]
    words = {part.lower() for part in parts}
    # `hi` is Hindi, unless another language stands there too: then it says for whom the subtitle is.
    others = [tag for part, tag in tags if part.lower() != "hi"]
    hindi = sum(part.lower() == "hi" for part, _ in tags)
    language = others[-1] if others else "hi" if hindi else ""
    hearing = bool(_HEARING & words) or (hindi > 0 and bool(others)) or hindi > 1
    wanted = Wanted(language=language, hearing_impaired=hearing, forced=bool(_FORCED & words)) if language else None
    return Beside(name=name, wanted=wanted, is_default="default" in words)


def _language(part: str) -> str | None:
    if part.lower() in _NO_LANGUAGE | _FORCED | _HEARING | {"default"}:
        return None
    try:
        return parse_language(part)
    except UnknownLanguage:
        return None


def is_video(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in VIDEO_EXTENSIONS


def is_ignored(path: str) -> bool:
    """Whether a file is hidden, still being written, a sample or a trailer."""
    parts = PurePosixPath(path).parts
    name = parts[-1] if parts else ""
    if name.startswith(".") or name.lower().endswith(_UNFINISHED):
        return True
    if any(part.lower() in _EXTRA_FOLDERS for part in parts[:-1]):
        return True
    stem = PurePosixPath(name).stem
    return bool(_EXTRA_NAME.search(stem)) and not _TRAILER_TITLE.match(stem)


def is_media(path: str) -> bool:
    """Whether a file is a video for which subtitles are wanted."""
    return is_video(path) and not is_ignored(path)
