from __future__ import annotations

from datetime import UTC, datetime

from headrace_pipelines.subtitles.services.subtitle_provider.port import FileGone, QuotaUsedUp


def test_errors_say_what_happened_and_until_when() -> None:
    """Their text is what the history of a job shows."""
    assert str(QuotaUsedUp("opensubtitles", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))) == (
        "opensubtitles gives no more downloads before 2026-01-02 03:04:05 UTC"
    )
    assert str(FileGone("folder", "a.srt", "the file is empty")) == "folder does not give file a.srt: the file is empty"
