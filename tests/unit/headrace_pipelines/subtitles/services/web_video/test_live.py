"""Videos on the web, over real HTTP to a server of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headrace.errors import ServiceRefused, ServiceUnavailable
from headrace_pipelines.services.stand_in_server import StandInServer
from headrace_pipelines.subtitles.rules.moviehash import moviehash
from headrace_pipelines.subtitles.services.web_video.live import HttpVideos

VIDEO = bytes(7 * place % 251 for place in range(1_000_003))


async def give(request: Request) -> Response:
    begin, _, end = request.headers["range"].removeprefix("bytes=").partition("-")
    part = VIDEO[int(begin) : int(end) + 1]
    return Response(part, 206, {"content-range": f"bytes {begin}-{end}/{len(VIDEO)}"})


async def give_all(request: Request) -> Response:
    return Response(VIDEO[:1_000])


async def move(request: Request) -> Response:
    return RedirectResponse("/film.mkv")


async def turn(request: Request) -> Response:
    return RedirectResponse("/turn")


async def hide(request: Request) -> Response:
    return Response(status_code=404)


async def fail(request: Request) -> Response:
    return Response(status_code=503)


@pytest.fixture
async def server() -> AsyncIterator[StandInServer]:
    routes = {"/film.mkv": give, "/small": give_all, "/moved": move, "/turn": turn, "/gone": hide, "/broken": fail}
    async with StandInServer("a web server", [("GET", path, answer) for path, answer in routes.items()]) as running:
        yield running


@pytest.fixture
async def videos() -> AsyncIterator[HttpVideos]:
    async with HttpVideos(allow_private=True) as running:
        yield running


@pytest.mark.parametrize("path", ["/film.mkv", "/moved"])
async def test_a_video_is_known_by_its_ends(server: StandInServer, videos: HttpVideos, path: str) -> None:
    """A film of many gigabytes is recognised from 128 KiB of it."""
    ends = await videos.ends_of(server.url + path)

    assert moviehash(ends.size, ends.head, ends.tail) == "92acb3d2da072802"


async def test_a_small_file_has_no_hash(server: StandInServer, videos: HttpVideos) -> None:
    """Nor is it asked for twice."""
    ends = await videos.ends_of(f"{server.url}/small")

    assert (ends.size, ends.head, len(server.asked)) == (1_000, b"", 1)


@pytest.mark.parametrize(
    "path, error",
    [("/gone", ServiceRefused), ("/turn", ServiceRefused), ("/broken", ServiceUnavailable)],
)
async def test_what_cannot_be_looked_at_is_told(
    server: StandInServer, videos: HttpVideos, path: str, error: type[Exception]
) -> None:
    """What may pass is tried again; what will not is searched by its title."""
    with pytest.raises(error):
        await videos.ends_of(server.url + path)


async def test_addresses_of_this_machine_are_none_of_anybodys_business(server: StandInServer) -> None:
    """A video URL that somebody sends must not be a way to the services behind the server."""
    async with HttpVideos() as videos:
        with pytest.raises(ServiceRefused, match="this machine"):
            await videos.ends_of(f"{server.url}/film.mkv")

    assert server.asked == []


async def test_what_is_nowhere_on_the_web_is_refused_at_once(videos: HttpVideos) -> None:
    """Of some videos only the name is known; that is no reason to try for an hour."""
    with pytest.raises(ServiceRefused, match="nowhere on the web"):
        await videos.ends_of("name:Film.mkv")
