"""Bytes for players, whole and in part."""

from __future__ import annotations

from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from headrace._web.pages.contents import content_response, file_response, part_of
from headrace.errors import NotFound

BYTES = bytes(range(100))


async def read(start: int, stop: int) -> AsyncIterator[bytes]:
    middle = (start + stop) // 2
    yield BYTES[start:middle]
    yield BYTES[middle:stop]


async def answered(
    response: Response, *, method: str = "GET", headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(dict(message))

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    named = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {"type": "http", "method": method, "headers": named, "asgi": {"spec_version": "2.4"}}
    await response(scope, receive, send)
    return response.status_code, b"".join(message.get("body", b"") for message in sent)


def request(method: str = "GET", **headers: str) -> Request:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": method, "headers": named})


def content(asked: Request, **more: str) -> Response:
    return content_response(asked, read, size=100, media_type="video/mp4", version="v1", **more)  # type: ignore[arg-type]  # texts


async def test_the_whole_content_comes_with_its_size() -> None:
    """A player shows how long a film is before it has all of it."""
    response = content(request(), name='Überblick ".mp4')

    assert await answered(response) == (200, BYTES)
    assert response.headers["content-length"] == "100"
    assert response.headers["accept-ranges"] == "bytes"
    assert "filename*=utf-8''%C3%9Cberblick%20%22.mp4" in response.headers["content-disposition"]


async def test_a_part_is_a_part() -> None:
    """Moving through a film asks for what comes from there."""
    response = content(request(range="bytes=10-19"))

    assert await answered(response) == (206, BYTES[10:20])
    assert (response.headers["content-range"], response.headers["content-length"]) == ("bytes 10-19/100", "10")


async def test_what_lies_behind_the_end_is_refused() -> None:
    """With the size, so that the player asks better."""
    response = content(request(range="bytes=100-"))

    assert await answered(response) == (416, b"")
    assert response.headers["content-range"] == "bytes */100"


async def test_a_part_of_an_older_version_is_answered_with_the_new_whole() -> None:
    """Two halves of different films make no film."""
    assert (await answered(content(request(range="bytes=10-19", if_range='"v0"'))))[0] == 200
    assert (await answered(content(request(range="bytes=10-19", if_range='"v1"'))))[0] == 206


async def test_what_a_browser_has_is_not_sent_again() -> None:
    """Pictures of a list are asked for each time it is shown."""
    assert await answered(content(request(if_none_match='"v1"'))) == (304, b"")


async def test_asking_for_the_head_reads_nothing() -> None:
    """Bytes may be paid for."""
    assert await answered(content(request("HEAD")), method="HEAD") == (200, b"")


@pytest.mark.parametrize(
    "asked,expected",
    [
        ("bytes=0-", (0, 100)),
        ("bytes=0-0", (0, 1)),
        ("bytes=90-200", (90, 100)),
        ("bytes=-10", (90, 100)),
        ("bytes=-500", (0, 100)),
        ("bytes=-0", None),
        ("bytes=50-40", None),
        ("bytes=100-", None),
        ("bytes=0-1,5-6", (0, 100)),
        ("items=0-1", (0, 100)),
        ("bytes=a-b", (0, 100)),
        ("bytes=-", (0, 100)),
    ],
)
def test_ranges_are_read_as_they_are_meant(asked: str, expected: tuple[int, int] | None) -> None:
    """What cannot be understood is answered with the whole, as the standard asks."""
    assert part_of(asked, 100) == expected


async def test_what_was_uploaded_cannot_run(tmp_path: Path) -> None:
    """A page that somebody uploaded would act in the name of whoever looks at it."""
    (tmp_path / "evil.html").write_text("<script>alert(1)</script>")
    (tmp_path / "paper.pdf").write_bytes(b"%PDF")

    page, paper = file_response(tmp_path / "evil.html"), file_response(tmp_path / "paper.pdf", download=True)

    assert "sandbox" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert paper.headers["content-disposition"].startswith("attachment")
    assert "content-security-policy" not in paper.headers


async def test_files_come_in_parts_too(tmp_path: Path) -> None:
    """As films in a folder do."""
    (tmp_path / "film.mp4").write_bytes(BYTES)
    response = file_response(tmp_path / "film.mp4")

    assert (await answered(response, headers={"range": "bytes=5-9"}))[1] == BYTES[5:10]
    assert response.media_type == "video/mp4"


def test_a_file_that_is_gone_is_not_found(tmp_path: Path) -> None:
    """Its name is told, its place on the disk is not."""
    with pytest.raises(NotFound, match=r"the file 'gone.mp4'") as refusal:
        file_response(tmp_path / "gone.mp4")

    assert str(tmp_path) not in str(refusal.value)
