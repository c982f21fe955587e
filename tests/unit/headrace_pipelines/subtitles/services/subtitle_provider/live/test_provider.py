from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from headrace.errors import ConfigurationError, RateLimited, ServiceError, ServiceRefused, ServiceUnavailable
from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.model import Candidate, Kind, Media, Release, Wanted
from headrace_pipelines.subtitles.services.subtitle_provider.live import Account, OpenSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.memory import MemoryOfThisProcess
from headrace_pipelines.subtitles.services.subtitle_provider.port import AccessRefused, Body, FileGone, QuotaUsedUp
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import Feature, LocalSubtitles, Offered
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.trouble import FileTrouble

HEBREW = Wanted(language="he")
HASH = "92acb3d2da072802"
FILM = Feature(id=1, title="The Ninth Lighthouse", year=2021, imdb_id=9100101, tmdb_id=910101)
EPISODE = Feature(
    id=2,
    title="Low Water",
    year=2021,
    imdb_id=9200201,
    season=1,
    episode=2,
    series="Tideland",
    series_imdb_id=9300001,
)
MEDIA = Media(
    url="file:///films/lighthouse.mkv",
    name="The.Ninth.Lighthouse.2021.1080p.BluRay.x264-HARBOUR.mkv",
    release=Release(title="The Ninth Lighthouse", year=2021),
    moviehash=HASH,
)


def offered(file_id: int, feature: Feature = FILM, **changes: Any) -> Offered:
    values: dict[str, Any] = {
        "language": "he",
        "release": "The.Ninth.Lighthouse.2021.1080p.BluRay.x264-HARBOUR",
        "content": f"1\n00:00:01,000 --> 00:00:02,000\nfile {file_id}\n".encode(),
        "hashes": frozenset({HASH}),
    }
    return Offered(file_id=file_id, feature=feature, **{**values, **changes})


def candidate(file_id: int | str) -> Candidate:
    return Candidate(provider="opensubtitles", file_id=str(file_id), language="he", release=Release())


async def outcome(work: Any) -> object:
    try:
        return await work
    except ServiceError as error:
        return error


# --- search ------------------------------------------------------------------------------------------------------------


async def test_a_hash_finds_what_was_made_for_this_file(server: LocalSubtitles, provider: OpenSubtitles) -> None:
    """The hash is the surest way, and works for files that are called anything."""
    server.offers(offered(10), offered(11, hashes=frozenset(), downloads=5), offered(12, language="en"))

    found = await provider.search(MEDIA, HEBREW)

    assert {one.file_id: one.hash_matches for one in found} == {"10": True, "11": False}
    first = next(one for one in found if one.file_id == "10")
    assert (first.language, first.release.group, first.release.year) == ("he", "HARBOUR", 2021)
    assert (first.imdb_id, first.tmdb_id, first.fps) == (9100101, 910101, None)


async def test_it_asks_by_hash_then_by_id_and_not_by_title(server: LocalSubtitles, provider: OpenSubtitles) -> None:
    """Each question is one of five a second."""
    server.offers(offered(10))
    media = Media(url=MEDIA.url, name=MEDIA.name, release=MEDIA.release, moviehash=HASH, imdb_id=9100101)

    await provider.search(media, HEBREW)

    assert [dict(asked.query) for asked in server.asked] == [
        {"languages": "he", "moviehash": HASH},
        {"imdb_id": "9100101", "languages": "he", "moviehash": HASH},
    ]


async def test_it_goes_on_to_the_title_where_ids_find_nothing(server: LocalSubtitles, provider: OpenSubtitles) -> None:
    """An id may be wrong in somebody's library, and the title right."""
    server.offers(offered(10, hashes=frozenset()))
    media = Media(url=MEDIA.url, name=MEDIA.name, release=MEDIA.release, imdb_id=1, tmdb_id=2)

    found = await provider.search(media, HEBREW)

    assert [one.file_id for one in found] == ["10"]
    assert server.asked[-1].query["query"] == "the ninth lighthouse"


