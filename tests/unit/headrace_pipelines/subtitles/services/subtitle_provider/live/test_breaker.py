from __future__ import annotations

from datetime import timedelta

import pytest

from headrace.errors import ServiceUnavailable
from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.services.subtitle_provider.live.breaker import Breaker
from headrace_pipelines.subtitles.services.subtitle_provider.port import AccessRefused

GONE = ServiceUnavailable("it answered 502")


async def test_it_opens_after_three_failures_and_for_longer_each_time() -> None:
    """One failure is nothing; a hundred are a storm."""
    clock = VirtualClock()
    breaker = Breaker(clock)
    breaker.failed(GONE)
    breaker.failed(GONE)
    breaker.check()

    breaker.failed(GONE)
    with pytest.raises(ServiceUnavailable, match=r"502; it is asked again in 60 s"):
        breaker.check()

    clock.advance(timedelta(minutes=1))
    breaker.check()
    breaker.failed(GONE)
    assert breaker.left == timedelta(minutes=2)


async def test_success_begins_the_count_anew() -> None:
    """Three failures in a month are no reason to stop."""
    breaker = Breaker(VirtualClock())
    for _ in range(5):
        breaker.failed(GONE)
        breaker.failed(GONE)
        breaker.passed()

    breaker.check()


async def test_being_locked_out_keeps_its_name() -> None:
    """A wrong key is not cured by another attempt, so nobody should make one."""
    breaker = Breaker(VirtualClock())
    breaker.locked_out(AccessRefused("look at the key"))

    with pytest.raises(AccessRefused, match="look at the key"):
        breaker.check()
