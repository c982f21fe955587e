from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headrace import Event, Job
from headrace_pipelines.subtitles import cards
from headrace_pipelines.subtitles.desk import SubtitleJob
from headrace_pipelines.subtitles.lifecycle import (
    DownloadStarted,
    Failed,
    JobData,
    Missing,
    Parked,
    Ready,
    Translated,
    TranslateStarted,
)
from headrace_pipelines.subtitles.model import Candidate, Order, Release, Scored, Status, TranslationOrder, Wanted
from headrace_pipelines.subtitles.services.subtitle_provider.port import Standing
from headrace_pipelines.subtitles.store import Extent, Offers

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SOON = NOW + timedelta(hours=2)
ORDER = Order(video_url="file:///films/Tideland.S01E02.mkv", video_title="Tideland", language="he")
SENT = TranslationOrder(
    subtitle_file_path="/out/film.en.srt", source_language="en", target_language="he", reason="requested"
)


def job(state: Status, **data: object) -> SubtitleJob:
    return Job(
        lifecycle="subtitle", id="j", state=state, terminal=state in {"done", "failed", "cancelled", "subtitle_missing"},
        generation=1, data=replace(JobData(order=ORDER), **data), created_at=NOW, updated_at=NOW,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(
    "shown, word, tone, detail",
    [
        (job(Status.DOWNLOAD_IN_PROGRESS), "is searched for", "running", ""),
        (job(Status.DOWNLOAD_IN_PROGRESS, retry_at=SOON, reason="no more"), "waits for quota", "paused", "no more"),
        (job(Status.DOWNLOAD_IN_PROGRESS, retry_at=NOW, reason="no more"), "is searched for", "running", ""),
        (job(Status.TRANSLATE_IN_PROGRESS), "is translated", "running", "3 of 7 parts, 1 of them known before"),
        (job(Status.DONE, source="library"), "ready", "completed", "lay beside the video already"),
        (job(Status.DONE, source="opensubtitles"), "ready", "completed", "from opensubtitles"),
        (job(Status.FAILED, error_message="the disk is full"), "failed", "failed", "the disk is full"),
        (job(Status.CANCELLED), "cancelled", "cancelled", ""),
    ],
)
def test_a_job_says_how_it_fares(shown: SubtitleJob, word: str, tone: str, detail: str) -> None:
    """In words that somebody who waits for a film understands."""
    extent = Extent(chunks=7, done=3, cached=1, cues=500, began_at=NOW)
    card = cards.card(shown, 50, extent, now=NOW)

    assert (card.word, card.tone, card.detail) == (word, tone, detail)
    assert card.until == (SOON if word == "waits for quota" else None)


def test_what_is_missing_says_why_and_when_it_is_looked_for_again() -> None:
    """Nobody should ask again by hand for what is asked again anyway."""
    shown = job(Status.SUBTITLE_MISSING, reason="subtitle_not_found_any_language", retry_at=SOON)
    card = cards.card(shown, 10, now=NOW)

    assert card.detail.startswith("Nobody offers one in this language")
    assert card.until == SOON


def test_an_episode_is_called_by_its_number() -> None:
    """A season of jobs that are all called alike would be of no use."""
    assert cards.title(job(Status.DONE)) == "Tideland S01E02"
    assert cards.title(job(Status.DONE, order=replace(ORDER, video_title="Tideland S01E02"))) == "Tideland S01E02"
    assert cards.title(job(Status.DONE, order=None, translation=SENT)) == "film.en.srt"


def test_an_address_that_tells_nothing_is_not_shown() -> None:
    """A made-up address in place of a path would only puzzle people."""
    assert cards.address(job(Status.DONE)) == "/films/Tideland.S01E02.mkv"
    assert cards.address(job(Status.DONE, order=replace(ORDER, video_url="name:Film.mkv"))) == ""


def event(topic: str, data: object, minute: int, **more: object) -> Event[object]:
    at = NOW + timedelta(minutes=minute)
    values: dict[str, object] = {"applied": True, "generation": 1} | more
    return Event(
        id=f"{minute}", topic=topic, subject="j", data=data, source="downloader", time=at, position=minute,
        sequence=minute, job="subtitle", recorded_at=at, **values,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_history_is_told_from_its_end() -> None:
    """With the time between, what was not applied, and where a new attempt begins."""
    told = cards.moments(
        [
            event("subtitle.requested", ORDER, 1),
            event("subtitle.ready", Ready(subtitle_path="/a", download_url="", source="x", score=93), 4),
            event("subtitle.missing", None, 5, applied=False),
            event("job.retried", None, 6, generation=2),
            event("film.unknown", None, 7, generation=2),
        ]
    )

    assert [one.title for one in told][::-1][:2] == ["Asked for", "Subtitle is there"]
    assert told[-1].gap is None
    assert told[-2].gap == timedelta(minutes=3)
    assert told[-2].detail == "from x, score 93"
    assert [one.is_refused for one in told] == [False, False, True, False, False]
    assert [one.attempt for one in told] == [None, 2, None, None, None]
    assert told[0].title == "film.unknown"


@pytest.mark.parametrize(
    "data, text",
    [
        (ORDER, "Hebrew, by api"),
        (SENT, "English to Hebrew"),
        (replace(SENT, reason="none was found"), "English to Hebrew; none was found"),
        (DownloadStarted(language="he"), ""),
        (Parked(service="x", reason="used up", retry_at=NOW), "used up"),
        (TranslateStarted(model="m", cues=1200, chunks=9), "1,200 cues in 9 parts, by m"),
        (
            Translated(
                translated_path="", download_url="", source_language="en", target_language="he", model="m", cues=9, flagged=(1,)
            ),
            "9 cues by m; 1 kept their source text",
        ),
        (Missing(language="he", reason="other", video_url="", video_title=""), "other"),
        (Failed(error_message="broken"), "broken"),
        (None, ""),
    ],
)  # fmt: skip
def test_every_event_has_its_line(data: object, text: str) -> None:
    """JSON is for the other page."""
    assert cards.detail_of(data) == text


def test_offers_say_what_spoke_for_and_against_them() -> None:
    """The newest attempt alone: older ones were judged by what was known then."""
    candidates = [
        Candidate(provider="p", file_id=str(number), language="he", release=Release(), release_name=f"r{number}")
        for number in range(4)
    ]
    rejections = ("", "split", "", "")
    scored = tuple(
        Scored(candidate=one, score=90, matches=("hash",), rejected=why)
        for one, why in zip(candidates, rejections, strict=True)
    )
    found = [
        Offers(attempt=2, language="he:hi", offers=scored),
        Offers(attempt=2, language="en", offers=()),
        Offers(attempt=1, language="he", offers=scored),
    ]
    tables = cards.offer_tables(found, {("p", "0")}, {("p", "2"): "no subtitle"})

    assert [(table.language, table.attempt) for table in tables] == [("Hebrew", 2), ("English", 2)]
    assert [offer.verdict for offer in tables[0].offers] == ["taken", "split", "no subtitle", ""]
    assert cards.offer_tables([], set(), {}) == []


@pytest.mark.parametrize(
    "allowed, left, used, percent",
    [(100, 40, 60, 60.0), (20, 0, 20, 100.0), (None, 5, None, 0.0), (10, 12, 0, 0.0)],
)
def test_a_quota_is_told_as_used(allowed: int | None, left: int, used: int | None, percent: float) -> None:
    """Providers count what is left; people ask how much they have used."""
    shown = cards.provider(Standing(provider="p", available=True, quota_allowed=allowed, quota_remaining=left))

    assert (shown.used, shown.percent) == (used, percent)


def test_failures_are_grouped_by_cause() -> None:
    """One decision is enough for all that failed of the same."""
    failed = [
        job(Status.FAILED, error_type=kind, retryable=kind == "disk_full")
        for kind in ("key_refused", "disk_full", "disk_full")
    ]
    causes = cards.causes(failed)

    assert [(cause.kind, len(cause.jobs), cause.is_worth_a_try) for cause in causes] == [
        ("disk_full", 2, True), ("key_refused", 1, False),
    ]  # fmt: skip


def test_languages_have_names_and_directions() -> None:
    """Codes are for machines; and a page that does not know the direction shows Hebrew the wrong way round."""
    assert cards.language("he") == cards.Language(tag="he", name="Hebrew", direction="rtl")
    assert cards.language("").name == "unknown"
    assert cards.wanted_name(Wanted(language="pt-BR", hearing_impaired=True, forced=True)) == (
        "Brazilian Portuguese, for the hearing impaired, forced"
    )
    assert [one.tag for one in cards.suggestions(["yue", "he", "he"])][:3] == ["yue", "he", "ar"]
