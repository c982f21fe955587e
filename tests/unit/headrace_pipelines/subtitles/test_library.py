from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from headrace.testing import VirtualClock
from headrace_pipelines.subtitles.library import Hint, Why, scan, stable_files, watch
from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.rules.library import wishes

HE = Wanted(language="he")


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


# --- scan --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_library_of_ten_thousand(tmp_path: Path) -> None:
    """The first scan finds what is incomplete, the second finds nothing, and both are done before anybody gets impatient."""

    def build() -> None:
        for number in range(10_000):
            folder = tmp_path / f"{number % 200:03d}"
            if number < 200:
                folder.mkdir()
            (folder / f"Film {number} (2020).mkv").touch()
            if number % 100:
                (folder / f"Film {number} (2020).he.srt").touch()

    await asyncio.to_thread(build)

    first = await scan([tmp_path], {})
    begin = time.process_time()
    second = await scan([tmp_path], first.index)
    taken = time.process_time() - begin

    assert len(first.index) == 10_000
    assert len(wishes(first, [HE])) == 100
    assert wishes(second, [HE]) == ()
    assert (second.new, second.changed, second.gone) == ((), (), ())
    assert taken < 5


async def test_thousands_in_one_folder(tmp_path: Path) -> None:
    """Looking at all names for each video would take minutes."""

    def build() -> None:
        for number in range(3000):
            (tmp_path / f"{number}.mkv").touch()
            (tmp_path / f"{number}.he.srt").touch()

    await asyncio.to_thread(build)
    begin = time.process_time()
    found = await scan([tmp_path], {})

    assert all(video.subtitles == (HE,) for video in found.new)
    assert time.process_time() - begin < 3


async def test_renamed_changed_and_deleted(tmp_path: Path) -> None:
    """What Radarr does to a library in a day."""
    put(tmp_path, "a.mkv", "b.mkv", "c.mkv", "sub/d.mkv")
    before = await scan([tmp_path], {})

    (tmp_path / "a.mkv").rename(tmp_path / "sub" / "A.mkv")
    (tmp_path / "b.mkv").write_bytes(b"upgraded")
    (tmp_path / "c.mkv").unlink()
    put(tmp_path, "e.mkv")
    after = await scan([tmp_path], before.index)

    assert [(Path(one.before.path).name, Path(one.after.path).name) for one in after.moved] == [("a.mkv", "A.mkv")]
    assert [Path(one.path).name for one in after.changed] == ["b.mkv"]
    assert [Path(one.path).name for one in after.gone] == ["c.mkv"]
    assert [Path(one.path).name for one in after.new] == ["e.mkv"]


async def test_what_the_owner_closed_stays_closed(tmp_path: Path) -> None:
    """Players keep out of these folders too."""
    put(tmp_path, "a.mkv", "quiet/.nomedia", "quiet/b.mkv", ".hidden/c.mkv", "@eaDir/d.mkv", "Private/e.mkv", "f.part")

    found = await scan([tmp_path], {}, ignore=["Private"])

    assert [Path(video.path).name for video in found.new] == ["a.mkv"]


async def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    """A link in a shared folder must not show, or write beside, what lies elsewhere."""
    library, outside = tmp_path / "library", tmp_path / "outside"
    put(library, "a.mkv")
    put(outside, "secret.mkv", "folder/more.mkv")
    (library / "b.mkv").symlink_to(outside / "secret.mkv")
    (library / "c").symlink_to(outside / "folder")
    (library / "loop").symlink_to(library)
    (library / "d.mkv").symlink_to(library / "a.mkv")
    (library / "e.mkv").symlink_to(library / "nothing.mkv")

    found = await scan([library], {})

    assert [Path(video.path).name for video in found.new] == ["a.mkv", "d.mkv"]


async def test_a_disk_that_is_not_mounted_loses_nothing(tmp_path: Path) -> None:
    """A mount point is an empty folder then, or none at all."""
    films, series = tmp_path / "films", tmp_path / "series"
    put(films, "a.mkv")
    put(series, "b.mkv")
    before = await scan([films, series], {})

    (films / "a.mkv").rename(tmp_path / "a.mkv")
    (series / "b.mkv").unlink()
    series.rmdir()
    after = await scan([films, series], before.index)

    assert (after.gone, after.index) == ((), before.index)
    assert [(Path(one.path).name, one.reason) for one in after.unreadable] == [
        ("films", "it is empty, and 1 videos were known in it; is its disk mounted?"),
        ("series", "No such file or directory"),
    ]


