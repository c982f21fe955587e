"""How long a service wants to be left alone, as it says in headers and in its own notation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_PARTS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ms|[hms])")


def duration(text: str) -> timedelta | None:
    """``34s``, ``6m0s``, ``20ms``, ``17.4s`` or a bare number of seconds; None: it is something else."""
    text = text.strip()
    parts = list(_DURATION.finditer(text))
    if parts and "".join(part[0] for part in parts) == text:
        return timedelta(seconds=sum(float(part["number"]) * _PARTS[part["unit"]] for part in parts))
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return timedelta(seconds=min(float(text), 10**9))
    return None


def sent_at(headers: Mapping[str, str]) -> datetime | None:
    """The service's own clock, so that nobody here needs one."""
    return _date(headers.get("date", ""))


def retry_after(headers: Mapping[str, str]) -> timedelta | None:
    milliseconds = headers.get("retry-after-ms", "")
    if re.fullmatch(r"\d+(?:\.\d+)?", milliseconds):
        return timedelta(milliseconds=float(milliseconds))
    text = headers.get("retry-after", "")
    if (length := duration(text)) is not None:
        return length
    until, sent = _date(text), sent_at(headers)
    return max(until - sent, timedelta(0)) if until and sent else None


def until_reset(headers: Mapping[str, str]) -> timedelta | None:
    """Until there is something again of what is used up."""
    resets = [
        duration(headers.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return max((reset for reset in resets if reset is not None), default=None)


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
