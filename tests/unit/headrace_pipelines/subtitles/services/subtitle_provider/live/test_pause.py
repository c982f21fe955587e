from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headrace_pipelines.subtitles.services.subtitle_provider.live.pause import in_words, moment, retry_after


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"retry-after": "7"}, 7),
        ({"ratelimit-reset": "3", "retry-after": "1"}, 3),
        ({"date": "Thu, 01 Jan 2026 00:00:00 GMT", "retry-after": "Thu, 01 Jan 2026 00:01:00 GMT"}, 60),
        ({"retry-after": "999999999"}, 2 * 24 * 3600),
    ],
)
def test_headers_that_ask_for_patience(headers: dict[str, str], seconds: float) -> None:
    """Guessing is either too early, which counts again, or too late."""
    assert retry_after(headers) == timedelta(seconds=seconds)


def test_no_header_no_pause() -> None:
    """Whoever asks knows best what to do then."""
    assert retry_after({"retry-after": "soon"}) is None


def test_moments_and_words() -> None:
    """The exact moment is not in every answer."""
    assert moment("2026-11-19T23:59:59Z") == datetime(2026, 11, 19, 23, 59, 59, tzinfo=UTC)
    assert moment("2026-11-19T23:59:59.000") == datetime(2026, 11, 19, 23, 59, 59, tzinfo=UTC)
    assert moment("tomorrow") is None
    assert in_words("23 hours and 57 minutes") == timedelta(hours=23, minutes=57)
    assert in_words("soon") is None