# --- files that are still being written --------------------------------------------------------------------------------


async def through(
    clock: VirtualClock, files: AsyncIterator[Path], grow: Sequence[tuple[float, Path]]
) -> dict[str, float]:
    """When each file was given, in seconds of the clock, while others write to them."""
    given: dict[str, float] = {}

    async def collect() -> None:
        async for path in files:
            given[path.name] = clock.monotonic()

    collecting = asyncio.create_task(collect())
    pending = sorted(grow)
    while not collecting.done():
        await asyncio.wait([collecting], timeout=0.005)
        if timers := clock.waiting():
            clock.go_to(timers[0].due)
        while pending and pending[0][0] <= clock.monotonic():
            path = pending.pop(0)[1]
            path.write_bytes(path.read_bytes() + b"more")
    await collecting
    return given


async def test_each_file_is_given_when_it_stops_growing(tmp_path: Path) -> None:
    """A copy of forty gigabytes takes minutes, and its hash is another at the end; nobody else waits for it."""
    clock = VirtualClock()
    put(tmp_path, "whole.mkv", "growing.mkv")
    growing = tmp_path / "growing.mkv"
    grow = [(float(second), growing) for second in range(2, 21, 2)]

    given = await through(
        clock, stable_files([tmp_path / "whole.mkv", growing, tmp_path / "never.mkv"], clock=clock), grow
    )

    assert given["whole.mkv"] == 4
    assert 22 <= given["growing.mkv"] <= 26
    assert set(given) == {"whole.mkv", "growing.mkv"}


async def test_what_vanishes_is_not_waited_for(tmp_path: Path) -> None:
    """A download that was broken off is deleted, and the watcher must not wait for it for ever."""
    clock = VirtualClock()
    put(tmp_path, "a.mkv")
    files = stable_files([tmp_path / "a.mkv"], clock=clock)
    asking = asyncio.ensure_future(anext(files, None))
    while not clock.waiting():
        await asyncio.wait([asking], timeout=0.005)
    (tmp_path / "a.mkv").unlink()

    clock.advance(timedelta(seconds=2))

    assert await asking is None


# --- watch -------------------------------------------------------------------------------------------------------------


async def next_videos(hints: AsyncIterator[Hint]) -> list[str]:
    async for hint in hints:
        if hint.videos:
            return [path.name for path in hint.videos]
    return []


async def test_a_file_that_is_moved_in_is_reported(tmp_path: Path) -> None:
    """Radarr writes under another name and renames at the end."""
    library = tmp_path / "library"
    put(library, "old.mkv")
    put(tmp_path, "a.mkv.part")
    hints = watch([library], clock=VirtualClock())
    assert await anext(hints) == Hint(scan=Why.BEGINNING)
    reported = asyncio.create_task(next_videos(hints))

    # Whether the watch is in place yet is for nobody to see, so the file comes again until it is.
    for number in range(200):
        await asyncio.wait([reported], timeout=0.05)
        if reported.done():
            break
        put(tmp_path, "a.mkv.part")
        (tmp_path / "a.mkv.part").rename(library / f"a{number}.mkv")

    assert all(name.startswith("a") for name in await reported)
    await hints.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_a_scan_is_due_from_time_to_time(tmp_path: Path) -> None:
    """Reports get lost, and nobody reports that."""
    clock = VirtualClock()
    hints = watch([tmp_path], clock=clock, scan_every=timedelta(hours=1))
    await anext(hints)
    due = asyncio.ensure_future(anext(hints))
    while not clock.waiting():
        await asyncio.wait([due], timeout=0.005)

    clock.advance(timedelta(hours=1))

    assert await due == Hint(scan=Why.TIME)
    await hints.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_what_cannot_be_watched_is_scanned_more_often(tmp_path: Path) -> None:
    """A folder on another machine, or one that is not there yet."""
    clock = VirtualClock()
    hints = watch([tmp_path / "not there"], clock=clock, scan_every_if_blind=timedelta(minutes=5))
    await anext(hints)
    due = asyncio.ensure_future(anext(hints))
    while not clock.waiting():
        await asyncio.wait([due], timeout=0.005)

    clock.advance(timedelta(minutes=5))

    assert await due == Hint(scan=Why.BLIND)
    await hints.aclose()  # type: ignore[attr-defined]  # it is a generator
