from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Candidate, Kind, Media, Release, Wanted
from headrace_pipelines.subtitles.rules.languages import parse_same
from headrace_pipelines.subtitles.rules.scoring import (
    EPISODE_WEIGHTS,
    MOVIE_WEIGHTS,
    ScoringPolicy,
    plain_title,
    rank,
    score,
)

HEBREW = Wanted(language="he")
FILM = Release(
    title="The Ninth Lighthouse",
    year=2021,
    group="HARBOUR",
    source="Blu-ray",
    resolution="1080p",
    video_codec="H.264",
)
EPISODE = Release(
    kind=Kind.EPISODE, title="Tideland", season=1, episodes=(2,), group="TIDAL", source="Web", resolution="1080p"
)


def media(release: Release = FILM, **changes: Any) -> Media:
    return Media(url="file:///x.mkv", name="x.mkv", release=release, **changes)


def candidate(release: Release = FILM, **changes: Any) -> Candidate:
    values: dict[str, Any] = {"provider": "p", "file_id": "1", "language": "he"}
    return Candidate(release=release, **{**values, **changes})


# --- examples ----------------------------------------------------------------------------------------------------------


def test_the_weights_are_the_known_ones() -> None:
    """All facts together weigh as much as the hash."""
    assert (sum(MOVIE_WEIGHTS.values()), sum(EPISODE_WEIGHTS.values())) == (323, 971)


def test_the_same_release_scores_all() -> None:
    """Every fact that is known of the video fits."""
    scored = score(candidate(), media(), HEBREW)

    assert (scored.score, scored.rejected) == (100, "")
    assert scored.matches == ("title", "year", "release_group", "source", "resolution", "video_codec")


def test_another_release_of_the_same_film_is_good_enough() -> None:
    """For most films there is none for the very release."""
    other = Release(title="Ninth lighthouse", year=2021, group="INK", source="Web", resolution="720p")

    scored = score(candidate(other), media(), HEBREW)

    assert (scored.score, scored.matches, scored.rejected) == (90, ("title", "year"), "")


def test_another_film_is_not() -> None:
    """Technical facts fit many films."""
    scored = score(candidate(replace(FILM, title="The Eighth Lighthouse", year=2019)), media(), HEBREW)

    assert scored.score < 15
    assert scored.rejected == f"it scores {scored.score}, and 70 are needed"


def test_an_id_stands_for_title_and_year() -> None:
    """Titles are translated, ids are not."""
    scored = score(candidate(replace(FILM, title="Das neunte Feuer", year=None), imdb_id=7), media(imdb_id=7), HEBREW)

    assert scored.score == 100
    assert {"imdb_id", "title", "year"} <= set(scored.matches)


def test_another_id_is_another_film() -> None:
    """Two films of one name and one year exist."""
    scored = score(candidate(imdb_id=8), media(imdb_id=7), HEBREW)

    assert scored.rejected == "it is for another film: its id differs"


@pytest.mark.parametrize(
    "release, reason",
    [
        (replace(EPISODE, episodes=(3,)), "it is for episode 3, not for episode 2"),
        (replace(EPISODE, season=2), "it is for season 2, not for season 1"),
        (FILM, "it is for a film, and the video is an episode"),
    ],
)
def test_the_wrong_episode_is_rejected_however_much_fits(release: Release, reason: str) -> None:
    """The series weighs so much that the wrong episode would score ninety, hash or not."""
    for hash_matches in (False, True):
        assert score(candidate(release, hash_matches=hash_matches), media(EPISODE), HEBREW).rejected == reason


def test_episodes_need_more_than_films() -> None:
    """A series has dozens of subtitles that fit all but one fact."""
    nearly = replace(EPISODE, season=None, episodes=())

    scored = score(candidate(nearly), media(EPISODE), HEBREW)

    assert 70 < scored.score < 90
    assert scored.rejected.endswith("and 90 are needed")


def test_a_hash_is_worth_everything_if_the_release_fits() -> None:
    """A film that is called anything is still known by its hash."""
    scored = score(candidate(FILM, hash_matches=True), media(Release(title="holiday")), HEBREW)

    assert (scored.score, scored.matches[0], scored.rejected) == (100, "hash", "")


