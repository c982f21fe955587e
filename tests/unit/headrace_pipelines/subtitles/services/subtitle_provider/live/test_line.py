from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import SecretStr

from headrace.errors import UnexpectedAnswer
from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.services.subtitle_provider.live.line import Line


@pytest.fixture
def line() -> Line:
    return Line(
        "https://api.opensubtitles.com/api/v1",
        key=SecretStr("k"),
        user_agent="Headrace v0.1",
        timeout=timedelta(seconds=1),
        clock=VirtualClock(),
        jitter=lambda: 0.0,
    )


async def test_a_paying_account_is_asked_for_elsewhere(line: Line) -> None:
    """The login tells where; the ordinary address would count and limit differently."""
    line.move_to("vip-api.opensubtitles.com")
    assert line.url == "https://vip-api.opensubtitles.com/api/v1"

    line.move_to("")
    assert line.url == "https://api.opensubtitles.com/api/v1"
    await line.close()


@pytest.mark.parametrize("host", ["api.example.com", "http://api.opensubtitles.com", "opensubtitles.com.example.com"])
async def test_the_key_goes_to_nobody_else(line: Line, host: str) -> None:
    """An answer that was tampered with must not send our key away."""
    with pytest.raises(UnexpectedAnswer, match="not its own address"):
        line.move_to(host)
    await line.close()


async def test_links_that_are_no_web_address_are_refused(line: Line) -> None:
    """A link is text from outside."""
    with pytest.raises(UnexpectedAnswer, match="no web address"):
        await line.content("file:///etc/passwd")
    await line.close()