@pytest.mark.parametrize("imdb_id", [9300001, 9200201])
async def test_an_episode_is_found_by_the_id_of_its_series_or_its_own(
    server: LocalSubtitles, provider: OpenSubtitles, imdb_id: int
) -> None:
    """Sonarr tells the one and Jellyfin the other; the number does not say which it is."""
    server.offers(offered(20, EPISODE, release="Tideland.S01E02.1080p.WEB.H264-TIDAL"))
    release = Release(kind=Kind.EPISODE, title="Tideland", season=1, episodes=(2,))

    found = await provider.search(Media(url="file:///x", name="x", release=release, imdb_id=imdb_id), HEBREW)

    assert [(one.imdb_id, one.release.title, one.release.season, one.release.episodes) for one in found] == [
        (imdb_id, "Tideland", 1, (2,))
    ]


async def test_all_pages_are_read(server: LocalSubtitles, provider: OpenSubtitles, through: Any) -> None:
    """The best subtitle may be the sixtieth."""
    server.page_size = 3
    server.offers(*(offered(number) for number in range(1, 9)))

    found = await through(provider.search(MEDIA, HEBREW))

    assert len(found) == 8


async def test_no_question_is_sent_elsewhere(server: LocalSubtitles, provider: OpenSubtitles, through: Any) -> None:
    """Another spelling than the canonical one costs each question twice."""
    server.page_size = 1
    server.offers(offered(1), offered(2), offered(3))
    release = Release(kind=Kind.EPISODE, title="Séries & Co", season=1, episodes=(2, 3))
    media = Media(url="file:///x", name="x", release=release, moviehash=HASH, imdb_id=7, tmdb_id=8)

    for wanted in (HEBREW, Wanted(language="pt-BR", forced=True), Wanted(language="zh-Hant")):
        await through(provider.search(media, wanted))
        await through(provider.search(MEDIA, wanted))

    assert server.count("/subtitles", 301) == 0
    assert server.count("/subtitles", 200) == server.count("/subtitles") > 10
    assert all(asked.headers["user-agent"] == "Headrace v0.1" for asked in server.asked)
    assert all(asked.headers["accept"] == "application/json" for asked in server.asked)


