"""What is asked, in the one spelling that OpenSubtitles answers without sending us elsewhere first.

Keys are sorted, everything is in lower case, ids are bare numbers, and what is the default is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from headrace_pipelines.subtitles.model import Kind, Media, Wanted

SHORTEST_QUERY = 3
"""Shorter ones are refused."""

Query = tuple[tuple[str, str], ...]

_DEFAULTS = {"foreign_parts_only": "include", "hearing_impaired": "include", "moviehash_match": "include"} | {
    "ai_translated": "include",
    "order_direction": "desc",
    "page": "1",
    "type": "all",
    "trusted_sources": "include",
}


class By(StrEnum):
    """By what a video is looked for, the surest first."""

    HASH = "hash"
    ID = "id"
    TITLE = "title"


def queries(media: Media, wanted: Wanted, code: str) -> Iterator[tuple[By, Query]]:
    """In the order in which they should be asked; later ones are needed if an earlier kind found nothing."""
    common: dict[str, str | int | None] = {
        "languages": code,
        "moviehash": media.moviehash,
        "foreign_parts_only": "only" if wanted.forced else None,
    }
    if media.moviehash:
        yield By.HASH, canonical(common)
    for wanted_id in _ids(media):
        yield By.ID, canonical({**common, **wanted_id})
    if title := _title(media):
        yield By.TITLE, canonical({**common, **title, **_place(media), "type": media.release.kind.value})


def canonical(parameters: Mapping[str, str | int | None]) -> Query:
    spelt = {name.lower(): _spelt(name.lower(), value) for name, value in parameters.items() if value is not None}
    return tuple((name, value) for name, value in sorted(spelt.items()) if value != "" and _DEFAULTS.get(name) != value)


def _spelt(name: str, value: str | int) -> str:
    text = " ".join(str(value).lower().split())
    if name.endswith(("imdb_id", "tmdb_id")):
        return text.removeprefix("tt").lstrip("0")
    return ",".join(sorted(text.split(","))) if name == "languages" else text


def _ids(media: Media) -> Iterator[dict[str, str | int | None]]:
    known = {"imdb_id": media.imdb_id, "tmdb_id": media.tmdb_id}
    for name, number in known.items():
        if number is None:
            continue
        if media.release.kind is Kind.EPISODE and media.release.episodes:
            # Some tell the id of the series and some that of the episode; the number itself does not say which it is.
            yield {f"parent_{name}": number, **_place(media)}
        yield {name: number}


def _place(media: Media) -> dict[str, str | int | None]:
    release = media.release
    if release.kind is Kind.MOVIE:
        return {"year": release.year}
    return {"season_number": release.season, "episode_number": min(release.episodes, default=None)}


def _title(media: Media) -> dict[str, str | int | None]:
    title = media.release.title.strip()
    if title and len(title) < SHORTEST_QUERY and media.release.year:
        title = f"{title} {media.release.year}"
    return {"query": title} if len(title) >= SHORTEST_QUERY else {}
