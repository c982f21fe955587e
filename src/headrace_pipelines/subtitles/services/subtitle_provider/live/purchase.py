"""Links to files, each paid for with one download of the day."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from pydantic import JsonValue, ValidationError

from headrace.errors import ServiceError, ServiceRefused, ServiceUnavailable, UnexpectedAnswer
from headrace_pipelines.subtitles.services.subtitle_provider.live.answer import Download
from headrace_pipelines.subtitles.services.subtitle_provider.live.line import Line, Reply
from headrace_pipelines.subtitles.services.subtitle_provider.live.pause import in_words, moment
from headrace_pipelines.subtitles.services.subtitle_provider.live.quota import Reservation, Told
from headrace_pipelines.subtitles.services.subtitle_provider.live.state import State
from headrace_pipelines.subtitles.services.subtitle_provider.port import FileGone, QuotaUsedUp

_KEPT = 256
_VALID = timedelta(hours=2, minutes=45)
_RESET_IF_NOT_TOLD = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    url: str
    file_name: str
    until: datetime


class Purchases:
    """A link that was paid for is used again as long as it is valid: a second try costs nothing."""

    def __init__(self, provider: str, line: Line, state: State, now: Callable[[], datetime]) -> None:
        self._provider = provider
        self._line = line
        self._state = state
        self._now = now
        self._links: OrderedDict[str, Link] = OrderedDict()
        self._one_each: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def link_to(self, file_id: str) -> Link:
        one = self._one_each.setdefault(file_id, asyncio.Lock())
        async with one:
            return self._kept(file_id) or await self._buy(file_id)

    def _kept(self, file_id: str) -> Link | None:
        link = self._links.get(file_id)
        return link if link is not None and self._now() < link.until else None

    def forget(self, file_id: str) -> None:
        self._links.pop(file_id, None)

    async def _buy(self, file_id: str) -> Link:
        if not file_id.isdecimal():
            raise ServiceRefused(f"{file_id!r} is no file of OpenSubtitles: those have numbers")
        try:
            async with self._state.quota.reservation() as reservation:
                link = await self._bought(file_id, reservation)
        finally:
            await self._state.remember()
        self._links[file_id] = link
        while len(self._links) > _KEPT:
            self._links.popitem(last=False)
        return link

    async def _bought(self, file_id: str, reservation: Reservation) -> Link:
        reply = await self._ask({"file_id": int(file_id), "sub_format": "srt"})
        try:
            answer = Download.model_validate(reply.body)
        except ValidationError as error:
            raise UnexpectedAnswer(f"OpenSubtitles answered no download: {reply.shown!r}") from error
        told = Told(remaining=answer.remaining, resets_at=self._resets_at(answer))
        if reply.status == 200 and answer.link:
            reservation.answered(told, spent=True)
            return Link(url=answer.link, file_name=answer.file_name or f"{file_id}.srt", until=self._now() + _VALID)
        raise self._refusal(reply, file_id, told, reservation)

    async def _ask(self, body: dict[str, JsonValue]) -> Reply:
        session = self._state.session
        if session is None:
            return await self._line.ask("POST", "/download", body=body)
        return await session.ask("POST", "/download", body)

    def _refusal(self, reply: Reply, file_id: str, told: Told, reservation: Reservation) -> ServiceError:
        """406 stands for several things; the fields tell for which."""
        if reply.status == 401:
            return ServiceRefused(f"OpenSubtitles gives no file without an account: {reply.message}")
        if told.remaining is None:
            return FileGone(self._provider, file_id, reply.message)
        if told.remaining > 0:
            reservation.answered(told, spent=False)
            return ServiceUnavailable(
                f"OpenSubtitles refused a download although {told.remaining} are left: {reply.message}"
            )
        resets_at = told.resets_at or self._now() + _RESET_IF_NOT_TOLD
        reservation.answered(Told(remaining=0, resets_at=resets_at), spent=False)
        return QuotaUsedUp(self._provider, resets_at)

    def _resets_at(self, answer: Download) -> datetime | None:
        if answer.reset_time_utc and (found := moment(answer.reset_time_utc)):
            return found
        left = in_words(answer.reset_time or "")
        return self._now() + left if left else None
