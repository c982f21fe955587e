"""What the pipeline needs of a media server: which file an item is, and that it looks again when a subtitle was added."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import PurePath
from typing import Protocol

from headrace.errors import ServiceError
from headrace_pipelines.subtitles.model import Kind


class TrackKind(StrEnum):
    AUDIO = "audio"
    SUBTITLE = "subtitle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    kind: TrackKind
    language: str | None
    """As a BCP 47 tag; None if it is not told, or told in a code that nobody knows."""
    forced: bool = False
    hearing_impaired: bool = False
    external: bool = False
    """A file beside the video, not a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A video as the media server knows it."""

    id: str
    kind: Kind
    name: str
    path: str
    """As we see it: mapped."""
    year: int | None = None
    series: str = ""
    season: int | None = None
    episode: int | None = None
    imdb_id: int | None = None
    tmdb_id: int | None = None
    fps: float | None = None
    duration: timedelta | None = None
    tracks: tuple[Track, ...] = ()


class ItemGone(ServiceError):
    """The media server has no such video (any more), or it is no file."""

    def __init__(self, player: str, item_id: str, reason: str = "") -> None:
        super().__init__(player, item_id, reason)
        self.player = player
        self.item_id = item_id
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.player} has no video {self.item_id!r}" + (f": {self.reason}" if self.reason else "")


class Player(Protocol):
    @property
    def name(self) -> str: ...

    async def item(self, item_id: str) -> Item:
        """Raises ItemGone, or what services raise."""
        ...

    async def refresh(self, path: str | PurePath, item_id: str | None = None) -> None:
        """A file, by our name for it, was added or changed: show it at once."""
        ...
