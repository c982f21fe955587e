"""The consumer that counts."""

from __future__ import annotations

from datetime import timedelta

from headrace_pipelines.subtitles.metrics import readings

from .conftest import House


async def counted(house: House) -> dict[tuple[str, str], float]:
    return {
        (reading.name, ",".join(f"{name}={value}" for name, value in sorted(labels.items()))): number
        for reading in readings(house.harness.app.tables)
        for labels, number in reading.samples
    }


async def test_what_happens_is_counted_once_whatever_dies(house: House) -> None:
    """Counters and cursor are one transaction, so a restart neither loses nor doubles."""
    for number in (101, 110, 103):
        await house.ask(number, "he")
    house.harness.crash_once(at="handler.after", nth=2)
    await house.harness.advance(timedelta(minutes=5))

    found = await counted(house)

    assert found["subtitles_ready_total", "language=he,provider=opensubtitles"] == 1
    assert found["subtitles_missing_total", "language=he,reason=subtitle_not_found_any_language"] == 1
    assert found["subtitles_translated_total", "from=en,model=stand-in,to=he"] == 1
    assert found["subtitles_events_total", "source=downloader,type=subtitle.download.started"] == 3
    assert found["subtitles_translation_tokens_total", "model=stand-in,of=answer"] > 0
    assert found["subtitles_translation_seconds_bucket", "le=+Inf"] == 1
