"""What programs around a library tell us, as far as we act on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace_pipelines.subtitles.model import Kind


class PayloadRefused(ValueError):
    """What came is not what this program sends."""

    def __init__(self, sender: str, reason: str) -> None:
        super().__init__(sender, reason)
        self.sender = sender
        self.reason = reason

    def __str__(self) -> str:
        return f"this is no webhook of {self.sender}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A video is there, or there anew: look at it. Without a path the sender must be asked where it is."""

    kind: Kind
    name: str
    path: str | None = None
    """As the sender names it."""
    item_id: str | None = None
    year: int | None = None
    series: str = ""
    season: int | None = None
    episodes: tuple[int, ...] = ()
    imdb_id: int | None = None
    """Of the series, where the sender knows that one."""
    tmdb_id: int | None = None
    replaces: tuple[str, ...] = ()
    """What it took the place of: what was found for those does not fit any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """The same video under another name: its subtitles follow it."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A video, or a folder with all that is in it, is gone."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedOut:
    """Somebody has set us up, and wants to see that we answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    reason: str


Notice = Added | Renamed | Removed | TriedOut | Ignored


# --- reading what may be there -----------------------------------------------------------------------------------------

Payload = Mapping[str, object]


def text(payload: Payload, name: str) -> str:
    """A text, whatever it was; what is missing is empty."""
    value = payload.get(name)
    return "" if value is None or isinstance(value, dict | list) else str(value).strip()


def number(payload: Payload, name: str) -> int | None:
    """Templates write numbers as text, and zero or nothing for what is not known."""
    value = text(payload, name)
    return int(value) if value.isdecimal() else None


def part(payload: Payload, name: str) -> Payload:
    value = payload.get(name)
    return value if isinstance(value, dict) else {}


def parts(payload: Payload, name: str) -> list[Payload]:
    value = payload.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
