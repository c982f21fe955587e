from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import SecretStr

from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.model import Candidate, Release
from headrace_pipelines.subtitles.services.subtitle_provider.live import Account
from headrace_pipelines.subtitles.services.subtitle_provider.memory import MemoryOfThisProcess, Remembered
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import demo_subtitles


async def test_what_is_remembered_is_shown_before_anything_is_asked(
    connect: Any, memory: MemoryOfThisProcess, clock: VirtualClock
) -> None:
    """The page of providers is right from the first second after a restart."""
    resets_at = clock.moment + timedelta(hours=2)
    memory.kept["opensubtitles"] = Remembered(
        account="demo", quota_allowed=20, quota_remaining=4, quota_resets_at=resets_at
    )

    standing = await connect().standing()

    assert (standing.quota_allowed, standing.quota_remaining, standing.quota_resets_at) == (20, 4, resets_at)


async def test_a_quota_of_yesterday_is_not_known_any_more(
    connect: Any, memory: MemoryOfThisProcess, clock: VirtualClock
) -> None:
    """It began anew while the process was down."""
    memory.kept["opensubtitles"] = Remembered(account="demo", quota_remaining=0, quota_resets_at=clock.moment)

    assert (await connect().standing()).quota_remaining is None


async def test_another_account_has_a_quota_of_its_own(
    connect: Any, memory: MemoryOfThisProcess, clock: VirtualClock
) -> None:
    """Who pays for more should not wait for the old account's reset."""
    memory.kept["opensubtitles"] = Remembered(
        account="demo", quota_remaining=0, quota_resets_at=clock.moment + timedelta(hours=9)
    )
    other = connect(account=Account(username="vip", password=SecretStr("p")))

    assert (await other.standing()).quota_remaining is None


async def test_what_did_not_change_is_not_written(server: Any, connect: Any, through: Any) -> None:
    """Each write is a transaction of the pipeline."""

    class Counting(MemoryOfThisProcess):
        writes = 0

        async def save(self, provider: str, remembered: Remembered) -> None:
            self.writes += 1
            await super().save(provider, remembered)

    memory = Counting()
    provider = connect(memory=memory)
    offered = demo_subtitles()[0]
    server.offers(offered)
    candidate = Candidate(provider="opensubtitles", file_id=str(offered.file_id), language="en", release=Release())
    await through(provider.fetch(candidate))
    writes = memory.writes

    await through(provider.fetch(candidate))
    await provider.standing()

    assert writes == 2, "one for the token, one for the download"
    assert memory.writes == writes
