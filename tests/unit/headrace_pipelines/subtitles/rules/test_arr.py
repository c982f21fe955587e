from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Kind
from headrace_pipelines.subtitles.rules.arr import parse_arr
from headrace_pipelines.subtitles.rules.webhook import Added, Ignored, PayloadRefused, Removed, Renamed, TriedOut

MOVIE = {
    "id": 1,
    "title": "Copper Moon",
    "year": 2017,
    "folderPath": "/films/Copper Moon (2017)",
    "tmdbId": 910106,
    "imdbId": "tt9100106",
}
RADARR: dict[str, Any] = {
    "eventType": "Download",
    "movie": MOVIE,
    "movieFile": {"relativePath": "Copper.Moon.mkv", "path": "/films/Copper Moon (2017)/Copper.Moon.mkv"},
    "isUpgrade": False,
}
SERIES = {
    "title": "Tideland",
    "path": "/series/Tideland",
    "tvdbId": 7,
    "tmdbId": 0,
    "imdbId": "tt9300001",
    "year": 2021,
}
SONARR: dict[str, Any] = {
    "eventType": "Download",
    "series": SERIES,
    "episodes": [{"seasonNumber": 1, "episodeNumber": 2, "title": "The Causeway"}],
    "episodeFile": {"relativePath": "Season 1/b.mkv"},
}


def test_a_film_that_arrived() -> None:
    """The path is there, so nobody has to be asked."""
    assert parse_arr(RADARR) == (
        Added(
            kind=Kind.MOVIE,
            name="Copper Moon",
            path="/films/Copper Moon (2017)/Copper.Moon.mkv",
            year=2017,
            imdb_id=9100106,
            tmdb_id=910106,
        ),
    )


def test_an_upgrade_tells_what_it_replaces() -> None:
    """What fitted the old file is seconds off in the new one."""
    upgrade = {**RADARR, "isUpgrade": True, "deletedFiles": [{"relativePath": "old.avi"}, {"path": "/films/older.avi"}]}

    (added,) = parse_arr(upgrade)

    assert isinstance(added, Added)
    assert added.replaces == ("/films/Copper Moon (2017)/old.avi", "/films/older.avi")


def test_an_episode_that_arrived() -> None:
    """Older versions tell the path below the series only."""
    assert parse_arr(SONARR) == (
        Added(
            kind=Kind.EPISODE,
            name="The Causeway",
            path="/series/Tideland/Season 1/b.mkv",
            year=2021,
            series="Tideland",
            season=1,
            episodes=(2,),
            imdb_id=9300001,
        ),
    )


def test_a_season_that_arrived_at_once() -> None:
    """One webhook, as many files as episodes."""
    whole = {
        **SONARR,
        "episodes": [{"seasonNumber": 1, "episodeNumber": number} for number in (1, 2)],
        "episodeFiles": [{"path": "/series/a.mkv"}, {"path": "/series/b.mkv"}],
    }

    assert [(one.path, one.episodes) for one in parse_arr(whole) if isinstance(one, Added)] == [
        ("/series/a.mkv", (1,)),
        ("/series/b.mkv", (2,)),
    ]


def test_two_episodes_in_one_file() -> None:
    """Both must be in the subtitle."""
    double = {**SONARR, "episodes": [{"seasonNumber": 1, "episodeNumber": number} for number in (3, 2)]}

    (added,) = parse_arr(double)

    assert isinstance(added, Added)
    assert added.episodes == (2, 3)


def test_renamed_files() -> None:
    """Our subtitles must be called after the new name, or players do not find them."""
    renamed = {
        "eventType": "Rename",
        "movie": MOVIE,
        "renamedMovieFiles": [
            {"previousPath": "/films/a.mkv", "path": "/films/b.mkv"},
            {"previousRelativePath": "c.mkv", "relativePath": "d.mkv"},
        ],
    }

    assert parse_arr(renamed) == (
        Renamed(before="/films/a.mkv", after="/films/b.mkv"),
        Renamed(before="/films/Copper Moon (2017)/c.mkv", after="/films/Copper Moon (2017)/d.mkv"),
    )
    assert isinstance(parse_arr({"eventType": "Rename", "series": SERIES})[0], Ignored)


def test_deleted_files() -> None:
    """Jobs for what is gone must end."""
    assert parse_arr({**SONARR, "eventType": "EpisodeFileDelete"}) == (Removed(path="/series/Tideland/Season 1/b.mkv"),)
    assert parse_arr({**RADARR, "eventType": "MovieDelete", "deletedFiles": True}) == (
        Removed(path="/films/Copper Moon (2017)"),
    )
    kept = parse_arr({**RADARR, "eventType": "MovieDelete", "deletedFiles": False})
    assert kept == (Ignored(reason="it was taken off the list, and its files stay"),)


def test_windows_paths() -> None:
    """Half of all servers run there; the mapping turns them into ours."""
    movie = {**MOVIE, "folderPath": "D:\\Films\\Copper Moon"}

    (added,) = parse_arr({**RADARR, "movie": movie, "movieFile": {"relativePath": "a.mkv"}})

    assert isinstance(added, Added)
    assert added.path == "D:\\Films\\Copper Moon\\a.mkv"


def test_tests_and_the_rest() -> None:
    """The test button must turn green, and a grab changes no file yet."""
    assert parse_arr({"eventType": "Test", "series": SERIES}) == (TriedOut(),)
    assert parse_arr({"eventType": "Grab"}) == (Ignored(reason="Grab changes no file"),)


@pytest.mark.parametrize(
    "payload, reason",
    [
        ({}, "no eventType"),
        ({"eventType": "Download", "movie": MOVIE}, "Download does not say which file"),
        ({"eventType": "Download"}, "Download does not say which file"),
        ({"eventType": "SeriesDelete", "deletedFiles": True}, "in which folder"),
    ],
)
def test_what_cannot_be_understood_says_why(payload: dict[str, object], reason: str) -> None:
    """The sender shows the answer in its log."""
    with pytest.raises(PayloadRefused, match=reason):
        parse_arr(payload)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["path", "relativePath", "title", "episodeNumber"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["movie", "movieFile", "series", "episodes", "episodeFile", "episodeFiles", "deletedFiles"]),
        values,
    ),
    st.sampled_from(["Download", "Rename", "MovieDelete", "EpisodeFileDelete", "Test", "Health"]),
)
def test_nothing_that_comes_breaks_it(payload: dict[str, object], event: str) -> None:
    """The address is open to the network."""
    with suppress(PayloadRefused):
        parse_arr({**payload, "eventType": event})