@pytest.mark.parametrize(
    "kind, release, reason",
    [
        (FILM, replace(FILM, source="HDTV", title="Other"), "it was made for HDTV, and the video is from Blu-ray"),
        (FILM, replace(FILM, video_codec="H.265", title="Other"), "it was made for H.265, and the video is in H.264"),
        (EPISODE, replace(EPISODE, title="Highland"), "it is for 'Highland'"),
        (EPISODE, replace(EPISODE, title="Highland", source="DVD"), "it was made for DVD, and the video is from Web"),
    ],
)
def test_a_hash_that_contradicts_the_release_is_not_trusted(kind: Release, release: Release, reason: str) -> None:
    """People upload under the hash of whatever lies beside it: a score of a hundred, and fifteen seconds off."""
    scored = score(candidate(release, hash_matches=True), media(kind), HEBREW)

    assert "hash" not in scored.matches
    assert scored.rejected.endswith(f"its hash is not trusted, because {reason}")


@pytest.mark.parametrize(
    "video, subtitle, points", [(23.976, 24.0, 100), (23.98, 23.976, 100), (25.0, 25.0, 100), (25.0, 23.976, 81)]
)
def test_frame_rates(video: float, subtitle: float, points: int) -> None:
    """23.976 and 24 are one rate; at 25 every line comes later than the one before."""
    assert score(candidate(fps=subtitle), media(fps=video), HEBREW).score == points


def test_sounds_in_brackets_are_a_small_fault() -> None:
    """Better than nothing, and worse than without."""
    assert score(candidate(hearing_impaired=True), media(), HEBREW).score == 95


@pytest.mark.parametrize(
    "wanted, changes, reason",
    [
        (HEBREW, {"language": "ar"}, "it is in ar, not in he"),
        (HEBREW, {"forced": True}, "it has the foreign parts alone"),
        (Wanted(language="he", forced=True), {}, "it has all the dialogue, not the foreign parts alone"),
        (Wanted(language="he", hearing_impaired=True), {}, "it is not for the hearing impaired"),
        (HEBREW, {"parts": 2}, "it is split into 2 files"),
        (HEBREW, {"file_id": "bad"}, "somebody marked it as bad"),
        (HEBREW, {"machine_translated": True}, "a machine translated it: that counts 50 at most, and 70 are needed"),
    ],
)
def test_what_is_not_to_be_used_says_why(wanted: Wanted, changes: dict[str, Any], reason: str) -> None:
    """Whoever asks "why this subtitle?" reads it."""
    policy = ScoringPolicy(denied=frozenset({("p", "bad")}))

    assert score(candidate(**changes), media(), wanted, policy).rejected == reason


def test_a_machine_translation_may_be_allowed_and_is_still_the_last() -> None:
    """So that what a person made replaces it later."""
    policy = ScoringPolicy(least_for_movies=40)
    machine = candidate(file_id="2", machine_translated=True, hash_matches=True, downloads=999)
    person = candidate(replace(FILM, group="", source="", resolution="", video_codec="", year=None), file_id="3")

    best, last = rank([machine, person], media(), HEBREW, policy)

    assert (best.candidate, last.score, last.rejected) == (person, 50, "")


def test_which_languages_are_the_same_is_taste() -> None:
    """Brazilian will do for some who ask for Portuguese."""
    brazilian, portuguese = candidate(language="pt-BR"), Wanted(language="pt")
    tolerant = ScoringPolicy(same_languages=parse_same("pt = pt-BR"))

    assert score(brazilian, media(), portuguese).rejected
    assert not score(brazilian, media(), portuguese, tolerant).rejected


def test_trust_and_downloads_decide_among_equals() -> None:
    """Of ten that fit alike, the one that thousands took is the better guess."""
    many, trusted, few = (
        candidate(file_id="1", downloads=900),
        candidate(file_id="2", trusted=True),
        candidate(file_id="3", downloads=3),
    )

    assert [scored.candidate for scored in rank([few, many, trusted], media(), HEBREW)] == [trusted, many, few]


