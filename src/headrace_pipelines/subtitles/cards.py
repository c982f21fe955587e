"""What the pages say of jobs, events, offers and providers, in words that people use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote

from headrace import Event
from headrace_pipelines.subtitles.desk import SubtitleJob
from headrace_pipelines.subtitles.lifecycle import (
    DownloadStarted,
    Failed,
    Missing,
    Parked,
    Ready,
    Translated,
    TranslateStarted,
)
from headrace_pipelines.subtitles.model import Order, Status, TranslationOrder, Wanted
from headrace_pipelines.subtitles.rules.languages import english_name
from headrace_pipelines.subtitles.rules.paths import is_name
from headrace_pipelines.subtitles.rules.writing import is_right_to_left
from headrace_pipelines.subtitles.services.subtitle_provider.port import Standing
from headrace_pipelines.subtitles.store import Extent, Offers

_EPISODE = re.compile(r"\b[Ss]\d{1,3}[Ee]\d{1,4}(?:[Ee]\d{1,4})*\b")
_WORDS = {
    Status.PENDING: "asked for",
    Status.DOWNLOAD_QUEUED: "waits in line",
    Status.DOWNLOAD_IN_PROGRESS: "is searched for",
    Status.TRANSLATE_QUEUED: "to be translated",
    Status.TRANSLATE_IN_PROGRESS: "is translated",
    Status.DONE: "ready",
    Status.FAILED: "failed",
    Status.SUBTITLE_MISSING: "not found",
    Status.CANCELLED: "cancelled",
}
_TONES = {
    Status.DOWNLOAD_IN_PROGRESS: "running",
    Status.TRANSLATE_IN_PROGRESS: "running",
    Status.DONE: "completed",
    Status.FAILED: "failed",
    Status.SUBTITLE_MISSING: "blocked",
    Status.CANCELLED: "cancelled",
}
_TOPICS = {
    "subtitle.requested": "Asked for",
    "subtitle.download.requested": "To be found",
    "subtitle.download.started": "Search begins",
    "subtitle.download.parked": "Waits for a provider",
    "subtitle.ready": "Subtitle is there",
    "subtitle.translate.requested": "To be translated",
    "subtitle.translate.started": "Translation begins",
    "subtitle.translate.parked": "Waits for the model",
    "subtitle.translated": "Translated",
    "subtitle.missing": "Nothing was found",
    "job.failed": "Failed",
    "job.cancelled": "Cancelled",
    "job.retried": "Begins again",
}
_MISSING = {
    "subtitle_not_found_any_language": "Nobody offers one in this language, nor in one that could be translated",
    "subtitle_not_found_no_translation": "Nobody offers one in this language, and translation was not wanted",
}
# What most of the world speaks; any other language can be typed.
_COMMON = (
    "ar bg cs da de el en es es-419 et fa fi fr he hi hr hu id it ja ko lt lv ms nb nl pl pt pt-BR ro ru sk sl sr sv th tr uk ur "
    "vi zh-Hans zh-Hant"
).split()


# --- languages ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    tag: str
    name: str
    direction: str


def language(tag: str) -> Language:
    """How a language is called and written; what is not known is called by its tag."""
    try:
        return Language(tag=tag, name=english_name(tag), direction="rtl" if is_right_to_left(tag) else "ltr")
    except ValueError:
        return Language(tag=tag, name=tag or "unknown", direction="auto")


def wanted_name(wanted: Wanted) -> str:
    flags = ["for the hearing impaired"] if wanted.hearing_impaired else []
    flags += ["forced"] if wanted.forced else []
    name = language(wanted.language).name
    return f"{name}, {', '.join(flags)}" if flags else name


def suggestions(first: Iterable[str]) -> list[Language]:
    """Languages to choose from: those of the settings, then the others by their names."""
    own = list(dict.fromkeys(first))
    rest = sorted((language(tag) for tag in _COMMON if tag not in own), key=lambda one: one.name)
    return [*(language(tag) for tag in own), *rest]


# --- jobs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A job, at one look."""

    job: SubtitleJob
    title: str
    word: str
    tone: str
    progress: int
    language: str
    detail: str
    """What is going on, or what became of it."""
    until: datetime | None
    """When it goes on by itself."""
    is_moving: bool


def word(status: Status) -> str:
    return _WORDS[status]


def card(job: SubtitleJob, progress: int, extent: Extent | None = None, *, now: datetime) -> Card:
    status = Status(job.state)
    parked = not job.terminal and job.data.retry_at is not None and job.data.retry_at > now
    return Card(
        job=job, title=title(job), word="waits for quota" if parked else _WORDS[status],
        tone="paused" if parked else _TONES.get(status, "waiting"), progress=progress, language=wanted_name(_wanted(job)),
        detail=_detail(job, extent, is_parked=parked), until=job.data.retry_at if parked or status is Status.SUBTITLE_MISSING else None,
        is_moving=not job.terminal,
    )  # fmt: skip


def title(job: SubtitleJob) -> str:
    """What people call it; an episode with its number, which the title of a series leaves out."""
    name = job.data.title or _file_name(job)
    order = job.data.order
    number = None if order is None else _EPISODE.search(order.video_url.rpartition("/")[2])
    return name if number is None or _EPISODE.search(name) else f"{name} {number[0].upper()}"


def _wanted(job: SubtitleJob) -> Wanted:
    data = job.data
    if data.order is not None:
        return data.order.wanted
    order = data.translation
    if order is None:
        return Wanted(language="und")
    return Wanted(language=order.target_language, hearing_impaired=order.hearing_impaired, forced=order.forced)


def _file_name(job: SubtitleJob) -> str:
    order = job.data.translation
    return order.subtitle_file_path.rpartition("/")[2] if order is not None else job.id


