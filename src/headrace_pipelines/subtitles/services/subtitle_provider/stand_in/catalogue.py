"""What the stand-in knows: films, episodes and subtitles for them, and how they are found."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A film, or an episode if it has a number."""

    id: int
    title: str
    year: int | None = None
    imdb_id: int | None = None
    tmdb_id: int | None = None
    season: int | None = None
    episode: int | None = None
    series: str = ""
    series_imdb_id: int | None = None
    series_tmdb_id: int | None = None

    @property
    def kind(self) -> str:
        return "Movie" if self.episode is None else "Episode"

    def answer(self) -> dict[str, JsonValue]:
        place = f" S{self.season:02d}E{self.episode:02d}" if self.season is not None and self.episode else ""
        return {
            "feature_id": self.id,
            "feature_type": self.kind,
            "year": self.year,
            "title": self.title,
            "movie_name": f"{self.year} - {self.series or self.title}{place}",
            "imdb_id": self.imdb_id,
            "tmdb_id": self.tmdb_id,
            "season_number": self.season,
            "episode_number": self.episode,
            "parent_imdb_id": self.series_imdb_id,
            "parent_tmdb_id": self.series_tmdb_id,
            "parent_title": self.series or None,
            "parent_feature_id": self.id * 10 if self.series else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A subtitle that somebody uploaded."""

    file_id: int
    feature: Feature
    language: str
    """As the service writes it: ``he``, ``pt-br``."""
    release: str
    content: bytes = field(repr=False)
    hashes: frozenset[str] = frozenset()
    hearing_impaired: bool = False
    foreign_parts_only: bool = False
    ai_translated: bool = False
    machine_translated: bool = False
    from_trusted: bool = False
    fps: float | None = None
    downloads: int = 0
    uploaded_at: str = "2026-05-01T12:00:00Z"
    parts: int = 1

    @property
    def file_name(self) -> str:
        return f"{self.release}.srt"

    def answer(self, moviehash: str | None) -> dict[str, JsonValue]:
        # Some fields are lists in one answer and objects in the next, some are null, and unknown frame rates are 0.
        page = f"https://www.opensubtitles.com/en/subtitles/{self.file_id}"
        links: JsonValue = {"label": "All subtitles", "url": page} if self.file_id % 2 else []
        attributes: dict[str, JsonValue] = {
            "subtitle_id": str(self.file_id + 1_000_000),
            "language": self.language,
            "download_count": self.downloads,
            "new_download_count": 0,
            "hearing_impaired": self.hearing_impaired,
            "hd": True,
            "fps": self.fps or 0.0,
            "votes": 0,
            "ratings": 0.0,
            "from_trusted": self.from_trusted,
            "foreign_parts_only": self.foreign_parts_only,
            "upload_date": self.uploaded_at,
            "ai_translated": self.ai_translated,
            "machine_translated": self.machine_translated,
            "release": self.release,
            "comments": None,
            "legacy_subtitle_id": None,
            "nb_cd": self.parts,
            "uploader": {"uploader_id": None, "name": "Anonymous", "rank": "anonymous"},
            "feature_details": self.feature.answer(),
            "url": page,
            "related_links": links,
            "files": [
                {"file_id": self.file_id + part, "cd_number": part + 1, "file_name": self.file_name}
                for part in range(self.parts)
            ],
        }
        if moviehash is not None:
            attributes["moviehash_match"] = moviehash in self.hashes
        return {"id": str(self.file_id + 1_000_000), "type": "subtitle", "attributes": attributes}


def found(offered: Iterable[Offered], query: Mapping[str, str]) -> list[Offered]:
    """As the service finds them: by hash alone, or by what else is asked, and then a hash is only marked."""
    asked = {name: value for name, value in query.items() if name not in {"page", "order_by", "order_direction"}}
    by_hash_alone = "moviehash" in asked and not any(name in asked for name in _LOOKS_FOR)
    wants_hash = by_hash_alone or asked.get("moviehash_match") == "only"
    matching = [
        one
        for one in offered
        if all(_fits(one, name, value) for name, value in asked.items())
        and (not wants_hash or asked["moviehash"] in one.hashes)
    ]
    return sorted(matching, key=lambda one: (-one.downloads, one.file_id))


_LOOKS_FOR = (
    "id",
    "imdb_id",
    "parent_feature_id",
    "parent_imdb_id",
    "parent_tmdb_id",
    "query",
    "tmdb_id",
)


def _fits(one: Offered, name: str, value: str) -> bool:
    feature = one.feature
    numbers: dict[str, int | None] = {
        "id": feature.id,
        "imdb_id": feature.imdb_id,
        "tmdb_id": feature.tmdb_id,
        "parent_feature_id": feature.id * 10,
        "parent_imdb_id": feature.series_imdb_id,
        "parent_tmdb_id": feature.series_tmdb_id,
        "season_number": feature.season,
        "episode_number": feature.episode,
        "year": feature.year,
    }
    flags = {
        "ai_translated": one.ai_translated,
        "foreign_parts_only": one.foreign_parts_only,
        "hearing_impaired": one.hearing_impaired,
        "trusted_sources": one.from_trusted,
    }
    if name in numbers:
        return str(numbers[name]) == value
    if name in flags:
        return value == "include" or flags[name] is (value == "only")
    if name == "languages":
        return one.language in value.split(",")
    if name == "type":
        return value == "all" or feature.kind.lower() == value
    if name == "query":
        words = set(_words(f"{feature.series} {feature.title} {feature.year} {one.release}"))
        return set(_words(value)) <= words
    return True


def _words(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign if sign.isalnum() else " " for sign in plain if not unicodedata.combining(sign)).split()
