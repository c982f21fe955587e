"""Webhooks of Radarr and Sonarr, which fill and tidy up a library."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

from headrace_pipelines.subtitles.model import Kind
from headrace_pipelines.subtitles.rules.releases import imdb_number
from headrace_pipelines.subtitles.rules.webhook import (
    Added,
    Ignored,
    Notice,
    Payload,
    PayloadRefused,
    Removed,
    Renamed,
    TriedOut,
    number,
    part,
    parts,
    text,
)

_SENDER = "Radarr or Sonarr"


def parse_arr(payload: Payload) -> tuple[Notice, ...]:
    """What follows from it, in order; one webhook may be about the files of a whole season. Raises ``PayloadRefused``."""
    event = text(payload, "eventType")
    if not event:
        raise PayloadRefused(_SENDER, "it has no eventType")
    if event == "Test":
        return (TriedOut(),)
    if event in {"Download", "Upgrade"}:
        return _arrived(payload)
    if event == "Rename":
        return _renamed(payload)
    if event in {"MovieFileDelete", "EpisodeFileDelete"}:
        return _file_removed(payload)
    if event in {"MovieDelete", "SeriesDelete"}:
        return _title_removed(payload)
    return (Ignored(reason=f"{event} changes no file"),)


def _arrived(payload: Payload) -> tuple[Notice, ...]:
    replaces = tuple(path for one in parts(payload, "deletedFiles") if (path := _path(one, payload)))
    if movie := part(payload, "movie"):
        return (
            Added(
                kind=Kind.MOVIE,
                name=text(movie, "title"),
                path=_needed(part(payload, "movieFile"), payload),
                year=number(movie, "year"),
                imdb_id=imdb_number(text(movie, "imdbId")),
                tmdb_id=number(movie, "tmdbId") or None,
                replaces=replaces,
            ),
        )
    # One file for each of several episodes, or one file for all of them.
    files = parts(payload, "episodeFiles") or [part(payload, "episodeFile")]
    episodes = parts(payload, "episodes")
    alone = [[one] for one in episodes] if len(files) > 1 and len(files) == len(episodes) else [episodes] * len(files)
    return tuple(_episode(payload, file, of, replaces) for file, of in zip(files, alone, strict=True))


def _episode(payload: Payload, file: Payload, episodes: list[Payload], replaces: tuple[str, ...]) -> Added:
    series = part(payload, "series")
    numbers = sorted({found for one in episodes if (found := number(one, "episodeNumber")) is not None})
    seasons = {found for one in episodes if (found := number(one, "seasonNumber")) is not None}
    return Added(
        kind=Kind.EPISODE,
        name=text(episodes[0], "title") if episodes else "",
        path=_needed(file, payload),
        year=number(series, "year") or None,
        series=text(series, "title"),
        season=seasons.pop() if len(seasons) == 1 else None,
        episodes=tuple(numbers),
        imdb_id=imdb_number(text(series, "imdbId")),
        tmdb_id=number(series, "tmdbId") or None,
        replaces=replaces,
    )


def _renamed(payload: Payload) -> tuple[Notice, ...]:
    files = parts(payload, "renamedMovieFiles") or parts(payload, "renamedEpisodeFiles")
    pairs = [
        (
            text(one, "previousPath") or _joined(_folder(payload), text(one, "previousRelativePath")),
            _path(one, payload),
        )
        for one in files
    ]
    renamed = tuple(Renamed(before=before, after=after) for before, after in pairs if before and after)
    return renamed or (Ignored(reason="Rename without the files that were renamed; the next scan finds them"),)


def _file_removed(payload: Payload) -> tuple[Notice, ...]:
    # Before an upgrade the old file goes; what comes in its place is told by itself.
    file = part(payload, "movieFile") or part(payload, "episodeFile")
    return (Removed(path=_needed(file, payload)),)


def _title_removed(payload: Payload) -> tuple[Notice, ...]:
    if text(payload, "deletedFiles").lower() != "true":
        return (Ignored(reason="it was taken off the list, and its files stay"),)
    folder = _folder(payload)
    if not folder:
        raise PayloadRefused(_SENDER, "files were deleted, and it does not say in which folder")
    return (Removed(path=folder),)


# --- paths -------------------------------------------------------------------------------------------------------------


def _needed(file: Payload, payload: Payload) -> str:
    path = _path(file, payload)
    if not path:
        raise PayloadRefused(_SENDER, f"{text(payload, 'eventType')} does not say which file it is about")
    return path


def _path(file: Payload, payload: Payload) -> str:
    return text(file, "path") or _joined(_folder(payload), text(file, "relativePath"))


def _folder(payload: Payload) -> str:
    return text(part(payload, "movie"), "folderPath") or text(part(payload, "series"), "path")


def _joined(folder: str, name: str) -> str:
    if not folder or not name:
        return ""
    is_windows = "\\" in folder and "/" not in folder
    return str((PureWindowsPath if is_windows else PurePosixPath)(folder, name))
