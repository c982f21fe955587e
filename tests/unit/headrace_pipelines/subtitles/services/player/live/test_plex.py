from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from pydantic import SecretStr

from headrace.errors import ServiceRefused
from headrace_pipelines.subtitles.model import Kind
from headrace_pipelines.subtitles.rules.path_mapping import PathMapping
from headrace_pipelines.subtitles.services.player.live import Plex
from headrace_pipelines.subtitles.services.player.port import Item, ItemGone, Track, TrackKind
from headrace_pipelines.subtitles.services.player.stand_in import LocalPlex


@pytest.fixture
async def server() -> AsyncIterator[LocalPlex]:
    async with LocalPlex() as running:
        running.has_section("1", "/media")
        running.has_section("2", "/media/films")
        running.has_film(
            "77",
            "/media/films/Copper Moon/a.mkv",
            "Copper Moon",
            year=2017,
            duration=5_400_000,
            Guid=[{"id": "imdb://tt9100106"}, {"id": "tmdb://910106"}],
            Stream=[
                {"streamType": 1},
                {"streamType": 2, "languageCode": "eng"},
                {"streamType": 3, "languageTag": "pt-BR", "key": "/library/streams/5", "hearingImpaired": True},
            ],
        )
        yield running


@pytest.fixture
async def player(server: LocalPlex) -> AsyncIterator[Plex]:
    mapping = PathMapping((("/media", "/srv"),))
    async with Plex(url=server.url, token=SecretStr("stand-in-token"), mapping=mapping) as asking:
        yield asking


async def test_an_item_is_a_file_of_ours(player: Plex) -> None:
    """The same question as to Jellyfin, the same answer."""
    assert await player.item("77") == Item(
        id="77",
        kind=Kind.MOVIE,
        name="Copper Moon",
        path="/srv/films/Copper Moon/a.mkv",
        year=2017,
        imdb_id=9100106,
        tmdb_id=910106,
        fps=23.976,
        duration=timedelta(minutes=90),
        tracks=(
            Track(kind=TrackKind.AUDIO, language="en"),
            Track(kind=TrackKind.SUBTITLE, language="pt-BR", hearing_impaired=True, external=True),
        ),
    )
    with pytest.raises(ItemGone):
        await player.item("78")


async def test_only_the_folder_is_looked_at_again(server: LocalPlex, player: Plex) -> None:
    """A scan of the whole library takes an hour and wakes every disk."""
    await player.refresh("/srv/films/Copper Moon/a.he.srt", "77")

    assert server.scanned == [("2", "/media/films/Copper Moon")]


async def test_a_folder_that_it_does_not_have_is_told(player: Plex) -> None:
    """Mostly the mapping of paths is missing."""
    with pytest.raises(ServiceRefused, match="look at the mapping of paths"):
        await player.refresh("/elsewhere/a.srt")


async def test_a_wrong_token_is_told(server: LocalPlex) -> None:
    """Nothing shows up, and nobody knows why."""
    async with Plex(url=server.url, token=SecretStr("wrong")) as stranger:
        with pytest.raises(ServiceRefused, match="Look at its token"):
            await stranger.item("77")
