"""Who listens hears of changes, however slow it is."""

from __future__ import annotations

import asyncio
import gc

import pytest

from headrace._engine import changes
from headrace._engine.changes import Changed, Changes


async def test_a_run_is_told_once_however_often_it_changed() -> None:
    """A listener wants to know how things are, not how they were."""
    hub = Changes(0)
    listener = hub.listen()
    for pk in (1, 2, 1, 1):
        hub.touched(pk)

    assert await listener.take(10) == Changed((2, 1), missed=False)
    assert hub.count == listener.count == 4


async def test_what_is_not_taken_waits() -> None:
    """Portions keep the loop free."""
    hub = Changes(0)
    listener = hub.listen()
    for pk in range(5):
        hub.touched(pk)

    first = await listener.take(3)
    behind = listener.is_behind
    rest = await listener.take(3)

    assert (first, behind) == (Changed((0, 1, 2), missed=False), True)
    assert (rest, listener.is_behind) == (Changed((3, 4), missed=False), False)


async def test_taking_waits_for_a_change() -> None:
    """Asking again and again would keep the processor busy for nothing."""
    hub = Changes(0)
    listener = hub.listen()
    taking = asyncio.create_task(listener.take(10))
    await asyncio.wait((taking,), timeout=0)
    assert not taking.done()

    hub.touched(7)

    assert await taking == Changed((7,), missed=False)


async def test_too_many_are_said_to_be_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener that hangs must not fill the memory, nor believe that it knows everything."""
    monkeypatch.setattr(changes, "_MOST_WAITING", 3)
    hub = Changes(0)
    listener = hub.listen()
    for pk in range(5):
        hub.touched(pk)

    assert await listener.take(10) == Changed((3, 4), missed=True)
    hub.touched(9)
    assert await listener.take(10) == Changed((9,), missed=False)


async def test_closing_ends_the_wait() -> None:
    """The engine stops while somebody listens."""
    hub = Changes(0)
    listener = hub.listen()
    taking = asyncio.create_task(listener.take(10))
    await asyncio.wait((taking,), timeout=0)

    hub.close()

    assert await taking is None
    assert await hub.listen().take(10) is None
    hub.touched(1)
    assert not listener.is_behind


async def test_a_forgotten_listener_is_gone() -> None:
    """Who leaves a loop in the middle closes nothing."""
    hub = Changes(0)
    hub.listen()
    gc.collect()

    hub.touched(1)

    assert hub._listeners == []
