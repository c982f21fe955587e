"""The stream that tells pages to ask again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.requests import Request

from headrace import Headrace
from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace._web.live import LiveEvent, Streams
from headrace._web.pages import live
from headrace._web.pages.frame import Frame
from tests.unit.headrace._web.pages.conftest import doubled


def changes_of(app: Headrace, seen: str) -> AsyncGenerator[LiveEvent]:
    api = create_app(app, Admission())
    frame = Frame(Request({"type": "http", "app": api, "headers": [], "path": "/live/changes"}))
    return live._changes(frame, api.state.streams, seen)


async def test_a_commit_is_told(app: Headrace) -> None:
    """Otherwise a page shows what was."""
    stream = changes_of(app, app.revision)

    coming = asyncio.ensure_future(anext(stream))
    await app.start(doubled, 1)
    told = await coming

    assert (told.event, told.id) == ("changed", told.data)
    await stream.aclose()


async def test_who_comes_back_hears_what_was_missed(app: Headrace) -> None:
    """A laptop that slept shows yesterday's state until it is told."""
    stream = changes_of(app, "0-0")

    assert (await anext(stream)).data == app.revision
    await stream.aclose()


async def test_time_alone_is_told_now_and_then(app: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chart moves on although nothing happens."""
    monkeypatch.setattr(live, "SECONDS_BETWEEN_LOOKS", 0.001)
    stream = changes_of(app, app.revision)

    assert (await anext(stream)).event == "tick"
    await stream.aclose()


async def test_a_pause_ends_with_the_server() -> None:
    """A browser that is left open must not keep the process from stopping."""
    streams = Streams()
    streams.close()

    async with asyncio.timeout(0.4):
        await live._pause(streams)


def happenings_of(app: Headrace, pattern: str, reached: int) -> AsyncGenerator[LiveEvent]:
    api = create_app(app, Admission())
    frame = Frame(Request({"type": "http", "app": api, "headers": [], "path": "/live/changes"}))
    return live._happenings(frame, api.state.streams, pattern, reached)


async def test_a_page_may_follow_a_topic_alone(app: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with films that asked for itself at every commit would do nothing else."""
    monkeypatch.setattr(live, "SECONDS_BETWEEN_LOOKS", 0.001)
    stream = happenings_of(app, "bell.*", 0)

    coming = asyncio.ensure_future(anext(stream))
    await app.publish("door.opened", subject="front")
    await app.run(doubled, 1)
    assert not coming.done()
    await app.publish("bell.rung", subject="front")

    assert await coming == LiveEvent(event="changed", data="2", id="2")
    await stream.aclose()


async def test_who_comes_back_hears_of_the_topic_what_was_missed(app: Headrace) -> None:
    """Behind the position that the page was made at."""
    await app.publish("bell.rung", subject="front")
    await app.publish("bell.rung", subject="front")
    stream = happenings_of(app, "bell.rung", 1)

    assert (await anext(stream)).id == "2"
    await stream.aclose()
