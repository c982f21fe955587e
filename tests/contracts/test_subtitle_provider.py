"""What the pipeline may rely on, whoever provides the subtitles."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from headrace_pipelines.subtitles.model import Candidate, Kind, Media, Release, Wanted
from headrace_pipelines.subtitles.services.subtitle_provider.folder import HASH_FILE, FolderOfSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.live import Account, OpenSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.port import FileGone, SubtitleProvider
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import Feature, LocalSubtitles, Offered

HASH = "92acb3d2da072802"
OTHER_HASH = "8e245d9679d31e12"
FILM = "The.Ninth.Lighthouse.2021.1080p.BluRay.x264-HARBOUR"
EPISODE = "Tideland.S01E02.1080p.WEB.H264-TIDAL"
SUBTITLE = b"1\n00:00:01,000 --> 00:00:02,000\nHi.\n"

Put = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A provider, and how something gets there."""

    provider: SubtitleProvider
    put: Put


@pytest.fixture(params=["opensubtitles", "folder"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        yield _folder(tmp_path) if request.param == "folder" else await _opensubtitles(stack)


def _folder(root: Path) -> Place:
    def put(
        release: str, language: str, content: bytes = SUBTITLE, *, moviehash: str = "", hearing_impaired: bool = False
    ) -> None:
        path = root / "archive" / f"{release}.{language}{'.sdh' if hearing_impaired else ''}.srt"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        if moviehash:
            path.with_name(path.name + HASH_FILE).write_text(moviehash + "\n")

    return Place(provider=FolderOfSubtitles(root), put=put)


async def _opensubtitles(stack: AsyncExitStack) -> Place:
    server = await stack.enter_async_context(LocalSubtitles())
    server.per_second.most = 1000
    provider = await stack.enter_async_context(
        OpenSubtitles(
            key=SecretStr("stand-in-key"),
            user_agent="Headrace v0.1",
            account=Account(username="demo", password=SecretStr("demo")),
            url=server.api,
            timeout=timedelta(seconds=10),
        )
    )

    def put(
        release: str, language: str, content: bytes = SUBTITLE, *, moviehash: str = "", hearing_impaired: bool = False
    ) -> None:
        film = Feature(id=1, title="The Ninth Lighthouse", year=2021)
        episode = Feature(id=2, title="Low Water", series="Tideland", season=1, episode=2)
        server.offers(
            Offered(
                file_id=len(server.offered) + 1,
                feature=episode if release == EPISODE else film,
                language=language,
                release=release,
                content=content,
                hashes=frozenset({moviehash} - {""}),
                hearing_impaired=hearing_impaired,
            )
        )

    return Place(provider=provider, put=put)


def film(moviehash: str | None = None, title: str = "The Ninth Lighthouse") -> Media:
    return Media(url="file:///x.mkv", name="x.mkv", release=Release(title=title, year=2021), moviehash=moviehash)


async def test_it_finds_what_it_has_in_the_wanted_language(place: Place) -> None:
    """Nothing else may be offered as it."""
    place.put(FILM, "he")
    place.put(FILM, "en")

    (found,) = await place.provider.search(film(), Wanted(language="he"))

    assert (found.provider, found.language, found.release.title) == (
        place.provider.name,
        "he",
        "The Ninth Lighthouse",
    )
    assert (found.release_name, found.release.group, found.hash_matches) == (FILM, "HARBOUR", False)


async def test_it_finds_by_hash_whatever_the_file_is_called(place: Place) -> None:
    """The hash knows the very file."""
    place.put(FILM, "he", moviehash=HASH)

    (found,) = await place.provider.search(film(moviehash=HASH, title="holiday"), Wanted(language="he"))

    assert found.hash_matches


async def test_another_hash_is_no_match(place: Place) -> None:
    """It is for another release, and may be late by seconds."""
    place.put(FILM, "he", moviehash=OTHER_HASH)

    (found,) = await place.provider.search(film(moviehash=HASH), Wanted(language="he"))

    assert not found.hash_matches


async def test_it_finds_the_episode_and_no_other(place: Place) -> None:
    """The right series with the wrong episode is wrong."""
    place.put(EPISODE, "he")

    def episode(number: int) -> Media:
        release = Release(kind=Kind.EPISODE, title="Tideland", season=1, episodes=(number,))
        return Media(url="file:///x", name="x", release=release)

    (found,) = await place.provider.search(episode(2), Wanted(language="he"))
    assert (found.release.season, found.release.episodes) == (1, (2,))
    assert await place.provider.search(episode(3), Wanted(language="he")) == ()


async def test_nothing_is_an_answer(place: Place) -> None:
    """Then another language, or another provider, is asked."""
    place.put(FILM, "en")

    assert await place.provider.search(film(), Wanted(language="he")) == ()
    assert await place.provider.search(film(title="Something Else"), Wanted(language="en")) == ()


async def test_it_tells_for_whom_it_is(place: Place) -> None:
    """Sounds in brackets are what some need and others do not want."""
    place.put(FILM, "en", hearing_impaired=True)

    (found,) = await place.provider.search(film(), Wanted(language="en"))

    assert found.hearing_impaired


async def test_regions_keep_their_own_subtitles(place: Place) -> None:
    """Brazil and Portugal write differently, and each site has its own code for both."""
    place.put(FILM, "pt-br")

    (found,) = await place.provider.search(film(), Wanted(language="pt-BR"))

    assert found.language == "pt-BR"


async def test_what_was_found_can_be_fetched(place: Place) -> None:
    """As it is: what it contains is for others to judge."""
    content = "1\n00:00:01,000 --> 00:00:02,000\n\u05e9\u05dc\u05d5\u05dd\n".encode("cp1255")
    place.put(FILM, "he", content)
    (found,) = await place.provider.search(film(), Wanted(language="he"))

    body = await place.provider.fetch(found)

    assert body.content == content
    assert body.file_name.endswith(".srt")


async def test_an_empty_file_is_none(place: Place) -> None:
    """Another candidate may be better; the job does not end here."""
    place.put(FILM, "he", b"")
    (found,) = await place.provider.search(film(), Wanted(language="he"))

    with pytest.raises(FileGone) as caught:
        await place.provider.fetch(found)

    assert (caught.value.provider, caught.value.file_id) == (place.provider.name, found.file_id)


async def test_a_file_that_is_not_there_is_gone(place: Place) -> None:
    """Between search and fetch there may be days."""
    lost = Candidate(provider=place.provider.name, file_id="4711", language="he", release=Release())

    with pytest.raises(FileGone):
        await place.provider.fetch(lost)


async def test_where_it_stands(place: Place) -> None:
    """The page of providers shows all of them."""
    standing = await place.provider.standing()

    assert (standing.provider, standing.available, standing.reason) == (place.provider.name, True, "")
