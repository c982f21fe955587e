"""Bytes for players and downloads: whole or in part, as browsers ask for them when somebody moves through a film."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable
from email.utils import quote as quoted
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from headrace.errors import NotFound

ReadRange = Callable[[int, int], AsyncIterator[bytes]]
"""Gives the bytes from the first number up to, not including, the second."""

# What somebody has uploaded is shown, never run: as a page of its own it has no origin, no scripts and no network.
_HARMLESS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; media-src 'self'; sandbox"}
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def file_response(
    path: str | os.PathLike[str], *, name: str | None = None, media_type: str | None = None, download: bool = False
) -> Response:
    file = Path(path)
    if not file.is_file():
        raise NotFound(f"the file {file.name!r} is not there any more")
    called = name or file.name
    kind = media_type or guess_type(called)[0] or "application/octet-stream"
    headers = _headers(called, kind, download=download)
    return FileResponse(file, media_type=kind, headers=headers)


def content_response(
    request: Request,
    read: ReadRange,
    *,
    size: int,
    media_type: str,
    name: str = "",
    version: str = "",
    download: bool = False,
) -> Response:
    headers = _headers(name, media_type, download=download) | {"Accept-Ranges": "bytes"}
    if version:
        headers["ETag"] = f'"{quote(version, safe="")}"'
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
    asked = request.headers.get("range")
    if asked is not None and request.headers.get("if-range", headers.get("ETag")) == headers.get("ETag"):
        part = part_of(asked, size)
        if part is None:
            return Response(status_code=416, headers=headers | {"Content-Range": f"bytes */{size}"})
        if part != (0, size) or asked == "bytes=0-":
            start, stop = part
            headers |= {"Content-Range": f"bytes {start}-{stop - 1}/{size}", "Content-Length": str(stop - start)}
            return StreamingResponse(_read(request, read, start, stop), 206, headers=headers, media_type=media_type)
    headers["Content-Length"] = str(size)
    return StreamingResponse(_read(request, read, 0, size), headers=headers, media_type=media_type)


def part_of(asked: str, size: int) -> tuple[int, int] | None:
    """What a Range header asks for, as first and behind last; all of it where it asks for several; None where there is nothing."""
    if "," in asked or not asked.startswith("bytes="):
        return 0, size
    found = _RANGE.fullmatch(asked.replace(" ", ""))
    if found is None or found[1] == found[2] == "":
        return 0, size
    if found[1] == "":  # so many at the end
        start, stop = max(0, size - int(found[2])), size
    else:
        start, stop = int(found[1]), min(size, int(found[2]) + 1 if found[2] else size)
    return (start, stop) if start < stop else None


async def _read(request: Request, read: ReadRange, start: int, stop: int) -> AsyncIterator[bytes]:
    if request.method == "HEAD" or start == stop:
        return
    async for part in read(start, stop):
        yield part


def _headers(name: str, kind: str, *, download: bool) -> dict[str, str]:
    headers = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
    # The viewer that browsers have for PDF does not work in a sandbox; it runs no scripts of the page's origin.
    if kind != "application/pdf":
        headers |= _HARMLESS
    if name or download:
        plain = quoted(name.encode("ascii", "replace").decode()).replace("\r", "").replace("\n", "")
        how = "attachment" if download else "inline"
        headers["Content-Disposition"] = f"{how}; filename=\"{plain}\"; filename*=utf-8''{quote(name, safe='')}"
    return headers
