"""What names say."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.model import Kind, Release
from headrace_pipelines.subtitles.rules.releases import imdb_number, imdb_tag, parse_release


def test_a_film() -> None:
    """Title and year are what a search without fingerprint is made of."""
    assert parse_release("The.Matrix.1999.1080p.BluRay.x264.DTS-FGT.mkv") == Release(
        kind=Kind.MOVIE, title="The Matrix", year=1999, group="FGT", source="Blu-ray", resolution="1080p",
        video_codec="H.264", audio_codec="DTS",
    )  # fmt: skip


def test_an_episode_of_a_double_one() -> None:
    """One file, two episodes: a subtitle for either may fit."""
    release = parse_release("Show.S01E02E03.720p.AMZN.WEB-DL.DDP5.1.H.264-NTb")

    assert (release.kind, release.season, release.episodes) == (Kind.EPISODE, 1, (2, 3))
    assert release.streaming_service == "Amazon Prime"


def test_folders_tell_the_series() -> None:
    """In many libraries the file is called `03 - Pilot.mkv`."""
    release = parse_release("Series/Season 02/03 - Pilot.mkv")

    assert (release.title, release.season, release.episodes, release.episode_title) == ("Series", 2, (3,), "Pilot")


@pytest.mark.parametrize(
    "name, field, value",
    [
        ("Movie (2001) (2003).mkv", "year", 2001),
        ("Show.S01-S03.Complete", "season", 1),
        ("Show.2019.S01E01-E10.WEB", "episodes", tuple(range(1, 11))),
        ("Foo.S01E01.1080p.720p.x264.x265.mkv", "video_codec", "H.264"),
        ("Movie.2010.Extended.Directors.Cut.PROPER.mkv", "edition", "Extended, Director's Cut"),
        ("Show.US.2x05.HDTV", "country", "US"),
        ("Anime - 1085 [1080p].mkv", "episodes", (1085,)),
    ],
)
def test_lists_become_values(name: str, field: str, value: object) -> None:
    """An odd name gives two years or three seasons where everybody expects one."""
    assert getattr(parse_release(name), field) == value


@pytest.mark.parametrize("name", ["", " ", ".mkv", "1", "....", "[]", "🎬"])
def test_names_that_say_nothing(name: str) -> None:
    """Whatever lies in a folder, it must not stop the scan."""
    assert isinstance(parse_release(name), Release)


@pytest.mark.parametrize("piece", ["S01E01", "2019.", "1", "("])
def test_a_name_without_end_does_no_harm(piece: str) -> None:
    """Release names come from strangers, and reading one takes time that grows with its square."""
    assert isinstance(parse_release(piece * 10_000), Release)


def test_the_kind_may_be_told() -> None:
    """The library knows what is a series; `1917` alone does not say so."""
    assert parse_release("1917.mkv", Kind.EPISODE).kind is Kind.EPISODE


@pytest.mark.parametrize(
    "text, number", [("tt0133093", 133093), ("0133093", 133093), ("TT10872600", 10872600), (" tt1 ", 1)]
)
def test_ids_of_imdb_are_numbers(text: str, number: int) -> None:
    """OpenSubtitles wants them without letters and zeros, and redirects otherwise."""
    assert imdb_number(text) == number


@pytest.mark.parametrize("text", ["", "tt", "nm0000206", "tt0", "tt12x", "tt99999999999"])
def test_what_is_no_id_of_imdb_is_none(text: str) -> None:
    """A person's id, or a title, must not find somebody else's film."""
    assert imdb_number(text) is None


@pytest.mark.parametrize("number, tag", [(133093, "tt0133093"), (10872600, "tt10872600")])
def test_ids_of_imdb_are_written_with_their_letters(number: int, tag: str) -> None:
    """Everybody else writes them so."""
    assert imdb_tag(number) == tag
    assert imdb_number(tag) == number
