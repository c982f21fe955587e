from __future__ import annotations

import os
from datetime import timedelta

from headrace_pipelines.subtitles.coverage import ROWS, last_scan, library
from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.rules.coverage import Cover
from headrace_pipelines.subtitles.rules.library import VideoFile
from headrace_pipelines.subtitles.scanning import scan
from headrace_pipelines.subtitles.store import Store

from .conftest import House

HE = Wanted(language="he")


async def scanned(house: House, *numbers: int) -> None:
    for number in numbers:
        house.order(number, "he")
        os.utime(house.path(number), (1_000_000_000, 1_000_000_000))  # nobody writes to it any more
    await house.harness.run(scan, "test")


async def test_the_library_follows_what_is_written(house: House) -> None:
    """Without another scan: what was found is there, what a machine made is told apart, what has nothing is missing."""
    await scanned(house, 101, 103, 110)
    await house.harness.advance(timedelta(minutes=10))
    found = await library(house.harness.app)
    covers = {entry.name.split(".")[1]: entry.covered.covers[HE] for entry in found.entries}

    assert covers == {"Ninth": Cover.PRESENT, "Map": Cover.MACHINE, "Country": Cover.MISSING}
    assert found.shares[0].counts == {Cover.PRESENT: 1, Cover.MACHINE: 1, Cover.WORKING: 0, Cover.MISSING: 1}
    assert all(entry.job(HE) for entry in found.entries)
    assert found.entries[0].folder.startswith("Films/")


async def test_a_page_is_a_page(house: House) -> None:
    """Of a large library only what is seen is looked at more closely; a page that is not there is the last one."""
    videos = [
        VideoFile(path=f"{house.root}/{number:04}.mkv", device=1, inode=number, size=1, mtime_ns=1)
        for number in range(2 * ROWS + 1)
    ]
    store = Store(house.harness.app.tables)
    await store.keep_library({}, {one.path: one for one in videos}, house.harness.app.now())
    last = await library(house.harness.app, page=9)

    assert (last.videos, last.pages, last.page, len(last.entries)) == (2 * ROWS + 1, 3, 3, 1)
    assert (await library(house.harness.app, text="0007")).found == 1
    assert (await library(house.harness.app, page=2)).entries[0].name == f"{ROWS:04}.mkv"


async def test_the_last_scan_tells_what_it_came_to(house: House) -> None:
    """Whoever pressed the button wants to know what it did."""
    assert await last_scan(house.harness.app) is None
    await scanned(house, 101)
    told = await last_scan(house.harness.app)

    assert told is not None
    assert told.summary is not None
    assert (told.summary.videos, told.summary.asked, told.is_going_on) == (1, 1, False)


async def test_videos_are_found_by_their_names(house: House) -> None:
    """The whole name: ``b.mkv`` is not ``ab.mkv``."""
    names = ("ab.mkv", "x/b.mkv")
    videos = [VideoFile(path=f"/m/{name}", device=1, inode=1, size=1, mtime_ns=1) for name in names]
    store = Store(house.harness.app.tables)
    await store.keep_library({}, {one.path: one for one in videos}, house.harness.app.now())

    assert [one.path for one in store.media_named("b.mkv")] == ["/m/x/b.mkv"]
    assert store.media_named("%") == []
