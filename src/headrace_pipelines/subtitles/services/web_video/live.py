"""Videos on the web, over HTTP."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx2

from headrace.errors import ServiceRefused
from headrace_pipelines.subtitles.services.web_video.port import Ends


class HttpVideos:
    def __init__(self, *, allow_private: bool = False, timeout: float = 20.0) -> None:
        self._allow_private = allow_private
        self._client = httpx2.AsyncClient(timeout=timeout, follow_redirects=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def ends_of(self, url: str) -> Ends:
        raise ServiceRefused(url)
