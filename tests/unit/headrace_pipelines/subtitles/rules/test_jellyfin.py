from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Kind
from headrace_pipelines.subtitles.rules.jellyfin import parse_jellyfin
from headrace_pipelines.subtitles.rules.webhook import Added, Ignored, PayloadRefused, TriedOut

NATIVE = {
    "ServerId": "s",
    "NotificationType": "ItemAdded",
    "ItemType": "Episode",
    "Name": "Low Water",
    "ItemId": "f2a1",
    "Year": 2021,
    "SeriesName": "Tideland",
    "SeasonNumber": 1,
    "SeasonNumber00": "01",
    "EpisodeNumber": 2,
    "Provider_imdb": "tt9200201",
    "Provider_tmdb": "920201",
}
TEMPLATED = {
    "event": "library.item.added",
    "item_type": "Movie",
    "item_name": "The Ninth Lighthouse",
    "item_path": "/media/films/lighthouse.mkv",
    "item_id": "f2a2",
    "library_name": "Films",
}


def test_the_plugin_as_it_is() -> None:
    """It names no path, so the item is what must be asked for."""
    assert parse_jellyfin(NATIVE) == Added(
        kind=Kind.EPISODE,
        name="Low Water",
        item_id="f2a1",
        year=2021,
        series="Tideland",
        season=1,
        episodes=(2,),
        imdb_id=9200201,
        tmdb_id=920201,
    )


def test_a_file_with_two_episodes() -> None:
    """Both must be in the subtitle."""
    notice = parse_jellyfin({**NATIVE, "EpisodeNumberEnd": "3"})

    assert isinstance(notice, Added)
    assert notice.episodes == (2, 3)


def test_numbers_that_are_text_and_fields_that_are_empty() -> None:
    """A template puts quotes around everything, and leaves them empty for what is not known."""
    notice = parse_jellyfin({**NATIVE, "ItemType": "Movie", "Year": "", "SeasonNumber": "", "EpisodeNumber": ""})

    assert isinstance(notice, Added)
    assert (notice.year, notice.season, notice.episodes) == (None, None, ())


def test_the_shape_of_get_my_subtitle() -> None:
    """Who comes from there has it configured already."""
    assert parse_jellyfin(TEMPLATED) == Added(
        kind=Kind.MOVIE, name="The Ninth Lighthouse", path="/media/films/lighthouse.mkv", item_id="f2a2"
    )
    updated = parse_jellyfin({"event": "library.item.updated", "item_type": "Episode", "video_url": "/media/x.mkv"})
    assert updated == Added(kind=Kind.EPISODE, name="", path="/media/x.mkv")


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"NotificationType": "PlaybackStart"}, "PlaybackStart adds no video"),
        ({"ItemType": "Series"}, "Series is neither a film nor an episode"),
        ({"ItemType": None}, "an item without a type is neither a film nor an episode"),
    ],
)
def test_what_is_not_for_us(changes: dict[str, object], reason: str) -> None:
    """Most users tick everything; that is no error."""
    assert parse_jellyfin({**NATIVE, **changes}) == Ignored(reason=reason)


def test_what_is_not_for_us_in_the_other_shape() -> None:
    """The same users again."""
    assert parse_jellyfin({**TEMPLATED, "event": "playback.start"}) == Ignored(reason="playback.start adds no video")
    assert isinstance(parse_jellyfin({**TEMPLATED, "item_type": "Season"}), Ignored)


def test_the_button_that_tries_it_out() -> None:
    """Somebody sits before the page and wants to see that it works."""
    assert parse_jellyfin({"NotificationType": "GenericUpdateNotification"}) == TriedOut()


@pytest.mark.parametrize(
    "payload, reason",
    [
        ({}, "neither NotificationType nor event"),
        ({"NotificationType": "ItemAdded", "ItemType": "Movie"}, "without ItemId"),
        ({"event": "library.item.added", "item_type": "Movie"}, "neither item_path nor item_id"),
    ],
)
def test_what_cannot_be_understood_says_what_to_change(payload: dict[str, object], reason: str) -> None:
    """The sender shows the answer in its log, and that is all that the user sees."""
    with pytest.raises(PayloadRefused, match=reason):
        parse_jellyfin(payload)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["ItemAdded", "Movie", "Test"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*NATIVE, *TEMPLATED]), values))
def test_nothing_that_comes_breaks_it(payload: dict[str, object]) -> None:
    """The address is open to the network."""
    with suppress(PayloadRefused):
        parse_jellyfin(payload)
