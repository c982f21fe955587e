"""What is said about jobs, and what it means: every event against every status."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from headrace import Event, Pipeline
from headrace.testing import Harness
from headrace_pipelines.subtitles.lifecycle import (
    JobData,
    Ready,
    events,
    failed,
    fold,
    subtitles,
)
from headrace_pipelines.subtitles.model import Order, Status
from headrace_pipelines.subtitles.services.subtitle_provider.port import AccessRefused

LEGAL = {
    "subtitle.requested": {None: "pending"},
    "subtitle.download.requested": {None: "download_queued", "pending": "download_queued"},
    "subtitle.download.started": {"pending": "download_in_progress", "download_queued": "download_in_progress"},
    "subtitle.ready": {"pending": "done", "download_queued": "done", "download_in_progress": "done"},
    "subtitle.translate.started": {
        "pending": "translate_in_progress",
        "download_queued": "translate_in_progress",
        "download_in_progress": "translate_in_progress",
        "translate_queued": "translate_in_progress",
    },
    "job.retried": {
        "done": "pending",
        "failed": "pending",
        "cancelled": "pending",
        "subtitle_missing": "pending",
    },
}


@pytest.mark.parametrize("topic", LEGAL)
def test_a_job_moves_along_legal_edges_alone(topic: str) -> None:
    """A late request must not queue a job again that is done; it did, in the original."""
    moves = {
        source: move.target for move in subtitles.moves if move.topic == topic for source in (move.sources or (None,))
    }

    assert moves == LEGAL[topic]


def test_every_word_of_the_interface_is_a_state() -> None:
    """Statuses are not translated on the way."""
    assert set(subtitles.states) == {status.value for status in Status}


async def test_the_first_version_of_an_event_is_still_read() -> None:
    """Events of the original had two fields; its history can be read, and moves jobs as it did."""
    pipeline = Pipeline("subtitles", lifecycles=[subtitles], events=events)
    order = Order(video_url="file:///a.mkv", video_title="A", language="he")
    async with Harness(pipeline) as harness:
        await harness.publish("subtitle.download.requested", order, subject="j-1")
        old = next(item for item in events if item.topic == "subtitle.ready")
        read = old.decode(b'{"subtitle_path": "/a.he.srt", "download_url": "/a"}', 1)
        await harness.publish("subtitle.ready", read, subject="j-1")
        job = await harness.app.job("subtitle", "j-1")

    assert read == Ready(subtitle_path="/a.he.srt", download_url="/a", language="und", source="unknown")
    assert (job.state, job.data.path) == ("done", "/a.he.srt")


def test_a_failure_is_told_in_words_of_the_interface() -> None:
    """Programs decide by the type, people read the message."""
    told = failed(AccessRefused("the key is wrong"))

    assert (told.error_type, told.error_message, told.retryable) == ("access_refused", "the key is wrong", False)


def test_beginning_again_forgets_the_failure_and_may_bring_a_new_place() -> None:
    """A film that was moved is looked for where it is now."""
    order = Order(video_url="file:///a.mkv", video_title="A", language="he")
    moved = Order(video_url="file:///b.mkv", video_title="A", language="he")
    before = JobData(order=order, error_type="x", error_message="y", retryable=True)

    plain, elsewhere = (fold(before, _retried(data)) for data in (None, moved))

    assert (plain.order, plain.error_message, plain.retryable) == (order, None, False)
    assert elsewhere.order == moved


def _retried(data: Order | None) -> Event[Any]:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Event(
        id="e",
        topic="job.retried",
        subject="j",
        data=data,
        source="manager",
        time=now,
        recorded_at=now,
        position=1,
        sequence=1,
    )
