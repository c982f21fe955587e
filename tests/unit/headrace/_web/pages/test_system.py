"""What the System page finds."""

from __future__ import annotations

import asyncio
from pathlib import Path

from headrace import Headrace, Pipeline
from headrace.errors import ServiceUnavailable
from tests.unit.headrace._web.pages.conftest import browsing


async def test_a_watcher_that_fails_is_seen(tmp_path: Path) -> None:
    """Nothing else would tell why no file is noticed any more."""
    noticed = asyncio.Event()

    async def watch_door(app: Headrace) -> None:
        noticed.set()
        raise ServiceUnavailable("the door camera is dark")

    async def watch_garden(app: Headrace) -> None:
        await asyncio.Event().wait()

    house = Pipeline("house", watchers=[watch_door, watch_garden])
    async with Headrace([house], store=tmp_path / "h.db") as app, browsing(app) as client:
        await noticed.wait()
        page = (await client.get("/system")).text

    assert "house.watch_garden" in page
    assert "watches since" in page
    assert "ServiceUnavailable: the door camera is dark" in page
    assert "it is begun again at" in page
