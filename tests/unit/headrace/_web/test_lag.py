"""How late the loop is."""

from __future__ import annotations

import asyncio
import time

import pytest

from headrace._web import lag
from headrace._web.lag import LoopLag


@pytest.mark.allow_blocking
async def test_a_loop_that_was_held_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gauge that stays at zero measures nothing."""
    monkeypatch.setattr(lag, "_EVERY", 0.01)
    looked = LoopLag()
    looked.start()
    assert looked.longest == 0

    time.sleep(0.1)  # noqa: ASYNC251, TID251 - it blocks on purpose
    while not looked.longest:
        await asyncio.wait((asyncio.ensure_future(_nothing()),))

    looked.stop()
    assert looked.longest >= 0.05


async def _nothing() -> None:
    return None


async def test_stopping_twice_is_fine() -> None:
    """The server stops in more than one way."""
    looked = LoopLag()
    looked.start()
    looked.stop()
    looked.stop()


def test_the_usual_lag_is_not_the_longest() -> None:
    """One hiccup must not look like a slow day."""
    looked = LoopLag()
    assert looked.usual == 0

    looked._late.extend([0.001, 0.5, 0.002])

    assert (looked.usual, looked.longest) == (0.002, 0.5)