def _detail(job: SubtitleJob, extent: Extent | None, *, is_parked: bool) -> str:
    data = job.data
    match Status(job.state):
        case Status.FAILED:
            return data.error_message or data.error_type or ""
        case Status.SUBTITLE_MISSING:
            return _MISSING.get(data.reason or "", data.reason or "")
        case Status.DONE:
            return _source(data.source, machine=data.machine_translated, translation=data.translation)
        case Status.CANCELLED:
            return ""
        case Status.TRANSLATE_IN_PROGRESS if not is_parked and extent is not None:
            known = f", {extent.cached} of them known before" if extent.cached else ""
            return f"{extent.done} of {extent.chunks} parts{known}"
    if is_parked:
        return data.reason or ""
    return data.translation.reason if data.translation is not None and data.translation.reason != "requested" else ""


def _source(source: str | None, *, machine: bool, translation: TranslationOrder | None) -> str:
    if source == "library":
        return "lay beside the video already"
    if machine and translation is not None:
        return f"translated from {language(translation.source_language).name} by {source or 'a model'}"
    return f"from {source or 'somewhere'}{', where a machine made it' if machine else ''}"


def address(job: SubtitleJob) -> str:
    """Where the video lies; empty for what has none that would tell anybody anything."""
    order, translation = job.data.order, job.data.translation
    url = order.video_url if order is not None else translation.video_url if translation is not None else ""
    return "" if is_name(url) else unquote(url.removeprefix("file://")) if url.startswith("file:") else url


# --- what happened -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    event: Event[Any]
    title: str
    detail: str
    gap: timedelta | None
    """Since the event before."""
    is_refused: bool
    attempt: int | None
    """Told where it is another one than that of the event before."""


def moments(history: Sequence[Event[Any]]) -> list[Moment]:
    """A history, the newest first."""
    told, before = [], None
    for event in history:
        told.append(
            Moment(
                event=event, title=_TOPICS.get(event.topic, event.topic), detail=detail_of(event.data),
                gap=None if before is None else event.time - before.time, is_refused=event.applied is False,
                attempt=event.generation if event.generation != (before.generation if before else 1) else None,
            )
        )  # fmt: skip
        before = event
    return told[::-1]


def detail_of(data: object) -> str:
    """What an event says, in a line."""
    match data:
        case Order():
            return f"{wanted_name(data.wanted)}, by {data.requested_by}"
        case TranslationOrder():
            languages = f"{language(data.source_language).name} to {language(data.target_language).name}"
            return f"{languages}; {data.reason}" if data.reason and data.reason != "requested" else languages
        case DownloadStarted():
            return ""
        case Parked():
            return data.reason
        case Ready():
            score = f", score {data.score}" if data.score else ""
            return f"{_source(data.source, machine=data.machine_translated, translation=None)}{score}"
        case TranslateStarted():
            return f"{data.cues:,} cues in {data.chunks} parts, by {data.model}"
        case Translated():
            flagged = f"; {len(data.flagged)} kept their source text" if data.flagged else ""
            return f"{data.cues:,} cues by {data.model}{flagged}"
        case Missing():
            return _MISSING.get(data.reason, data.reason)
        case Failed():
            return data.error_message
    return ""


# --- offers, providers, what is dead -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    provider: str
    file_id: str
    release: str
    score: int
    matches: tuple[str, ...]
    verdict: str
    """``taken``, why it is not to be used, or nothing."""
    is_taken: bool
    is_machine: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferTable:
    language: str
    attempt: int
    offers: tuple[Offer, ...]


def offer_tables(
    found: Sequence[Offers], taken: set[tuple[str, str]], denied: Mapping[tuple[str, str], str]
) -> list[OfferTable]:
    """Why this subtitle: everything that the newest attempt has found, with what spoke for and against it."""
    newest = max((one.attempt for one in found), default=0)
    return [
        OfferTable(
            language=language(one.language.partition(":")[0]).name, attempt=one.attempt,
            offers=tuple(_offer(scored, taken, denied) for scored in one.offers),
        )
        for one in found
        if one.attempt == newest
    ]  # fmt: skip


def _offer(scored: Any, taken: set[tuple[str, str]], denied: Mapping[tuple[str, str], str]) -> Offer:
    candidate = scored.candidate
    key = (candidate.provider, candidate.file_id)
    verdict = "taken" if key in taken else scored.rejected or denied.get(key, "")
    return Offer(
        provider=candidate.provider, file_id=candidate.file_id, release=candidate.release_name, score=scored.score,
        matches=scored.matches, verdict=verdict, is_taken=key in taken, is_machine=candidate.machine_translated,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    standing: Standing
    used: int | None
    percent: float
    """Of the quota that is used."""


def provider(standing: Standing) -> Provider:
    allowed, left = standing.quota_allowed, standing.quota_remaining
    if not allowed or left is None:
        return Provider(standing=standing, used=None, percent=0.0)
    used = max(0, allowed - left)
    return Provider(standing=standing, used=used, percent=min(100.0, 100 * used / allowed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Jobs that failed of the same."""

    kind: str
    jobs: tuple[SubtitleJob, ...]

    @property
    def is_worth_a_try(self) -> bool:
        return any(job.data.retryable for job in self.jobs)


def causes(jobs: Iterable[SubtitleJob]) -> list[Cause]:
    """Grouped, the largest group first."""
    groups: dict[str, list[SubtitleJob]] = {}
    for job in jobs:
        groups.setdefault(job.data.error_type or "unknown", []).append(job)
    found = [Cause(kind=kind, jobs=tuple(members)) for kind, members in groups.items()]
    return sorted(found, key=lambda cause: -len(cause.jobs))
