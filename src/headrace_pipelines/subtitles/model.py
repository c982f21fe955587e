"""What the subtitles pipeline speaks of: media, wishes, candidates, documents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Status(StrEnum):
    """The states of a job; the words are those of the HTTP interface."""

    PENDING = "pending"
    DOWNLOAD_QUEUED = "download_queued"
    DOWNLOAD_IN_PROGRESS = "download_in_progress"
    TRANSLATE_QUEUED = "translate_queued"
    TRANSLATE_IN_PROGRESS = "translate_in_progress"
    DONE = "done"
    FAILED = "failed"
    SUBTITLE_MISSING = "subtitle_missing"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A subtitle that somebody wants: a language as a BCP 47 tag, and of which sort; written ``he``, ``he:hi`` or ``he:forced``."""

    language: str
    hearing_impaired: bool = False
    forced: bool = False

    def __str__(self) -> str:
        flags = [":hi"] if self.hearing_impaired else []
        return self.language + "".join(flags + ([":forced"] if self.forced else []))


class Kind(StrEnum):
    MOVIE = "movie"
    EPISODE = "episode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What the name of a file or of a release says about it."""

    kind: Kind = Kind.MOVIE
    title: str = ""
    year: int | None = None
    season: int | None = None
    episodes: tuple[int, ...] = ()
    episode_title: str = ""
    group: str = ""
    source: str = ""
    """Blu-ray, Web, HDTV, DVD, …"""
    resolution: str = ""
    video_codec: str = ""
    audio_codec: str = ""
    streaming_service: str = ""
    edition: str = ""
    country: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """A video, as far as it is known."""

    url: str
    """``file:///…`` or ``https://…``"""
    name: str
    """The file name, or whatever stands for it."""
    release: Release
    size: int | None = None
    moviehash: str | None = None
    imdb_id: int | None = None
    tmdb_id: int | None = None
    fps: float | None = None
    duration: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A subtitle that a provider offers."""

    provider: str
    file_id: str
    language: str
    release: Release
    release_name: str = ""
    hash_matches: bool = False
    """The provider says that it was made for a file with this very moviehash."""
    imdb_id: int | None = None
    tmdb_id: int | None = None
    hearing_impaired: bool = False
    forced: bool = False
    machine_translated: bool = False
    """By a machine, with or without artificial intelligence."""
    fps: float | None = None
    trusted: bool = False
    downloads: int = 0
    rating: float = 0.0
    uploaded_at: datetime | None = None
    parts: int = 1
    """Into how many files it is split, as for a film on two discs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A candidate, and why it stands where it stands."""

    candidate: Candidate
    score: int
    """0 to 100."""
    matches: tuple[str, ...]
    rejected: str = ""
    """Why it is not to be used at all; empty if it may be."""


class Format(StrEnum):
    SRT = "srt"
    VTT = "vtt"
    ASS = "ass"
    SSA = "ssa"
    MICRODVD = "sub"
    SAMI = "smi"
    TTML = "ttml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A text and when it is shown. Tags and positions stand in the text as they do in SRT: ``<i>``, ``{\\an8}``."""

    start: int
    """Milliseconds from the beginning of the video."""
    end: int
    text: str
    place: str = ""
    """Where it stands on the screen, as its format says it behind the times: ``X1:117 …`` of SRT, ``line:5%`` of WebVTT."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A subtitle file that was read."""

    format: Format
    cues: tuple[Cue, ...]
    warnings: tuple[str, ...] = ()
    """What was odd about the file, and what was done about it."""
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What somebody asked for. ``language`` is the wanted one; where nothing is found in it, ``fallback`` is what to translate from."""

    video_url: str
    video_title: str
    language: str
    hearing_impaired: bool = False
    forced: bool = False
    target_language: str | None = None
    """As it was asked; the wanted language has it in."""
    preferred_sources: tuple[str, ...] = ("opensubtitles",)
    fallback: tuple[str, ...] = ("en",)
    translate: bool = True
    imdb_id: int | None = None
    requested_by: str = "api"

    @property
    def wanted(self) -> Wanted:
        return Wanted(language=self.language, hearing_impaired=self.hearing_impaired, forced=self.forced)


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationOrder:
    """A subtitle file that is to be translated, and why."""

    subtitle_file_path: str
    source_language: str
    target_language: str
    video_title: str = ""
    video_url: str = ""
    reason: str = ""
    hearing_impaired: bool = False
    forced: bool = False
