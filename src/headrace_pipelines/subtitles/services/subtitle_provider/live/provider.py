"""OpenSubtitles as the pipeline sees it: search, fetch, how we stand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

import httpx2
from pydantic import SecretStr

import headrace
from headrace.errors import ConfigurationError, RateLimited, ServiceRefused, ServiceUnavailable
from headrace_pipelines.services.clock import Clock, LoopClock
from headrace_pipelines.subtitles.model import Candidate, Media, Wanted
from headrace_pipelines.subtitles.rules.languages import to_opensubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.live.answer import candidates, read_page
from headrace_pipelines.subtitles.services.subtitle_provider.live.body import what_is_wrong
from headrace_pipelines.subtitles.services.subtitle_provider.live.line import Line
from headrace_pipelines.subtitles.services.subtitle_provider.live.purchase import Purchases
from headrace_pipelines.subtitles.services.subtitle_provider.live.query import By, Query, queries
from headrace_pipelines.subtitles.services.subtitle_provider.live.session import Account
from headrace_pipelines.subtitles.services.subtitle_provider.live.state import State
from headrace_pipelines.subtitles.services.subtitle_provider.memory import MemoryOfThisProcess, ProviderMemory
from headrace_pipelines.subtitles.services.subtitle_provider.port import Body, FileGone, Standing

OPENSUBTITLES = "https://api.opensubtitles.com/api/v1"

_USER_AGENT = re.compile(r"\S.* v\d+(\.\d+)*\S*")
# Whoever looks for one video has no use for the thousandth subtitle, and each page is a request.
_PAGES_AT_MOST = 10


class OpenSubtitles:
    def __init__(
        self,
        *,
        key: SecretStr,
        user_agent: str,
        account: Account | None = None,
        url: str = OPENSUBTITLES,
        memory: ProviderMemory | None = None,
        timeout: timedelta = timedelta(seconds=30),
        clock: Clock | None = None,
        now: Callable[[], datetime] = headrace.now,
        jitter: Callable[[], float] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Without an account it gives five downloads a day to everybody at this address of the internet."""
        if not key.get_secret_value().strip():
            raise ConfigurationError("OpenSubtitles needs an Api-Key: opensubtitles.com, your profile, API consumers")
        if not _USER_AGENT.fullmatch(user_agent):
            raise ConfigurationError(f"OpenSubtitles wants a user agent like 'MyApp v1.2.3', not {user_agent!r}")
        clock = clock or LoopClock()
        self.name = "opensubtitles"
        self._line = Line(
            url,
            key=key,
            user_agent=user_agent,
            timeout=timeout,
            clock=clock,
            jitter=jitter or headrace.random().random,
            transport=transport,
        )
        self._state = State(self.name, self._line, memory or MemoryOfThisProcess(), account, clock=clock, now=now)
        self._purchases = Purchases(self.name, self._line, self._state, now)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._line.close()

    async def search(self, media: Media, wanted: Wanted) -> tuple[Candidate, ...]:
        code = to_opensubtitles(wanted.language)
        if code is None:
            return ()  # it has no such language
        asked = list(queries(media, wanted, code))
        if not asked:
            raise ServiceRefused(
                f"{media.name!r} cannot be looked for at OpenSubtitles: it has no hash, no id, and its title "
                f"{media.release.title!r} has fewer than three letters. Add the year or an id to its name"
            )
        found: dict[str, Candidate] = {}
        async with self._asking():
            for by, query in asked:
                page = await self._pages(query, media)
                for candidate in page:
                    found.setdefault(candidate.file_id, candidate)
                # What has the hash may have it wrongly, so those who have the id or the title are asked for, too.
                if page and by is not By.HASH:
                    break
        return tuple(found.values())

    async def _pages(self, query: Query, media: Media) -> list[Candidate]:
        found: list[Candidate] = []
        for number in range(1, _PAGES_AT_MOST + 1):
            asked = query if number == 1 else tuple(sorted([*query, ("page", str(number))]))
            reply = await self._line.ask("GET", "/subtitles", query=asked)
            if reply.status != 200:
                raise ServiceRefused(f"OpenSubtitles answered {reply.status} to a search: {reply.message}")
            page = read_page(reply)
            found += await asyncio.to_thread(candidates, page.data, media, self.name)
            if not page.data or number >= (page.total_pages or 1):
                break
        return found

    async def fetch(self, candidate: Candidate) -> Body:
        file_id = candidate.file_id
        async with self._asking():
            for _ in range(2):
                link = await self._purchases.link_to(file_id)
                content = await self._line.content(link.url)
                if content is None:
                    self._purchases.forget(file_id)
                    continue
                if wrong := what_is_wrong(content):
                    self._purchases.forget(file_id)
                    raise FileGone(self.name, file_id, wrong)
                return Body(content=content, file_name=link.file_name)
        raise ServiceUnavailable(
            f"OpenSubtitles gave two links to file {file_id}, and both had expired; try again later"
        )

    async def standing(self) -> Standing:
        await self._state.recall()
        return self._state.standing()

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[None]:
        """Not while we shall be patient; and what asks for long patience is noted, so that a restart does not forget it."""
        await self._state.recall()
        self._state.check()
        try:
            yield
        except RateLimited as limited:
            await self._state.throttled(limited)
            raise
