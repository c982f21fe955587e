"""Forms that bring files: fields and uploads, read in a stream, so that no file stands in memory as a whole."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

_CHUNK = 1024 * 1024
_MOST_FILES = 1_000


class Upload:
    """A file that a form brought. It is gone when the block of its form ends, so save it, or read it, before."""

    def __init__(self, sent: UploadFile) -> None:
        self._sent = sent
        self.name = _plain(sent.filename or "")
        self.media_type = sent.content_type or "application/octet-stream"
        self.size = sent.size or 0

    async def chunks(self, size: int = _CHUNK) -> AsyncIterator[bytes]:
        """Its content from the beginning, part by part."""
        await self._sent.seek(0)
        while part := await self._sent.read(size):
            yield part

    async def read(self) -> bytes:
        """All of its content; for files that are known to be small."""
        await self._sent.seek(0)
        return await self._sent.read()

    async def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file; on disk when this returns, and never half: the name appears with the whole content."""
        target = Path(path)
        await asyncio.to_thread(_save, self._sent.file, target)
        return target


class Form(Mapping[str, str]):
    """The fields of a form by name, and its ``uploads``."""

    def __init__(self, fields: Mapping[str, str], uploads: Mapping[str, list[Upload]]) -> None:
        self._fields = fields
        self._uploads = uploads

    def __getitem__(self, name: str) -> str:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def uploads(self, name: str) -> list[Upload]:
        """The files of a field; none where nothing was chosen."""
        return self._uploads.get(name, [])


@asynccontextmanager
async def read_form(request: Request) -> AsyncIterator[Form]:
    try:
        sent = await request.form(max_files=_MOST_FILES)
    except MultiPartException as error:
        raise HTTPException(422, f"the form cannot be read: {error.message}") from error
    except HTTPException as error:
        if error.status_code != 400:
            raise
        raise HTTPException(422, f"the form cannot be read: {error.detail}") from error
    try:
        fields = {name: value for name, value in sent.multi_items() if isinstance(value, str)}
        uploads: dict[str, list[Upload]] = {}
        for name, value in sent.multi_items():
            if isinstance(value, UploadFile) and value.filename:
                uploads.setdefault(name, []).append(Upload(value))
        yield Form(fields, uploads)
    finally:
        await sent.close()


def _plain(name: str) -> str:
    """Some browsers send a path; a name with folders in it must not choose where something is written."""
    last = name.replace("\\", "/").rpartition("/")[2].replace("\0", "")
    return "" if last in (".", "..") else last


def _save(source: BinaryIO, target: Path) -> None:
    part = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        source.seek(0)
        with part.open("xb") as file:
            shutil.copyfileobj(source, file, _CHUNK)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