async def test_a_question_that_is_sent_elsewhere_is_asked_there(
    server: LocalSubtitles, provider: OpenSubtitles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the service changes its spelling, searches get slower and not empty."""
    server.offers(offered(10))
    monkeypatch.setattr(
        "headrace_pipelines.subtitles.services.subtitle_provider.live.query._DEFAULTS", {"languages": "none"}
    )
    monkeypatch.setattr(
        "headrace_pipelines.subtitles.services.subtitle_provider.live.query._spelt", lambda name, value: str(value)
    )
    media = Media(url=MEDIA.url, name=MEDIA.name, release=Release(title="The Ninth LIGHTHOUSE", year=2021))

    found = await provider.search(media, HEBREW)

    assert [one.file_id for one in found] == ["10"]
    assert server.count("/subtitles", 301) == 1


async def test_a_language_that_it_does_not_have_is_not_asked_for(
    server: LocalSubtitles, provider: OpenSubtitles
) -> None:
    """Its codes end at two letters for most languages."""
    assert await provider.search(MEDIA, Wanted(language="grc")) == ()
    assert server.asked == []


async def test_what_cannot_be_asked_for_says_so(provider: OpenSubtitles) -> None:
    """An empty answer would mean that there is no subtitle."""
    nameless = Media(url="file:///x", name="It.mkv", release=Release(title="It"))

    with pytest.raises(ServiceRefused, match="Add the year or an id"):
        await provider.search(nameless, HEBREW)


async def test_a_short_title_is_asked_for_with_its_year(server: LocalSubtitles, provider: OpenSubtitles) -> None:
    """Questions of fewer than three letters are refused."""
    feature = Feature(id=3, title="Up", year=2009)
    server.offers(offered(30, feature, hashes=frozenset(), release="Up.2009.720p"))

    found = await provider.search(Media(url="file:///x", name="x", release=Release(title="Up", year=2009)), HEBREW)

    assert [one.file_id for one in found] == ["30"]


# --- login -------------------------------------------------------------------------------------------------------------


async def test_eight_workers_with_an_expired_token_log_in_once(
    server: LocalSubtitles, provider: OpenSubtitles, clock: VirtualClock, through: Any
) -> None:
    """Each login of its own would be refused, and sixty an hour are all there are."""
    server.offers(*(offered(number) for number in range(1, 10)))
    await through(provider.fetch(candidate(9)))
    server.tokens_expire()

    bodies = await through(asyncio.gather(*(provider.fetch(candidate(number)) for number in range(1, 9))))

    assert [body.content.count(b"file") for body in bodies] == [1] * 8
    assert server.count("/download", 401) >= 1
    assert server.count("/login") == 2


async def test_a_token_is_kept_across_restarts_and_renewed_in_time(
    server: LocalSubtitles, connect: Any, clock: VirtualClock, through: Any
) -> None:
    """It is valid for a day, and logins are few."""
    server.offers(offered(1), offered(2), offered(3))
    await through(connect().fetch(candidate(1)))

    await through(connect().fetch(candidate(2)))
    assert server.count("/login") == 1

    clock.advance(timedelta(hours=20, seconds=1))
    await through(connect().fetch(candidate(3)))
    assert server.count("/login") == 2
    assert server.count("/download", 401) == 0


async def test_the_token_of_another_account_is_not_used(
    server: LocalSubtitles, connect: Any, through: Any, memory: MemoryOfThisProcess
) -> None:
    """Who changes the settings wants the new account's downloads."""
    server.offers(offered(1))
    await through(connect().fetch(candidate(1)))
    other = connect(account=Account(username="other", password=SecretStr("wrong")))

    with pytest.raises(AccessRefused, match="Look at user name and password"):
        await through(other.fetch(candidate(1)))


async def test_a_wrong_password_is_tried_once(server: LocalSubtitles, provider: OpenSubtitles, through: Any) -> None:
    """A loop of logins gets the address banned."""
    server.offers(offered(1))
    server.refuses_the_password()

    results = await through(asyncio.gather(*(outcome(provider.fetch(candidate(1))) for _ in range(5))))

    assert {type(result) for result in results} == {AccessRefused}
    assert server.count("/login") == 1
    standing = await provider.standing()
    assert not standing.available
    assert "password" in standing.reason


async def test_a_refused_key_turns_the_provider_off(server: LocalSubtitles, provider: OpenSubtitles) -> None:
    """Somebody must look at the settings; asking on makes it worse."""
    server.refuses_the_key()

    for _ in range(3):
        with pytest.raises(AccessRefused, match="Look at the Api-Key"):
            await provider.search(MEDIA, HEBREW)

    assert len(server.asked) == 1
    assert not (await provider.standing()).available


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"key": SecretStr(" ")}, "needs an Api-Key"),
        ({"user_agent": "headrace"}, "user agent like"),
    ],
)
def test_settings_that_the_service_would_refuse_are_told_at_once(settings: Any, text: str) -> None:
    """The service answers 403 to both, and does not say why."""
    with pytest.raises(ConfigurationError, match=text):
        OpenSubtitles(**{"key": SecretStr("k"), "user_agent": "Headrace v0.1", **settings})


def test_an_address_is_no_user_name() -> None:
    """The service answers 400 to what everybody types in first."""
    with pytest.raises(ConfigurationError, match="e-mail address"):
        Account(username="me@example.com", password=SecretStr("p"))


async def test_without_an_account_there_are_five_a_day(server: LocalSubtitles, connect: Any, through: Any) -> None:
    """Trying Headrace out should not begin with a registration."""
    provider = connect(account=None)
    server.offers(*(offered(number) for number in range(1, 8)))

    results = [await through(outcome(provider.fetch(candidate(number)))) for number in range(1, 8)]

    assert [type(result) for result in results] == [Body] * 5 + [QuotaUsedUp] * 2
    assert server.count("/login") == 0
    assert server.count("/download") == 5


# --- quota -------------------------------------------------------------------------------------------------------------


