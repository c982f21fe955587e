from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from headrace_pipelines.subtitles.preview import preview

from .conftest import House


async def seen(house: House, number: int, language: str) -> tuple[str, Path]:
    job = (await house.ask(number, language)).job
    await house.harness.advance(timedelta(minutes=10))
    return job.id, Path((await house.job(job.id)).data.path or "")


async def test_a_translation_stands_beside_what_it_was_translated_from(house: House) -> None:
    """Also when the original has been changed or deleted since: it is kept as it was."""
    id, path = await seen(house, 103, "he")
    for other in path.parent.glob("*.en.srt"):
        other.unlink()
    found = await preview(house.harness.app, await house.job(id))

    assert found is not None
    assert (found.original, found.translation, found.problem, found.flagged) == ("en", "he", "", 0)
    assert len(found.lines) > 100
    assert all(line.original and line.translation for line in found.lines)


async def test_what_was_found_stands_alone(house: House) -> None:
    """There is no original to be shown beside it."""
    id, _ = await seen(house, 101, "he")
    found = await preview(house.harness.app, await house.job(id))

    assert found is not None
    assert (found.original, found.translation) == ("he", None)


async def test_a_file_that_is_gone_or_broken_is_told(house: House) -> None:
    """People rename, and disks are full; a page is no place for a stack trace."""
    id, path = await seen(house, 101, "he")
    path.write_bytes(b"\x00\x01\x02")
    broken = await preview(house.harness.app, await house.job(id))
    path.unlink()
    gone = await preview(house.harness.app, await house.job(id))

    assert broken is not None
    assert broken.problem
    assert gone is not None
    assert "No such file" in gone.problem


async def test_before_the_end_there_is_nothing(house: House) -> None:
    """A page of a job that waits must not look for a file."""
    job = (await house.ask(101, "he")).job

    assert await preview(house.harness.app, job) is None