def test_titles_are_compared_by_their_words() -> None:
    """Names of files know no apostrophes, no accents and often no article."""
    assert plain_title("The Beekeeper's Atlas") == plain_title("beekeepers.atlas")
    assert plain_title("Amélie & Co.") == plain_title("Amelie and Co")
    assert plain_title("A") == "a"


# --- properties --------------------------------------------------------------------------------------------------------

releases = st.builds(
    Release,
    kind=st.sampled_from(Kind),
    title=st.sampled_from(["", "Tideland", "Highland"]),
    year=st.sampled_from([None, 2020, 2021]),
    season=st.sampled_from([None, 1, 2]),
    episodes=st.sampled_from([(), (1,), (2,), (1, 2)]),
    group=st.sampled_from(["", "TIDAL", "INK"]),
    source=st.sampled_from(["", "Web", "Blu-ray", "Ultra HD Blu-ray"]),
    resolution=st.sampled_from(["", "1080p"]),
    video_codec=st.sampled_from(["", "H.264", "H.265"]),
    country=st.sampled_from(["", "GB"]),
)
videos = st.builds(
    Media,
    url=st.just("file:///x"),
    name=st.just("x"),
    release=releases,
    imdb_id=st.sampled_from([None, 1, 2]),
    fps=st.sampled_from([None, 23.976, 25.0]),
)
candidates = st.builds(
    Candidate,
    provider=st.just("p"),
    file_id=st.sampled_from("abcdef"),
    language=st.sampled_from(["he", "en"]),
    release=releases,
    hash_matches=st.booleans(),
    imdb_id=st.sampled_from([None, 1, 2]),
    hearing_impaired=st.booleans(),
    forced=st.booleans(),
    machine_translated=st.booleans(),
    fps=st.sampled_from([None, 24.0, 25.0]),
    trusted=st.booleans(),
    downloads=st.integers(0, 3),
    parts=st.integers(1, 2),
)


@settings(deadline=None)
@given(st.lists(candidates, max_size=8), videos, st.randoms())
def test_the_order_in_which_they_come_does_not_matter(listed: list[Candidate], video: Media, chance: Any) -> None:
    """Providers answer in any order, and the same question must have the same answer."""
    shuffled = list(listed)
    chance.shuffle(shuffled)

    assert rank(shuffled, video, HEBREW) == rank(listed, video, HEBREW)


@settings(deadline=None)
@given(st.lists(candidates, max_size=8), videos)
def test_every_one_is_kept_scored_and_explained(listed: list[Candidate], video: Media) -> None:
    """Nothing disappears: what is below the line says why it is there."""
    ranked = rank(listed, video, HEBREW)

    assert sorted(map(repr, listed)) == sorted(repr(scored.candidate) for scored in ranked)
    assert all(0 <= scored.score <= 100 for scored in ranked)
    assert [bool(scored.rejected) for scored in ranked] == sorted(bool(scored.rejected) for scored in ranked)
    least = ScoringPolicy().least_for(video.release.kind)
    assert all(scored.rejected or scored.score >= least for scored in ranked)


@settings(deadline=None)
@given(candidates, videos, st.sampled_from(["title", "year", "season", "episodes", "group", "source", "resolution"]))
def test_one_more_fact_that_fits_never_makes_it_worse(one: Candidate, video: Media, fact: str) -> None:
    """Otherwise a better described subtitle would lose against a worse described one."""
    fitting = replace(one, release=replace(one.release, **{fact: getattr(video.release, fact)}))

    assert score(fitting, video, HEBREW).score >= score(one, video, HEBREW).score


@settings(deadline=None)
@given(candidates, videos, st.sampled_from(["hearing_impaired", "machine_translated"]))
def test_a_fault_never_makes_it_better(one: Candidate, video: Media, fault: str) -> None:
    """Nor may a hash that fits make it worse."""
    without, having = replace(one, **{fault: False}), replace(one, **{fault: True})  # type: ignore[arg-type]  # both are flags

    assert score(having, video, HEBREW).score <= score(without, video, HEBREW).score
    assert (
        score(replace(one, hash_matches=True), video, HEBREW).score
        >= score(replace(one, hash_matches=False), video, HEBREW).score
    )
