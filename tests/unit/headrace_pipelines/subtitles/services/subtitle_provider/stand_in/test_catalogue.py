from __future__ import annotations

from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import demo_subtitles
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.catalogue import Feature, Offered, found

FILM = Feature(id=1, title="Copper Moon", year=2017, imdb_id=7)
EPISODE = Feature(id=2, title="Low Water", series="Tideland", season=1, episode=2, imdb_id=8, series_imdb_id=9)


def offered(file_id: int, feature: Feature, moviehash: str = "", downloads: int = 0) -> Offered:
    return Offered(
        file_id=file_id,
        feature=feature,
        language="he",
        release="R.1080p",
        content=b"",
        hashes=frozenset({moviehash} - {""}),
        downloads=downloads,
    )


ALL = [offered(1, FILM, "a"), offered(2, FILM, downloads=5), offered(3, EPISODE, "a")]


def ids(**query: str) -> list[int]:
    return [one.file_id for one in found(ALL, query)]


def test_it_finds_as_the_service_does() -> None:
    """A hash alone finds, a hash beside an id only marks."""
    assert ids(moviehash="a") == [1, 3]
    assert ids(moviehash="a", imdb_id="7") == [2, 1]
    assert ids(moviehash="a", imdb_id="7", moviehash_match="only") == [1]
    assert ids(parent_imdb_id="9", season_number="1", episode_number="2") == [3]
    assert ids(parent_imdb_id="9", season_number="1", episode_number="3") == []
    assert ids(query="moon copper", year="2017", type="movie") == [2, 1]
    assert ids(query="copper sun") == []
    assert ids(languages="en,fr", imdb_id="7") == []
    assert ids(foreign_parts_only="only", imdb_id="7") == []


def test_answers_are_as_odd_as_the_real_ones() -> None:
    """A client that lives with these lives with the service."""
    answers = [one.answer(None)["attributes"] for one in demo_subtitles()]

    assert {type(answer["related_links"]) for answer in answers if isinstance(answer, dict)} == {dict, list}
    assert all("moviehash_match" not in answer for answer in answers if isinstance(answer, dict))
    assert all(answer["comments"] is None for answer in answers if isinstance(answer, dict))
