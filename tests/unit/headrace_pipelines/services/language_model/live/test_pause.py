from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headrace_pipelines.services.language_model.live.pause import duration, retry_after, sent_at, until_reset


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("34s", 34),
        ("17.4s", 17.4),
        ("6m0s", 360),
        ("1h2m3s", 3723),
        ("20ms", 0.02),
        ("2", 2),
        ("0.5", 0.5),
        (" 1s ", 1),
    ],
)
def test_durations_are_read_as_services_write_them(text: str, seconds: float) -> None:
    """Each has its own notation; one that is misread is a pause of no length, or of a year."""
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "s", "1d", "-3s", "1s tomorrow", "NaN"])
def test_what_is_no_duration_is_none(text: str) -> None:
    """A guess would be worse than the step's own patience."""
    assert duration(text) is None


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0),
    ],
)
def test_retry_after_is_a_number_or_a_date(headers: dict[str, str], seconds: float) -> None:
    """A date is compared with the service's own clock, because ours may be wrong."""
    assert retry_after(headers) == timedelta(seconds=seconds)


@pytest.mark.parametrize("headers", [{}, {"retry-after": "later"}, {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}])
def test_no_usable_header_is_no_pause(headers: dict[str, str]) -> None:
    """Without the service's own clock a date says nothing."""
    assert retry_after(headers) is None


def test_a_reset_counts_only_for_what_is_used_up() -> None:
    """The headers come with every answer; most of the time nothing is used up."""
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "2s",
        "x-ratelimit-remaining-tokens": "100",
        "x-ratelimit-reset-tokens": "6m0s",
    }

    assert until_reset(headers) == timedelta(seconds=2)
    assert until_reset(headers | {"x-ratelimit-remaining-tokens": "0"}) == timedelta(minutes=6)
    assert until_reset({}) is None


def test_the_service_tells_its_time() -> None:
    """Quotas end at times of the service's day."""
    assert sent_at({"date": "Wed, 21 Oct 2026 07:28:00 GMT"}) == datetime(2026, 10, 21, 7, 28, tzinfo=UTC)
    assert sent_at({"date": "yesterday"}) is None
