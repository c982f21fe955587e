"""Forms that bring files."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from starlette.datastructures import Headers, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from headrace._web.pages.uploads import Upload, read_form


def upload(name: str = "a.wav", content: bytes = b"sound") -> Upload:
    headers = Headers({"content-type": "audio/wav"})
    return Upload(UploadFile(io.BytesIO(content), filename=name, size=len(content), headers=headers))


def request(body: bytes, kind: str) -> Request:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "headers": [(b"content-type", kind.encode())]}, receive)


async def test_a_file_is_saved_as_a_whole(tmp_path: Path) -> None:
    """A name that is there has all of its content."""
    sent = upload()

    assert await sent.save(tmp_path / "x.wav") == tmp_path / "x.wav"

    assert [file.name for file in tmp_path.iterdir()] == ["x.wav"]
    assert (tmp_path / "x.wav").read_bytes() == b"sound"
    assert (sent.media_type, sent.size) == ("audio/wav", 5)


async def test_a_file_that_cannot_be_saved_leaves_nothing(tmp_path: Path) -> None:
    """Half a film looks like a film."""
    (tmp_path / "x.wav").mkdir()

    with pytest.raises(IsADirectoryError):
        await upload().save(tmp_path / "x.wav")

    assert [file.name for file in tmp_path.iterdir()] == ["x.wav"]


async def test_a_file_can_be_read_more_than_once() -> None:
    """To look at it, and then to keep it."""
    sent = upload()

    assert [part async for part in sent.chunks(2)] == [b"so", b"un", b"d"]
    assert await sent.read() == b"sound"


@pytest.mark.parametrize(
    "name,expected", [("../../etc/passwd", "passwd"), ("C:\\films\\a.mp4", "a.mp4"), ("a\0.wav", "a.wav"), ("..", "")]
)
def test_names_lead_nowhere(name: str, expected: str) -> None:
    """The name is the sender's."""
    assert upload(name).name == expected


async def test_fields_and_files_are_told_apart() -> None:
    """An empty field for files is no file."""
    body = (
        b'--x\r\nContent-Disposition: form-data; name="title"\r\n\r\nWater\r\n'
        b'--x\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n\r\n'
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--x--\r\n'
    )
    async with read_form(request(body, "multipart/form-data; boundary=x")) as form:
        assert dict(form) == {"title": "Water"}
        assert [(one.name, await one.read()) for one in form.uploads("file")] == [("a.txt", b"hi")]
        assert form.uploads("other") == []


async def test_a_form_without_files_is_read_too() -> None:
    """The same function, whatever the form."""
    async with read_form(request(b"title=Water&x=", "application/x-www-form-urlencoded")) as form:
        assert (dict(form), len(form)) == ({"title": "Water", "x": ""}, 2)


async def test_what_is_no_form_is_refused() -> None:
    """With what is wrong about it."""
    with pytest.raises(HTTPException, match="cannot be read") as refusal:
        async with read_form(request(b"--x\r\nbroken", "multipart/form-data; boundary=y")):
            pass

    assert refusal.value.status_code == 422
