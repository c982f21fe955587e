from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import LocalSubtitles, demo_subtitles
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.server import PASSWORD, USERNAME
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in.trouble import FileTrouble

HEADERS = {"api-key": "stand-in-key", "user-agent": "Somebody v1.0"}
ACCOUNT = {"username": USERNAME, "password": PASSWORD}
OFFERED = demo_subtitles()[0]


@pytest.fixture
async def client(server: LocalSubtitles) -> AsyncIterator[httpx2.AsyncClient]:
    server.offers(*demo_subtitles())
    server.per_second.most = 100
    async with httpx2.AsyncClient(base_url=server.api, headers=HEADERS) as asking:
        yield asking


async def login(client: httpx2.AsyncClient) -> str:
    answer = await client.post("/login", json=ACCOUNT)
    token: str = answer.json()["token"]
    return token


async def download(client: httpx2.AsyncClient, token: str, file_id: Any = OFFERED.file_id) -> httpx2.Response:
    return await client.post("/download", json={"file_id": file_id}, headers={"authorization": f"Bearer {token}"})


@pytest.mark.parametrize("headers", [{"api-key": "wrong"}, {"user-agent": "python"}, {"user-agent": ""}])
async def test_who_does_not_say_who_it_is_is_refused(client: httpx2.AsyncClient, headers: dict[str, str]) -> None:
    """The service blocks such clients without a word."""
    assert (await client.get("/infos/formats", headers=headers)).status_code == 403


async def test_a_login_as_the_service_answers_it(server: LocalSubtitles, client: httpx2.AsyncClient) -> None:
    """These are the fields that clients live on."""
    answer = await client.post("/login", json=ACCOUNT)

    assert answer.json() == {
        "user": {
            "allowed_downloads": 20,
            "allowed_translations": 1,
            "level": "Sub leecher",
            "user_id": 66,
            "ext_installed": False,
            "vip": False,
        },
        "base_url": server.url.removeprefix("http://"),
        "token": "stand-in.1.token",
        "status": 200,
    }


async def test_logins_that_are_refused(client: httpx2.AsyncClient, clock: VirtualClock) -> None:
    """An e-mail address, a wrong password, and two within a second."""
    mail = await client.post("/login", json={**ACCOUNT, "username": "me@example.com"})
    clock.advance(timedelta(seconds=1))
    wrong = await client.post("/login", json={**ACCOUNT, "password": PASSWORD * 2})
    soon = await client.post("/login", json=ACCOUNT)

    assert [answer.status_code for answer in (mail, wrong, soon)] == [400, 401, 429]
    assert soon.headers["retry-after"] == "1"


async def test_who_is_logged_in_and_for_how_long(
    server: LocalSubtitles, client: httpx2.AsyncClient, clock: VirtualClock
) -> None:
    """Tokens end, by themselves and on request."""
    server.tokens_last(timedelta(seconds=60))
    bearer = {"authorization": f"Bearer {await login(client)}"}
    await download(client, bearer["authorization"].removeprefix("Bearer "))

    user = (await client.get("/infos/user", headers=bearer)).json()["data"]
    assert (user["downloads_count"], user["remaining_downloads"]) == (1, 19)

    clock.advance(timedelta(seconds=60))
    assert (await client.get("/infos/user", headers=bearer)).status_code == 401
    renewed = {"authorization": f"Bearer {await login(client)}"}
    assert (await client.delete("/logout", headers=renewed)).status_code == 200
    assert (await client.delete("/logout", headers=renewed)).status_code == 401


async def test_what_it_knows(client: httpx2.AsyncClient) -> None:
    """Languages, formats and titles."""
    languages = (await client.get("/infos/languages")).json()["data"]
    formats = (await client.get("/infos/formats")).json()["data"]
    features = (await client.get("/features", params={"query": "copper moon"})).json()["data"]

    assert {"language_code": "pt-br", "language_name": "pt-br"} in languages
    assert "srt" in formats["output_formats"]
    assert [one["attributes"]["title"] for one in features] == ["Copper Moon"]
    assert (await client.get("/features")).status_code == 400


async def test_pages_and_redirects(server: LocalSubtitles, client: httpx2.AsyncClient) -> None:
    """Who does not read the number of pages misses most of them."""
    server.has_a_library_of(120)

    page = (await client.get("/subtitles?page=3&query=volume")).json()
    moved = await client.get("/subtitles?query=Volume&page=1")

    assert (page["total_pages"], page["total_count"], page["per_page"], len(page["data"])) == (3, 120, 50, 20)
    assert (moved.status_code, moved.headers["location"]) == (301, "/api/v1/subtitles?query=volume")
    assert (await client.get("/subtitles?query=up")).status_code == 400


async def test_a_download_and_its_file(server: LocalSubtitles, client: httpx2.AsyncClient) -> None:
    """The call costs, the link does not."""
    answer = (await download(client, await login(client))).json()
    file = await client.get(answer["link"])

    assert (answer["requests"], answer["remaining"]) == (1, 19)
    assert answer["reset_time_utc"] == "2026-01-01T23:59:59Z"
    assert file.content == OFFERED.content


async def test_both_kinds_of_406(server: LocalSubtitles, client: httpx2.AsyncClient) -> None:
    """One status, two meanings."""
    token = await login(client)
    server.has_left(0)
    used_up, unknown = await download(client, token), await download(client, token, 1)

    assert (used_up.status_code, unknown.status_code) == (406, 406)
    assert (used_up.json()["remaining"], used_up.json()["requests"]) == (-1, 21)
    assert unknown.json() == {"message": "Invalid file_id", "status": 406}
    assert (await download(client, token, "x")).status_code == 400


async def test_five_a_second(server: LocalSubtitles, client: httpx2.AsyncClient) -> None:
    """The headers say how many are left, and the sixth is refused."""
    server.per_second.most = 5
    answers = [await client.get("/infos/formats") for _ in range(6)]

    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["4", "3", "2", "1", "0", "0"]
    assert answers[-1].headers["retry-after"] == "1"
    assert server.count("/infos/formats", 429) == 1


async def test_what_can_go_wrong_with_a_file(server: LocalSubtitles, client: httpx2.AsyncClient) -> None:
    """Each of these was somebody's subtitle once."""
    link = (await download(client, await login(client))).json()["link"]
    kinds = (FileTrouble.EMPTY, FileTrouble.HTML, FileTrouble.ADVERT, FileTrouble.WRONG_LANGUAGE, FileTrouble.CUT_OFF)
    for trouble in kinds:
        server.spoils(OFFERED.file_id, trouble, times=1)

    empty, page, advert, other = [(await client.get(link)).content for _ in range(4)]
    with pytest.raises(httpx2.RemoteProtocolError):
        await client.get(link)
    server.links_expire()
    expired = await client.get(link)

    assert (empty, page[:9], len(advert)) == (b"", b"<!DOCTYPE", 104)
    assert other not in {OFFERED.content, b""}
    assert expired.status_code == 410


async def test_files_in_the_encodings_of_old(server: LocalSubtitles, client: httpx2.AsyncClient) -> None:
    """Half of what people have uploaded is not UTF-8."""
    hebrew = next(one for one in demo_subtitles() if one.language == "he")
    text = hebrew.content.decode().replace("♪", "#")
    server.offered = [one for one in server.offered if one is not hebrew]
    server.offers(type(hebrew)(file_id=1, feature=hebrew.feature, language="he", release="r", content=text.encode()))
    server.writes(1, "windows-1255")

    link = (await download(client, await login(client), 1)).json()["link"]

    assert (await client.get(link)).content.decode("cp1255").replace("\r\n", "\n") == text