async def test_three_left_and_ten_callers(
    server: LocalSubtitles, provider: OpenSubtitles, clock: VirtualClock, through: Any
) -> None:
    """Whoever asks beyond the quota is counted for it, and all should come back when there is something again."""
    server.offers(*(offered(number) for number in range(1, 11)))
    resets_at = clock.moment + timedelta(hours=3)
    server.has_left(3, resets_at=resets_at)

    results = await through(asyncio.gather(*(outcome(provider.fetch(candidate(number))) for number in range(1, 11))))

    assert Counter(type(result) for result in results) == {Body: 3, QuotaUsedUp: 7}
    assert {result.resets_at for result in results if isinstance(result, QuotaUsedUp)} == {resets_at}
    assert server.count("/download") <= 4
    assert server.count("/download", 200) == 3
    standing = await provider.standing()
    assert (standing.quota_allowed, standing.quota_remaining, standing.quota_resets_at) == (20, 0, resets_at)

    clock.set(resets_at)
    again = [
        provider.fetch(candidate(number + 1))
        for number, result in enumerate(results)
        if isinstance(result, QuotaUsedUp)
    ]
    assert len(await through(asyncio.gather(*again))) == 7


async def test_a_quota_used_up_is_known_after_a_restart(server: LocalSubtitles, connect: Any, through: Any) -> None:
    """Every process that asks again is one more refused download."""
    server.offers(offered(1))
    server.has_left(0)
    with pytest.raises(QuotaUsedUp):
        await through(connect().fetch(candidate(1)))

    with pytest.raises(QuotaUsedUp):
        await through(connect().fetch(candidate(1)))

    assert server.count("/download") == 1


async def test_the_fields_tell_what_a_406_means(server: LocalSubtitles, provider: OpenSubtitles, through: Any) -> None:
    """The code alone stands for a used up quota, for an unknown file and for neither."""
    server.offers(offered(1), offered(2))
    server.spoils(2, FileTrouble.UNKNOWN)
    server.says_used_up(with_left=971)

    with pytest.raises(ServiceUnavailable, match="although 971 are left"):
        await through(provider.fetch(candidate(1)))
    with pytest.raises(FileGone, match="Invalid file_id"):
        await through(provider.fetch(candidate(2)))

    assert (await through(provider.fetch(candidate(1)))).content
    assert (await provider.standing()).quota_remaining == 19


# --- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [FileTrouble.EMPTY, FileTrouble.HTML, FileTrouble.ADVERT])
async def test_what_comes_in_place_of_a_subtitle_is_none(
    server: LocalSubtitles, provider: OpenSubtitles, through: Any, trouble: FileTrouble
) -> None:
    """An advert of 104 bytes was once stored as the subtitle of thousands of films."""
    server.offers(offered(1))
    server.spoils(1, trouble)

    with pytest.raises(FileGone):
        await through(provider.fetch(candidate(1)))


async def test_an_expired_link_is_bought_again_once(
    server: LocalSubtitles, provider: OpenSubtitles, through: Any
) -> None:
    """A link lives for hours, and a job may sleep for longer; a link that is always expired must not cost the whole quota."""
    server.offers(offered(1), offered(2))
    server.spoils(1, FileTrouble.EXPIRED, times=1)
    server.spoils(2, FileTrouble.EXPIRED)

    assert (await through(provider.fetch(candidate(1)))).content
    assert server.count("/download") == 2
    with pytest.raises(ServiceUnavailable, match="both had expired"):
        await through(provider.fetch(candidate(2)))
    assert server.count("/download") == 4


async def test_a_connection_that_breaks_costs_no_second_download(
    server: LocalSubtitles, provider: OpenSubtitles, through: Any
) -> None:
    """Half a subtitle is none, and what was paid for once is not paid for twice."""
    server.offers(offered(1))
    server.spoils(1, FileTrouble.CUT_OFF, times=4)

    with pytest.raises(ServiceUnavailable, match="connection"):
        await through(provider.fetch(candidate(1)))
    body = await through(provider.fetch(candidate(1)))

    assert body.content.endswith(b"file 1\n")
    assert server.count("/download") == 1


async def test_a_file_wanted_by_two_is_bought_once(
    server: LocalSubtitles, provider: OpenSubtitles, through: Any
) -> None:
    """Two jobs may choose the same file at the same moment."""
    server.offers(offered(1))

    one, other = await through(asyncio.gather(provider.fetch(candidate(1)), provider.fetch(candidate(1))))

    assert one == other
    assert server.count("/download") == 1


