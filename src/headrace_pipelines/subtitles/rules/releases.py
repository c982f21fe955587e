"""What names say: of a file, of a folder, of a release that a provider offers."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from headrace_pipelines.subtitles.model import Kind, Release

from .packages import extra

# As long as a file name can be; guessit takes half a minute for two thousand signs that somebody made up.
_LONGEST = 255
_IMDB = re.compile(r"(?:tt)?0*([1-9][0-9]{0,9})")


@lru_cache(maxsize=4096)
def parse_release(name: str, kind: Kind | None = None) -> Release:
    """Read a file name, a path below a library or the name of a release; what is not said stays empty."""
    with extra():
        from guessit import guessit
    name = name[-_LONGEST:]
    found: dict[str, Any] = guessit(name, {"type": kind.value} if kind else {}) if name.strip() else {}
    return Release(
        kind=Kind.EPISODE if found.get("type") == "episode" else Kind.MOVIE,
        title=_text(found, "title"),
        year=_number(found, "year"),
        season=_number(found, "season"),
        episodes=tuple(sorted({number for number in _all(found, "episode") if isinstance(number, int)})),
        episode_title=_text(found, "episode_title"),
        group=_text(found, "release_group"),
        source=_text(found, "source"),
        resolution=_text(found, "screen_size"),
        video_codec=_text(found, "video_codec"),
        audio_codec=_joined(found, "audio_codec"),
        streaming_service=_text(found, "streaming_service"),
        edition=_joined(found, "edition"),
        country=str(getattr(next(iter(_all(found, "country")), None), "alpha2", "")),
    )


def _all(found: dict[str, Any], key: str) -> list[Any]:
    """An odd name makes a list of what is one value in all others."""
    value = found.get(key)
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _text(found: dict[str, Any], key: str) -> str:
    return str(next(iter(_all(found, key)), ""))


def _joined(found: dict[str, Any], key: str) -> str:
    return ", ".join(str(value) for value in _all(found, key))


def _number(found: dict[str, Any], key: str) -> int | None:
    return next((value for value in _all(found, key) if isinstance(value, int)), None)


def imdb_number(text: str) -> int | None:
    """133093 of ``tt0133093``; None if the text is no such id."""
    match = _IMDB.fullmatch(text.strip().lower())
    return int(match[1]) if match else None


def imdb_tag(number: int) -> str:
    """``tt0133093`` of 133093."""
    return f"tt{number:07d}"
