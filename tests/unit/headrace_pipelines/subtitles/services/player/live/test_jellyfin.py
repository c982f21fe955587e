from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import PurePath

import pytest
from pydantic import SecretStr

from headrace.errors import ConfigurationError, ServiceRefused, ServiceUnavailable
from headrace_pipelines.subtitles.model import Kind
from headrace_pipelines.subtitles.rules.path_mapping import PathMapping
from headrace_pipelines.subtitles.services.player.live import Jellyfin
from headrace_pipelines.subtitles.services.player.port import Item, ItemGone, Track, TrackKind
from headrace_pipelines.subtitles.services.player.stand_in import LocalJellyfin

MAPPING = PathMapping((("/media", "/srv"),))


@pytest.fixture
async def server() -> AsyncIterator[LocalJellyfin]:
    async with LocalJellyfin() as running:
        running.has_film(
            "f1",
            "/media/films/a.mkv",
            "Copper Moon",
            year=2017,
            ProviderIds={"Imdb": "tt9100106", "Tmdb": "910106", "Tvdb": None},
            RunTimeTicks=54_000_000_000,
            MediaStreams=[
                {"Type": "Video", "RealFrameRate": 23.976},
                {"Type": "Audio", "Language": "eng"},
                {"Type": "Subtitle", "Language": "heb", "IsForced": True, "IsExternal": True},
                {"Type": "Subtitle", "Language": "xx-unknown"},
            ],
        )
        yield running


@pytest.fixture
async def player(server: LocalJellyfin) -> AsyncIterator[Jellyfin]:
    async with Jellyfin(url=server.url, token=SecretStr("stand-in-token"), mapping=MAPPING) as asking:
        yield asking


FILM = Item(
    id="f1",
    kind=Kind.MOVIE,
    name="Copper Moon",
    path="/srv/films/a.mkv",
    year=2017,
    imdb_id=9100106,
    tmdb_id=910106,
    fps=23.976,
    duration=timedelta(minutes=90),
    tracks=(
        Track(kind=TrackKind.AUDIO, language="en"),
        Track(kind=TrackKind.SUBTITLE, language="he", forced=True, external=True),
        Track(kind=TrackKind.SUBTITLE, language=None),
    ),
)


async def test_an_item_is_a_file_of_ours(player: Jellyfin) -> None:
    """Its webhooks name no path, and its paths are those of another container."""
    assert await player.item("f1") == FILM


async def test_an_episode_knows_its_place(server: LocalJellyfin, player: Jellyfin) -> None:
    """It is looked for by series, season and number."""
    server.has_episode("e1", "/media/t.mkv", "Tideland", season=1, episode=2, name="The Causeway")

    item = await player.item("e1")

    assert (item.kind, item.series, item.season, item.episode) == (Kind.EPISODE, "Tideland", 1, 2)


async def test_versions_that_give_single_items_to_users_only(server: LocalJellyfin, player: Jellyfin) -> None:
    """A key is nobody's, and such a version answers 400 without saying why."""
    server.keeps_items_for_users()

    assert await player.item("f1") == FILM
    with pytest.raises(ItemGone):
        await player.item("f2")


async def test_what_is_no_video_is_gone(server: LocalJellyfin, player: Jellyfin) -> None:
    """Between webhook and question an item may be deleted, and a series has no file."""
    server.has_series("s1", "Tideland")

    with pytest.raises(ItemGone, match="no video 'nothing'"):
        await player.item("nothing")
    with pytest.raises(ItemGone, match="it is a Series without a file"):
        await player.item("s1")


async def test_a_new_subtitle_is_reported_under_their_name(server: LocalJellyfin, player: Jellyfin) -> None:
    """Without it a subtitle shows hours later, after the next scan."""
    await player.refresh(PurePath("/srv/films/a.he.srt"), "f1")

    assert (server.reported, server.refreshed) == (["/media/films/a.he.srt"], [])


async def test_where_reports_are_not_taken_the_item_is_refreshed(server: LocalJellyfin, player: Jellyfin) -> None:
    """The second way needs the id, which not every job has."""
    server.takes_no_reports()

    await player.refresh("/srv/films/a.he.srt", "f1")
    assert server.refreshed == ["f1"]

    with pytest.raises(ServiceRefused, match="shows after its next scan"):
        await player.refresh("/srv/films/a.he.srt")


async def test_what_goes_wrong_has_a_name(server: LocalJellyfin, player: Jellyfin) -> None:
    """Some of it passes by itself, some needs a person."""
    server.fails(status=503)
    with pytest.raises(ServiceUnavailable, match="answered 503"):
        await player.item("f1")

    async with Jellyfin(url=server.url, token=SecretStr("wrong")) as stranger:
        with pytest.raises(ServiceRefused, match="Look at its token"):
            await stranger.item("f1")
    with pytest.raises(ConfigurationError, match="needs a token"):
        Jellyfin(url=server.url, token=SecretStr(""))


async def test_a_server_that_is_off_is_worth_another_attempt() -> None:
    """Media servers sleep at night."""
    async with LocalJellyfin() as server:
        url = server.url
    async with Jellyfin(url=url, token=SecretStr("t")) as player:
        with pytest.raises(ServiceUnavailable, match="cannot be reached"):
            await player.refresh("/srv/a.srt")


async def test_ids_from_outside_stay_ids(server: LocalJellyfin, player: Jellyfin) -> None:
    """A webhook is text from outside, and must not choose what we ask of the server."""
    with pytest.raises(ItemGone):
        await player.item("../System/Restart")

    assert all(asked.path.startswith("/Items") for asked in server.asked)
