"""What runs beside the flows as long as Headrace does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import Headrace, Pipeline, use
from headrace.errors import DefinitionError, ServiceUnavailable
from headrace.testing import Harness, VirtualClock


class Door:
    """Something outside; ``noticed`` says that the watcher has come so far."""

    def __init__(self, *, broken: int = 0) -> None:
        self.opened = asyncio.Event()
        self.noticed = asyncio.Event()
        self.closed = False
        self.broken = broken


async def watch_door(app: Headrace) -> None:
    door = use(Door)
    if door.broken:
        door.broken -= 1
        door.noticed.set()
        raise ServiceUnavailable("the door camera is dark")
    try:
        await door.opened.wait()
        await app.publish("door.opened", subject="front")
        door.noticed.set()
        await asyncio.Event().wait()
    finally:
        door.closed = True


def house(door: Door, watch: Callable[[Any], Awaitable[None]] = watch_door) -> Pipeline:
    return Pipeline("house", watchers=[watch], wire=lambda: door)


async def test_a_watcher_publishes_what_it_sees_and_ends_with_the_runtime(tmp_path: Path) -> None:
    """Folders and sockets are watched by the process that runs the flows; no second one is needed."""
    door = Door()
    async with Headrace([house(door)], store=tmp_path / "h.db") as app:
        states = [(view.name, view.state) for view in app.watchers]
        door.opened.set()
        await door.noticed.wait()
        seen = await app.events("door.#")

    assert [event.subject for event in seen] == ["front"]
    assert states == [("house.watch_door", "running")]
    assert door.closed


async def test_a_watcher_that_fails_begins_again_later_each_time(tmp_path: Path) -> None:
    """A camera that is dark for a minute must not be dark for ever, nor be asked a thousand times a second."""
    door, clock, waits = Door(broken=2), VirtualClock(), []
    app = Headrace([house(door)], store=tmp_path / "h.db")
    app._clock = clock
    async with app:
        for _ in range(2):
            await door.noticed.wait()
            door.noticed.clear()
            view = app.watchers[0]
            assert view.next_at is not None
            assert (view.state, view.error) == ("waiting", "ServiceUnavailable: the door camera is dark")
            waits.append(view.next_at - view.since)
            clock.set(view.next_at)
        door.opened.set()
        await door.noticed.wait()

        assert app.watchers[0].state == "running"
    assert waits[1] > waits[0]


async def test_one_that_returns_is_not_begun_again(tmp_path: Path) -> None:
    """It has said that there is nothing to watch."""
    looked = asyncio.Event()

    async def watch_nothing(app: Headrace) -> None:
        looked.set()  # the setting that names a folder is empty

    async with Headrace([house(Door(), watch_nothing)], store=tmp_path / "h.db") as app:
        await looked.wait()

        assert app.watchers[0].state == "ended"


async def test_a_harness_begins_none() -> None:
    """In a test nothing looks at the real outside; the test calls the function itself, if it wants to."""
    door = Door()
    door.opened.set()
    async with Harness(house(door)) as harness:
        await harness.advance(timedelta(hours=1))

        assert await harness.events() == []


def test_a_watcher_has_to_be_async() -> None:
    """A plain function would hold up everything."""

    def watch(app: Headrace) -> None:
        """Looks for ever."""

    with pytest.raises(DefinitionError, match="no async function"):
        Pipeline("house", watchers=[watch])  # type: ignore[list-item]  # the mistake that is told