async def test_the_key_does_not_go_to_where_files_lie(
    server: LocalSubtitles, provider: OpenSubtitles, through: Any
) -> None:
    """A link leads to some machine, which has no business with our key."""
    server.offers(offered(1))

    await through(provider.fetch(candidate(1)))

    (asked,) = [asked for asked in server.asked if asked.path.startswith("/download/")]
    assert not {"api-key", "authorization"} & set(asked.headers)
    assert asked.headers["user-agent"] == "Headrace v0.1"


async def test_a_number_of_another_provider_is_refused(provider: OpenSubtitles) -> None:
    """It would buy some other file."""
    with pytest.raises(ServiceRefused, match="no file of OpenSubtitles"):
        await provider.fetch(candidate("folder/film.srt"))


# --- pace and patience -------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_two_hundred_searches_keep_to_five_a_second(
    server: LocalSubtitles, provider: OpenSubtitles, clock: VirtualClock, through: Any
) -> None:
    """A library that is scanned for the first time asks for everything at once, and too fast gets everybody refused."""
    server.has_a_library_of(200)
    media = [
        Media(url="file:///x", name="x", release=Release(title=f"Volume {number:05d}"), imdb_id=8_000_000 + number)
        for number in range(200)
    ]

    found = await through(asyncio.gather(*(provider.search(one, Wanted(language="en")) for one in media)))

    assert [len(one) for one in found] == [1] * 200
    assert server.per_second.largest <= 5
    assert server.count("/subtitles", 429) == 0
    assert 40 <= clock.monotonic() <= 48


async def test_short_patience_is_had_and_long_patience_is_told(
    server: LocalSubtitles, connect: Any, clock: VirtualClock, through: Any
) -> None:
    """A step waits some seconds; minutes are for the flow, and a restart does not forget them."""
    server.offers(offered(1))
    server.asks_for_patience(seconds=3)
    provider = connect()

    assert await through(provider.search(MEDIA, HEBREW))
    assert clock.monotonic() >= 3

    server.asks_for_patience(seconds=120)
    with pytest.raises(RateLimited) as caught:
        await through(provider.search(MEDIA, HEBREW))
    assert caught.value.retry_after == timedelta(seconds=120)

    asked = len(server.asked)
    with pytest.raises(RateLimited):
        await through(connect().search(MEDIA, HEBREW))
    assert len(server.asked) == asked
    standing = await provider.standing()
    assert not standing.available
    assert standing.throttled_until == clock.moment + timedelta(seconds=120)


async def test_a_gateway_that_fails_is_asked_three_times_and_then_left_alone(
    server: LocalSubtitles, provider: OpenSubtitles, clock: VirtualClock, through: Any
) -> None:
    """A service that is down does not come up faster under a storm of retries."""
    server.offers(offered(1))
    server.fails(times=2)
    assert await through(provider.search(MEDIA, HEBREW))

    server.answers_a_web_page(times=3)
    server.fails(times=6, status=502)
    for _ in range(3):
        with pytest.raises(ServiceUnavailable):
            await through(provider.search(MEDIA, HEBREW))
    asked = len(server.asked)
    with pytest.raises(ServiceUnavailable, match="asked again in"):
        await provider.search(MEDIA, HEBREW)
    assert len(server.asked) == asked
    assert "502" in (await provider.standing()).reason

    clock.advance(timedelta(minutes=1))
    assert await through(provider.search(MEDIA, HEBREW))
    assert (await provider.standing()).available


async def test_refused_parameters_are_told_as_they_are(server: LocalSubtitles, provider: OpenSubtitles) -> None:
    """Another attempt would get the same answer."""
    media = Media(url="file:///x", name="x", release=Release(), moviehash="not a hash")

    with pytest.raises(ServiceRefused, match="moviehash must be 16"):
        await provider.search(media, HEBREW)


async def test_where_it_stands_is_known_without_asking(
    server: LocalSubtitles, provider: OpenSubtitles, through: Any, clock: VirtualClock
) -> None:
    """A page that shows the providers must cost nothing."""
    server.offers(offered(1))
    before = await provider.standing()
    assert (before.available, before.quota_remaining) == (True, None)
    assert server.asked == []

    await through(provider.fetch(candidate(1)))

    after = await provider.standing()
    assert (after.quota_allowed, after.quota_remaining) == (20, 19)
    assert after.quota_resets_at == datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC)
