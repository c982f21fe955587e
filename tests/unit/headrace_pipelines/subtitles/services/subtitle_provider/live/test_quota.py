from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.services.subtitle_provider.live.quota import Quota, Told
from headrace_pipelines.subtitles.services.subtitle_provider.port import QuotaUsedUp

NOW = datetime(2026, 1, 1, tzinfo=UTC)
RESET = NOW + timedelta(hours=5)


def quota(
    remaining: int | None = None, resets_at: datetime | None = None, now: Callable[[], datetime] | None = None
) -> Quota:
    made = Quota("somewhere", now or (lambda: NOW))
    made.restore(allowed=20, remaining=remaining, resets_at=resets_at)
    return made


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)  # noqa: TID251  whoever can go on does


class Service:
    """Counts as the real one does; answers come back in the order in which a test wants them."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.asked = 0
        self.waiting: list[asyncio.Future[None]] = []

    async def download(self, quota: Quota) -> str:
        async with quota.reservation() as reservation:
            self.asked += 1
            refused = self.left <= 0
            self.left = max(0, self.left - 1)
            told = Told(remaining=-1 if refused else self.left, resets_at=RESET)
            answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.append(answer)
            await answer
            reservation.answered(told, spent=not refused)
            return "refused" if refused else "given"


async def run(service: Service, quota: Quota, callers: int, order: Callable[[int], int]) -> list[str]:
    async def call() -> str:
        try:
            return await service.download(quota)
        except QuotaUsedUp:
            return "not asked"

    tasks = [asyncio.create_task(call()) for _ in range(callers)]
    await settle()
    while service.waiting:
        service.waiting.pop(order(len(service.waiting))).set_result(None)
        await settle()
    return await asyncio.gather(*tasks)


@settings(deadline=None)
@given(st.integers(0, 12), st.integers(1, 12), st.booleans(), st.randoms())
def test_nobody_asks_for_what_is_not_there(left: int, callers: int, known: bool, chance: object) -> None:
    """Whatever is left, however many ask, and in whatever order they are answered: one refusal at most, to learn the reset."""
    import random

    assert isinstance(chance, random.Random)
    service = Service(left)

    async def play() -> list[str]:
        made = quota(remaining=left if known else None)
        results = await run(service, made, callers, chance.randrange)
        assert made.remaining == max(0, left - callers)
        return results

    results = asyncio.run(play())

    assert results.count("given") == min(left, callers)
    assert service.asked <= min(left, callers) + 1


async def test_who_waits_goes_ahead_when_another_did_not_need_its_download() -> None:
    """A file that is gone costs nothing, and the last download must not be lost with it."""
    made = quota(remaining=1, resets_at=RESET)
    held = made.reservation()
    await held.__aenter__()
    other = asyncio.create_task(Service(1).download(made))
    await settle()
    assert not other.done()

    await held.__aexit__(None, None, None)
    await settle()

    assert made.remaining == 1
    other.cancel()


async def test_a_caller_that_is_cancelled_gives_back_what_it_put_aside() -> None:
    """Otherwise a cancelled job takes a download from everybody until the next day."""
    made = quota(remaining=1, resets_at=RESET)
    service = Service(1)
    task = asyncio.create_task(service.download(made))
    await settle()
    task.cancel()
    await settle()

    async with made.reservation() as reservation:
        reservation.answered(Told(remaining=0, resets_at=RESET), spent=True)

    assert made.remaining == 0


async def test_a_used_up_quota_begins_anew_at_its_reset() -> None:
    """Not at midnight, not after a day: when the service says."""
    now = NOW
    made = quota(remaining=0, resets_at=RESET, now=lambda: now)
    with pytest.raises(QuotaUsedUp) as caught:
        await made.reservation().__aenter__()
    assert caught.value.resets_at == RESET
    assert "2026-01-01 05:00:00" in str(caught.value)

    now = RESET
    async with made.reservation() as reservation:
        reservation.answered(Told(remaining=19, resets_at=RESET + timedelta(days=1)), spent=True)

    assert made.remaining == 19


async def test_answers_of_a_new_day_are_believed() -> None:
    """Downloads under way at the reset must not carry the old day's nothing into the new one."""
    made = quota(remaining=2, resets_at=RESET)
    first, second = made.reservation(), made.reservation()
    one, other = await first.__aenter__(), await second.__aenter__()
    one.answered(Told(remaining=0, resets_at=RESET), spent=True)
    await first.__aexit__(None, None, None)
    other.answered(Told(remaining=999, resets_at=RESET + timedelta(days=1)), spent=True)
    await second.__aexit__(None, None, None)

    assert made.remaining == 999
