"""Who we are to OpenSubtitles: one token for all callers, asked for once at a time and kept across restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import JsonValue, SecretStr, ValidationError

from headrace.errors import ConfigurationError, ServiceRefused, UnexpectedAnswer
from headrace_pipelines.services.clock import Clock
from headrace_pipelines.subtitles.services.subtitle_provider.live.answer import Login
from headrace_pipelines.subtitles.services.subtitle_provider.live.line import Line, Reply
from headrace_pipelines.subtitles.services.subtitle_provider.live.pace import Pace
from headrace_pipelines.subtitles.services.subtitle_provider.port import AccessRefused

# It is valid for a day; renewed before that, no download meets its end.
_KEPT = timedelta(hours=20)
_LOGINS_AN_HOUR = 60
_PATIENCE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    username: str
    """Not the e-mail address."""
    password: SecretStr

    def __post_init__(self) -> None:
        if not self.username or not self.password.get_secret_value():
            raise ConfigurationError(
                "an account of OpenSubtitles needs a user name and a password; give both or neither"
            )
        if "@" in self.username:
            raise ConfigurationError(
                f"{self.username!r} is an e-mail address; OpenSubtitles wants the user name, which your profile page shows"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    value: str
    until: datetime


class Session:
    def __init__(
        self,
        line: Line,
        account: Account,
        *,
        clock: Clock,
        now: Callable[[], datetime],
        on_login: Callable[[Login], Awaitable[None]],
    ) -> None:
        """``on_login`` is told before anybody uses the new token."""
        self.token: Token | None = None
        self._line = line
        self._account = account
        self._now = now
        self._on_login = on_login
        self._one = asyncio.Lock()
        self._paces = [
            Pace(clock, turns=1, window=timedelta(seconds=1.05), of="the login of OpenSubtitles"),
            Pace(
                clock,
                turns=_LOGINS_AN_HOUR,
                window=timedelta(hours=1),
                patience=_PATIENCE,
                of="the login of OpenSubtitles",
            ),
        ]

    async def ask(self, method: str, path: str, body: Mapping[str, JsonValue] | None = None) -> Reply:
        """As this user; a token that is refused is renewed once, and if that does not help, that is the answer."""
        token = await self._valid()
        reply = await self._line.ask(method, path, token=token.value, body=body)
        if reply.status != 401:
            return reply
        token = await self._renewed(token)
        reply = await self._line.ask(method, path, token=token.value, body=body)
        if reply.status == 401:
            raise ServiceRefused(f"OpenSubtitles refuses the token that it has just given: {reply.message}")
        return reply

    async def _valid(self) -> Token:
        token = self.token
        if token is not None and self._now() < token.until:
            return token
        return await self._renewed(token)

    async def _renewed(self, stale: Token | None) -> Token:
        async with self._one:
            # Somebody who waited here finds the token that the one before has got.
            if self.token is None or self.token is stale:
                await self._login()
            if self.token is None:
                raise AssertionError("a login gives a token or raises")
            return self.token

    async def _login(self) -> None:
        self._line.breaker.check()
        for pace in self._paces:
            await pace.turn()
        password = self._account.password.get_secret_value()
        reply = await self._line.ask("POST", "/login", body={"username": self._account.username, "password": password})
        if reply.status != 200:
            error = AccessRefused(
                f"OpenSubtitles does not let {self._account.username!r} in: {reply.message}. Look at user name and password"
            )
            self._line.breaker.locked_out(error)
            raise error
        try:
            login = Login.model_validate(reply.body)
        except ValidationError as invalid:
            raise UnexpectedAnswer("OpenSubtitles answered a login without a token") from invalid
        self._line.move_to(login.base_url or "")
        self.token = Token(value=login.token, until=self._now() + _KEPT)
        await self._on_login(login)
