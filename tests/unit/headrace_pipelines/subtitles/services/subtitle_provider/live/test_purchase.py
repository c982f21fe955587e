from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.model import Candidate, Release
from headrace_pipelines.subtitles.services.subtitle_provider.live import OpenSubtitles
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import LocalSubtitles, demo_subtitles


async def test_a_link_is_used_as_long_as_it_is_valid(
    server: LocalSubtitles, provider: OpenSubtitles, clock: VirtualClock, through: Any
) -> None:
    """A step that is tried again must not pay again; a link that is too old is not even tried."""
    offered = demo_subtitles()[0]
    server.offers(offered)
    candidate = Candidate(provider="opensubtitles", file_id=str(offered.file_id), language="en", release=Release())

    await through(provider.fetch(candidate))
    clock.advance(timedelta(hours=2))
    await through(provider.fetch(candidate))
    assert server.count("/download") == 1

    clock.advance(timedelta(hours=1))
    body = await through(provider.fetch(candidate))
    assert server.count("/download") == 2
    assert server.count("/file", 410) == 0
    assert body.file_name == offered.file_name
