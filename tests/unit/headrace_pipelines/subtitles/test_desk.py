from __future__ import annotations

from datetime import timedelta

import pytest

from headrace.errors import Conflict, ValueRefused
from headrace_pipelines.subtitles import desk
from headrace_pipelines.subtitles.model import Order
from headrace_pipelines.subtitles.rules.formats import to_bytes, write

from .conftest import Film, House


async def test_what_somebody_rejects_is_not_found_again_beside_its_video(house: House) -> None:
    """The file that we wrote lies there still when the next attempt looks."""
    job = (await house.ask(101, "he")).job
    await house.harness.advance(timedelta(minutes=2))
    bad = (await house.job(job.id)).data.source

    await desk.reject(house.harness.app, await house.job(job.id))
    await house.harness.advance(timedelta(minutes=5))

    after = await house.job(job.id)
    assert bad == "opensubtitles"
    assert (after.state, after.data.source) == ("done", "stand-in")


async def test_nothing_can_be_rejected_before_it_is_there(house: House) -> None:
    """Somebody presses the button of a page that is older than the job."""
    job = (await house.ask(110, "he")).job

    with pytest.raises(Conflict, match="no subtitle to reject"):
        await desk.reject(house.harness.app, job)


async def test_what_is_under_way_comes_furthest_first(house: House) -> None:
    """Of a thousand requests these are the ones that somebody waits for."""
    for number in (101, 102, 103):
        await house.ask(number, "he")
    moving = await desk.under_way(house.harness.app, count=2)
    await house.harness.advance(timedelta(minutes=10))

    assert len(moving) == 2
    assert await desk.under_way(house.harness.app, count=2) == ()


async def test_the_same_upload_is_kept_once(house: House, film: Film) -> None:
    """Two people send the same file, and one of them twice."""
    content = to_bytes(write(film(10)))
    paths = {await desk.keep_upload(house.harness.app, "a.srt", content, "en") for _ in range(2)}

    assert [path.read_bytes() for path in paths] == [content]


async def test_a_long_name_leaves_room_for_a_language(house: House, film: Film) -> None:
    """File systems end at 255 bytes."""
    path = await desk.keep_upload(house.harness.app, "ш" * 240 + ".srt", to_bytes(write(film(10))), "en")

    assert len(path.name.encode()) < 190
    assert path.suffix == ".srt"


async def test_a_scan_needs_folders(house: House) -> None:
    """The error names the setting, since nobody would guess it."""
    object.__setattr__(house.ports.policy, "roots", ())

    with pytest.raises(Conflict, match="HEADRACE_SUBTITLES_ROOTS"):
        await desk.begin_scan(house.harness.app, "test")


async def test_a_video_with_a_name_alone_is_accepted(house: House) -> None:
    """Somebody's own machine is nowhere on the web."""
    named = Order(video_url=desk.address_of(house.harness.app, "Film 100%?.mkv", 7), video_title="Film", language="he")

    assert named.video_url == "name:Film%20100%25%3F.mkv"
    assert (await desk.accept(house.harness.app, named)).new
    with pytest.raises(ValueRefused, match="names no video"):
        await desk.accept(house.harness.app, Order(video_url="name:%20", video_title="x", language="he"))
