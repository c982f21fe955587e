"""The stream that tells pages to ask again."""

from __future__ import annotations

import asyncio

import pytest

from headrace import Headrace
from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace._web.pages import live
from headrace._web.pages.frame import Frame
from tests.unit.headrace._web.pages.conftest import doubled


def frame_of(app: Headrace) -> Frame:
    from starlette.requests import Request

    return Frame(Request({"type": "http", "app": create_app(app, Admission()), "headers": [], "path": "/live/changes"}))


async def test_a_commit_is_told(app: Headrace) -> None:
    """Otherwise a page shows what was."""
    stream = live._changes(frame_of(app), app.revision)
    await anext(stream)

    await app.start(doubled, 1)
    told = await anext(stream)

    assert told.startswith(b"event: changed\n")
    await stream.aclose()


async def test_who_comes_back_hears_what_was_missed(app: Headrace) -> None:
    """A laptop that slept shows yesterday's state until it is told."""
    stream = live._changes(frame_of(app), "0-0")
    await anext(stream)

    assert app.revision.encode() in await anext(stream)
    await stream.aclose()


async def test_time_alone_is_told_now_and_then(app: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chart moves on although nothing happens."""
    monkeypatch.setattr(live, "SECONDS_BETWEEN_LOOKS", 0.001)
    stream = live._changes(frame_of(app), app.revision)
    await anext(stream)

    assert (await anext(stream)).startswith(b"event: tick\n")
    await stream.aclose()


async def test_the_stream_ends_with_the_server(app: Headrace) -> None:
    """A browser that is left open must not keep the process from stopping."""
    frame = frame_of(app)
    stream = live._changes(frame, app.revision)
    await anext(stream)

    frame.request.app.state.stopping.set()

    async with asyncio.timeout(0.4):
        assert [event async for event in stream] == []
