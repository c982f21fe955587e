"""How we stand with OpenSubtitles, and that it outlives the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from pydantic import ValidationError

from headrace.errors import RateLimited, ServiceError
from headrace_pipelines.services.clock import Clock
from headrace_pipelines.subtitles.services.subtitle_provider.live.answer import Login, UserInfo
from headrace_pipelines.subtitles.services.subtitle_provider.live.line import Line
from headrace_pipelines.subtitles.services.subtitle_provider.live.quota import Quota
from headrace_pipelines.subtitles.services.subtitle_provider.live.session import Account, Session, Token
from headrace_pipelines.subtitles.services.subtitle_provider.memory import ProviderMemory, Remembered
from headrace_pipelines.subtitles.services.subtitle_provider.port import Standing

# Shorter pauses are over before a restart is.
_WORTH_NOTING = timedelta(seconds=10)


class State:
    def __init__(
        self,
        provider: str,
        line: Line,
        memory: ProviderMemory,
        account: Account | None,
        *,
        clock: Clock,
        now: Callable[[], datetime],
    ) -> None:
        self.quota = Quota(provider, now)
        self.session = Session(line, account, clock=clock, now=now, on_login=self._logged_in) if account else None
        self._provider = provider
        self._line = line
        self._memory = memory
        self._account = account.username if account else ""
        self._now = now
        self._one = asyncio.Lock()
        self._saved: Remembered | None = None
        self._throttled_until: datetime | None = None
        self._throttled_because = ""

    async def recall(self) -> None:
        """Take up what is remembered; once."""
        async with self._one:
            if self._saved is None:
                self._saved = await self._memory.load(self._provider) or Remembered(account=self._account)
                self._take_up(self._saved)

    def _take_up(self, kept: Remembered) -> None:
        self._throttled_until, self._throttled_because = kept.throttled_until, kept.throttled_because
        if kept.account != self._account:
            return  # token and quota are those of somebody else
        self.quota.restore(allowed=kept.quota_allowed, remaining=kept.quota_remaining, resets_at=kept.quota_resets_at)
        if self.session is not None and kept.token and kept.token_until:
            self.session.token = Token(value=kept.token, until=kept.token_until)
            self._line.move_to(kept.base_url)

    async def remember(self) -> None:
        async with self._one:
            remembered = self._as_it_is()
            if remembered != self._saved:
                await self._memory.save(self._provider, remembered)
                self._saved = remembered

    def _as_it_is(self) -> Remembered:
        token = self.session.token if self.session else None
        return Remembered(
            account=self._account,
            token=token.value if token else None,
            token_until=token.until if token else None,
            base_url=self._line.url if token else "",
            quota_allowed=self.quota.allowed,
            quota_remaining=self.quota.remaining,
            quota_resets_at=self.quota.resets_at,
            throttled_until=self._throttled_until,
            throttled_because=self._throttled_because,
        )

    async def _logged_in(self, login: Login) -> None:
        remaining: int | None = None
        try:
            reply = await self._line.ask("GET", "/infos/user", token=login.token)
            remaining = UserInfo.model_validate(reply.body).data.remaining_downloads
        except (ServiceError, ValidationError):
            pass  # the next download tells, too
        await self.quota.learn(allowed=login.user.allowed_downloads, remaining=remaining)
        await self.remember()

    # --- patience

    async def throttled(self, limited: RateLimited) -> None:
        if limited.retry_after is not None and limited.retry_after > _WORTH_NOTING and not self._is_throttled():
            self._throttled_until = self._now() + limited.retry_after
            self._throttled_because = str(limited)
            await self.remember()

    def check(self) -> None:
        if (until := self._is_throttled()) is not None:
            raise RateLimited(self._throttled_because, retry_after=until - self._now())

    def _is_throttled(self) -> datetime | None:
        until = self._throttled_until
        return until if until is not None and until > self._now() else None

    def standing(self) -> Standing:
        until = self._is_throttled()
        reason = self._throttled_because if until else ""
        if (error := self._line.breaker.error) is not None:
            until, reason = self._now() + self._line.breaker.left, str(error)
        return Standing(
            provider=self._provider,
            available=not reason,
            reason=reason,
            throttled_until=until,
            quota_allowed=self.quota.allowed,
            quota_remaining=self.quota.remaining,
            quota_resets_at=self.quota.resets_at,
        )
