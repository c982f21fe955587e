"""The library is looked through: what is missing is asked for, once."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from headrace import using
from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.scanning import Scanned, scan, watch_library
from headrace_pipelines.subtitles.services.subtitle_provider.stand_in import DEMO

from .conftest import House

LONG_AGO = 1_700_000_000


@pytest.fixture
def shelves(house: House) -> House:
    """The whole library of the stand-ins, laid down long ago; everybody wants Hebrew."""
    for video in DEMO:
        house.order(video.feature.id, "he")
        os.utime(house.path(video.feature.id), (LONG_AGO, LONG_AGO))
    object.__setattr__(house.ports, "policy", replace(house.ports.policy, wanted=(Wanted(language="he"),)))
    return house


async def scanned(house: House) -> Scanned:
    found = await house.harness.run(scan, "test")
    await house.harness.advance(timedelta(minutes=10))
    return found


async def test_a_library_is_completed_and_then_costs_nothing(shelves: House) -> None:
    """The second walk asks nobody for anything."""
    first = await scanned(shelves)
    asked = len(shelves.provider.asked)
    second = await scanned(shelves)
    counts = await shelves.harness.app.job_counts("subtitle")

    assert (first.videos, first.new, first.asked) == (20, 20, 20)
    assert (second.videos, second.new, second.asked) == (20, 0, 0)
    assert len(shelves.provider.asked) == asked
    assert counts == {"done": 15, "subtitle_missing": 5}


async def test_a_subtitle_that_was_deleted_is_written_again_from_what_was_paid_for(shelves: House) -> None:
    """The same job in its next attempt; nothing is downloaded."""
    await scanned(shelves)
    (file,) = [path for path in shelves.path(101).parent.iterdir() if path.suffix == ".srt"]
    file.unlink()
    downloads = shelves.provider.count("/download")

    again = await scanned(shelves)

    assert (again.asked, file.exists()) == (1, True)
    assert shelves.provider.count("/download") == downloads


async def test_a_renamed_video_gets_its_subtitle_under_its_new_name(shelves: House) -> None:
    """Radarr renames whole libraries; the job is the same, its video lies elsewhere."""
    await scanned(shelves)
    video = shelves.path(101)
    moved = video.rename(video.with_name("The Ninth Lighthouse (2021).mkv"))
    downloads = shelves.provider.count("/download")

    again = await scanned(shelves)

    assert again.moved == 1
    assert moved.with_name("The Ninth Lighthouse (2021).he.srt").exists()
    assert shelves.provider.count("/download") == downloads


async def test_a_walk_that_dies_half_way_asks_for_everything_once(shelves: House) -> None:
    """What was told before it died is known by its name."""
    shelves.harness.crash_once(at="publish.after", nth=9)
    await scanned(shelves)
    detected = await shelves.harness.events("media.file.detected")
    requested = await shelves.harness.events("subtitle.requested")

    assert (len(detected), len({event.subject for event in detected})) == (20, 20)
    assert (len(requested), len({event.subject for event in requested})) == (20, 20)


async def test_a_root_that_is_not_mounted_loses_no_videos(shelves: House, tmp_path: Path) -> None:
    """Somebody pulled a plug; nothing is gone for that."""
    await scanned(shelves)
    hidden = shelves.root.rename(tmp_path / "elsewhere")

    without = await scanned(shelves)
    hidden.rename(shelves.root)
    back = await scanned(shelves)

    assert (without.videos, without.gone, len(without.unreadable)) == (20, 0, 1)
    assert (back.new, back.asked) == (0, 0)


async def test_nobody_watches_where_there_is_no_library(house: House) -> None:
    """The watcher says so by ending."""
    with using(replace(house.ports, policy=replace(house.ports.policy, roots=()))):
        await watch_library(house.harness.app)

    assert await house.harness.app.runs() == []
