from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Kind, Media, Release, Wanted
from headrace_pipelines.subtitles.services.subtitle_provider.live.query import By, canonical, queries
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.wire import is_canonical

EPISODE = Release(kind=Kind.EPISODE, title="Tideland", season=1, episodes=(3, 2))


def test_the_one_spelling() -> None:
    """Any other is answered with the address of this one, and costs a second request."""
    assert canonical(
        {"page": 1, "Languages": "he,EN", "imdb_id": "tt0042", "query": " The  Sea", "type": "all", "year": None}
    ) == (("imdb_id", "42"), ("languages", "en,he"), ("query", "the sea"))


@settings(deadline=None)
@given(
    st.builds(
        Media,
        url=st.just("file:///x"),
        name=st.text(max_size=20),
        release=st.builds(
            Release,
            kind=st.sampled_from(Kind),
            title=st.text(max_size=20),
            year=st.none() | st.integers(1900, 2030),
            season=st.none() | st.integers(0, 30),
            episodes=st.lists(st.integers(1, 99), max_size=2).map(tuple),
        ),
        moviehash=st.none() | st.just("92acb3d2da072802"),
        imdb_id=st.none() | st.integers(1, 10**8),
        tmdb_id=st.none() | st.integers(1, 10**8),
    ),
    st.booleans(),
)
def test_every_question_is_spelt_so(media: Media, forced: bool) -> None:
    """The stand-in has its own idea of the spelling, written from what the service is known to do."""
    import httpx2

    for _, query in queries(media, Wanted(language="he", forced=forced), "he"):
        raw = httpx2.URL("http://127.0.0.1/subtitles", params=list(query)).query.decode()
        assert is_canonical(raw)


def test_the_surest_question_comes_first() -> None:
    """The later ones are often not needed."""
    media = Media(url="file:///x", name="x", release=EPISODE, moviehash="92acb3d2da072802", imdb_id=7, tmdb_id=8)

    asked = [(by, dict(query)) for by, query in queries(media, Wanted(language="he"), "he")]

    assert [by for by, _ in asked] == [By.HASH, By.ID, By.ID, By.ID, By.ID, By.TITLE]
    assert asked[1][1] == {
        "episode_number": "2",
        "languages": "he",
        "moviehash": "92acb3d2da072802",
        "parent_imdb_id": "7",
        "season_number": "1",
    }
    assert asked[-1][1]["query"] == "tideland"


def test_foreign_parts_are_asked_for_alone() -> None:
    """Among the others they would be on a page that nobody reads."""
    media = Media(url="file:///x", name="x", release=EPISODE, imdb_id=7)

    assert all(
        ("foreign_parts_only", "only") in query for _, query in queries(media, Wanted(language="he", forced=True), "he")
    )
