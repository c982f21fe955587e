"""How long OpenSubtitles wants to be left alone, as its headers and bodies say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_NAMES = ("retry-after", "ratelimit-reset", "x-ratelimit-reset", "x-ratelimit-reset-second")
_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_IN_WORDS = re.compile(r"(\d+)\s*(day|hour|minute|second)s?")
_LONGEST = timedelta(days=2)


def retry_after(headers: Mapping[str, str]) -> timedelta | None:
    """The longest pause that any of the headers asks for; None if there is none."""
    pauses = [pause for name in _NAMES if (pause := _pause(headers.get(name, ""), headers)) is not None]
    return min(max(pauses), _LONGEST) if pauses else None


def _pause(text: str, headers: Mapping[str, str]) -> timedelta | None:
    text = text.strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return timedelta(seconds=float(text))
    until, sent = _date(text), _date(headers.get("date", ""))
    return max(until - sent, timedelta(0)) if until and sent else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def moment(text: str) -> datetime | None:
    """``2026-11-19T23:59:59Z``; None if it is something else."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def in_words(text: str) -> timedelta | None:
    """``23 hours and 57 minutes``; None if it is something else."""
    parts = _IN_WORDS.findall(text.lower())
    return timedelta(seconds=sum(int(number) * _UNITS[unit] for number, unit in parts)) if parts else None
