from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from pydantic import SecretStr

from headrace.errors import RateLimited, ServiceRefused
from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.services.subtitle_provider.live.answer import Login
from headrace_pipelines.subtitles.services.subtitle_provider.live.line import Line
from headrace_pipelines.subtitles.services.subtitle_provider.live.session import Account, Session
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import LocalSubtitles


@pytest.fixture
async def session(server: LocalSubtitles, clock: VirtualClock, transport: Any) -> Any:
    line = Line(
        server.api,
        key=SecretStr("stand-in-key"),
        user_agent="Headrace v0.1",
        timeout=timedelta(seconds=10),
        clock=clock,
        jitter=lambda: 0.0,
        transport=transport,
    )

    async def ignore(_: Login) -> None: ...

    account = Account(username="demo", password=SecretStr("demo"))
    yield Session(line, account, clock=clock, now=lambda: clock.moment, on_login=ignore)
    await line.close()


async def test_a_crowd_logs_in_once(server: LocalSubtitles, session: Session, through: Any) -> None:
    """All of them find out at the same moment that there is no token."""
    replies = await through(asyncio.gather(*(session.ask("GET", "/infos/user") for _ in range(8))))

    assert {reply.status for reply in replies} == {200}
    assert server.count("/login") == 1


async def test_a_token_that_is_refused_at_once_is_not_renewed_for_ever(
    server: LocalSubtitles, session: Session, through: Any
) -> None:
    """One renewal, one more try: after that somebody should look."""
    server.tokens_last(timedelta(0))

    with pytest.raises(ServiceRefused, match="the token that it has just given"):
        await through(session.ask("GET", "/infos/user"))

    assert server.count("/login") == 2


async def test_logins_are_a_second_apart_and_sixty_an_hour(
    server: LocalSubtitles, session: Session, through: Any, clock: VirtualClock
) -> None:
    """Who logs in more often is locked out."""
    server.tokens_last(timedelta(0))

    async def ask_on() -> None:
        while True:
            try:
                await session.ask("GET", "/infos/user")
            except RateLimited:
                return
            except ServiceRefused:
                pass

    await through(ask_on())

    logins = [answered for answered in server.answered if answered.path == "/login"]
    assert len(logins) == 60
    assert {answered.status for answered in logins} == {200}
    assert all(later.at - earlier.at >= 1 for earlier, later in pairwise(logins))
