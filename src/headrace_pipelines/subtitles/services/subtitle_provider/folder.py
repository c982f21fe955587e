"""Subtitles that lie in a folder, such as an archive that somebody has collected over the years.

A file is called after the release that it was made for, and after its language: ``Film.2021.1080p.WEB-GROUP.he.srt``.
Beside it may lie ``Film.2021.1080p.WEB-GROUP.he.srt.moviehash`` with the hash of the video, one to a line if there are several.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from headrace.errors import ServiceUnavailable
from headrace_pipelines.subtitles.model import Candidate, Kind, Media, Wanted
from headrace_pipelines.subtitles.rules.languages import SAME_BY_DEFAULT, UnknownLanguage, parse_language
from headrace_pipelines.subtitles.rules.naming import SUBTITLE_EXTENSIONS, subtitles_beside
from headrace_pipelines.subtitles.rules.releases import parse_release
from headrace_pipelines.subtitles.rules.scoring import plain_title
from headrace_pipelines.subtitles.services.subtitle_provider.port import Body, FileGone, Standing

HASH_FILE = ".moviehash"

_LARGEST = 10 * 1024 * 1024
_MOVIEHASH = re.compile(r"[0-9a-f]{16}")
_FLAGS = {"cc", "default", "forced", "foreign", "hi", "sdh"}
_TAGS_AT_MOST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Filed:
    path: PurePath
    """Below the root."""
    release: str
    wanted: Wanted


class FolderOfSubtitles:
    def __init__(self, root: Path, *, name: str = "folder") -> None:
        self.name = name
        self._root = root

    async def search(self, media: Media, wanted: Wanted) -> tuple[Candidate, ...]:
        return await asyncio.to_thread(self._search, media, wanted)

    def _search(self, media: Media, wanted: Wanted) -> tuple[Candidate, ...]:
        filed = (one for one in self._files() if SAME_BY_DEFAULT.satisfies(one.wanted.language, wanted.language))
        found = (self._candidate(one, media) for one in filed)
        return tuple(candidate for candidate in found if candidate.hash_matches or _is_of(candidate, media))

    def _files(self) -> Iterator[_Filed]:
        if not self._root.is_dir():
            raise ServiceUnavailable(f"the folder of subtitles {self._root} is not there; is its disk mounted?")
        for folder, _, names in os.walk(self._root, onerror=_unreadable):
            for name in sorted(names):
                if (read := _read(name)) is not None:
                    release, wanted = read
                    path = PurePath(folder, name).relative_to(self._root)
                    yield _Filed(path=path, release=release, wanted=wanted)

    def _candidate(self, filed: _Filed, media: Media) -> Candidate:
        return Candidate(
            provider=self.name,
            file_id=filed.path.as_posix(),
            language=filed.wanted.language,
            release=parse_release(filed.release, media.release.kind),
            release_name=filed.release,
            hash_matches=media.moviehash is not None and media.moviehash in self._hashes(filed.path),
            hearing_impaired=filed.wanted.hearing_impaired,
            forced=filed.wanted.forced,
            trusted=True,
        )

    def _hashes(self, path: PurePath) -> set[str]:
        beside = self._root / path.with_name(path.name + HASH_FILE)
        try:
            text = beside.read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise ServiceUnavailable(f"{beside} cannot be read: {error.strerror}") from error
        return {line for line in text.lower().split() if _MOVIEHASH.fullmatch(line)}

    async def fetch(self, candidate: Candidate) -> Body:
        content = await asyncio.to_thread(self._content, candidate.file_id)
        return Body(content=content, file_name=PurePath(candidate.file_id).name)

    def _content(self, file_id: str) -> bytes:
        path = (self._root / file_id).resolve()
        if not path.is_relative_to(self._root.resolve()):
            raise FileGone(self.name, file_id, "it lies outside of the folder")
        try:
            with path.open("rb") as file:
                content = file.read(_LARGEST + 1)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise FileGone(self.name, file_id, "there is no such file") from None
        except OSError as error:
            raise ServiceUnavailable(f"{path} cannot be read: {error.strerror}") from error
        if not content.strip():
            raise FileGone(self.name, file_id, "the file is empty")
        if len(content) > _LARGEST:
            raise FileGone(self.name, file_id, f"it is larger than {_LARGEST // 1024**2} MB: no subtitle is")
        return content

    async def standing(self) -> Standing:
        return Standing(provider=self.name, available=True)


def _unreadable(error: OSError) -> None:
    raise ServiceUnavailable(f"{error.filename} cannot be read: {error.strerror}") from error


def _is_of(candidate: Candidate, media: Media) -> bool:
    video, filed = media.release, candidate.release
    if not video.title or plain_title(video.title) != plain_title(filed.title):
        return False
    if video.kind is Kind.MOVIE:
        return True
    same_season = video.season is None or filed.season is None or video.season == filed.season
    return same_season and bool(set(video.episodes) & set(filed.episodes))


def _read(name: str) -> tuple[str, Wanted] | None:
    """The release and the language that a name tells; None if it is no subtitle, or tells no language."""
    stem, dot, extension = name.rpartition(".")
    if f"{dot}{extension.lower()}" not in SUBTITLE_EXTENSIONS:
        return None
    parts = stem.split(".")
    tags: list[str] = []
    while len(parts) > 1 and len(tags) < _TAGS_AT_MOST and _is_tag(parts[-1], tags):
        tags.append(parts.pop())
    release = ".".join(parts)
    beside = subtitles_beside(f"{release}.mkv", [name])
    wanted = beside[0].wanted if beside else None
    return None if wanted is None else (release, wanted)


def _is_tag(part: str, tags: list[str]) -> bool:
    """Whether a part of a name is still about the language; there is one, and behind it the title begins."""
    if part.lower() in _FLAGS:
        return True
    return all(tag.lower() in _FLAGS for tag in tags) and _is_language(part)


def _is_language(part: str) -> bool:
    try:
        parse_language(part)
    except UnknownLanguage:
        return False
    return True
