"""What is said about a job, and what each of it means for the job."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from headrace import Event, EventType, Lifecycle, RunOutcome
from headrace_pipelines.subtitles.model import Order, Status, TranslationOrder

# Who says something: the roles of the original's services.
MANAGER, DOWNLOADER, TRANSLATOR, SCANNER = "manager", "downloader", "translator", "scanner"

DETECTED = "media.file.detected"
REQUESTED = "subtitle.requested"
DOWNLOAD_REQUESTED = "subtitle.download.requested"
DOWNLOAD_STARTED = "subtitle.download.started"
DOWNLOAD_PARKED = "subtitle.download.parked"
READY = "subtitle.ready"
TRANSLATE_REQUESTED = "subtitle.translate.requested"
TRANSLATE_STARTED = "subtitle.translate.started"
TRANSLATE_PARKED = "subtitle.translate.parked"
TRANSLATED = "subtitle.translated"
MISSING = "subtitle.missing"
TRANSLATION_COMPLETED = "translation.completed"
JOB_FAILED = "job.failed"
JOB_CANCELLED = "job.cancelled"
JOB_RETRIED = "job.retried"
QUOTA_USED_UP = "provider.quota.used_up"


@dataclass(frozen=True, kw_only=True)
class Detected:
    """A video that the scanner has come across."""

    file_path: str
    video_title: str
    video_url: str
    languages: tuple[str, ...]
    """What it lacks."""
    source: str


@dataclass(frozen=True, kw_only=True)
class DownloadStarted:
    language: str


@dataclass(frozen=True, kw_only=True)
class Parked:
    """Nothing goes on before ``retry_at``."""

    service: str
    reason: str
    retry_at: datetime


@dataclass(frozen=True, kw_only=True)
class Ready:
    subtitle_path: str
    download_url: str
    language: str = "und"
    source: str = "unknown"
    file_id: str = ""
    score: int = 0
    machine_translated: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TranslateStarted:
    model: str
    cues: int
    chunks: int


@dataclass(frozen=True, kw_only=True)
class Translated:
    translated_path: str
    download_url: str
    source_language: str
    target_language: str
    model: str = ""
    cues: int = 0
    flagged: tuple[int, ...] = ()
    """Numbers of cues that kept their source text."""


@dataclass(frozen=True, kw_only=True)
class TranslationCompleted:
    """What a translation took; about the file, not about the job."""

    file_path: str
    translated_path: str
    source_language: str
    target_language: str
    duration_seconds: float
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float
    cached_chunks: int
    chunks: int


@dataclass(frozen=True, kw_only=True)
class Missing:
    language: str
    reason: str
    video_url: str
    video_title: str
    next_search_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Failed:
    error_message: str
    error_type: str = ""
    retryable: bool = True


@dataclass(frozen=True, kw_only=True)
class QuotaUsedUp:
    provider: str
    resets_at: datetime


@dataclass(frozen=True, kw_only=True)
class JobData:
    """What a job knows beside its state."""

    order: Order | None = None
    translation: TranslationOrder | None = None
    path: str | None = None
    download_url: str | None = None
    language: str | None = None
    source: str | None = None
    machine_translated: bool = False
    warnings: tuple[str, ...] = ()
    error_type: str | None = None
    error_message: str | None = None
    retryable: bool = False
    retry_at: datetime | None = None
    reason: str | None = None

    @property
    def title(self) -> str:
        return self.order.video_title if self.order else self.translation.video_title if self.translation else ""

    @property
    def wanted_language(self) -> str:
        return self.order.language if self.order else self.translation.target_language if self.translation else ""


def fold(before: JobData | None, event: Event[Any]) -> JobData:
    """What a job knows after an event."""
    known = before or JobData()
    if event.topic == JOB_RETRIED:
        again = replace(known, error_type=None, error_message=None, retryable=False, retry_at=None, reason=None)
        return again if event.data is None else replace(again, order=event.data)
    match event.data:
        case Order() as order:
            return replace(known, order=order, retry_at=None, reason=None)
        case TranslationOrder() as order:
            return replace(known, translation=order, retry_at=None, reason=order.reason or None)
        case DownloadStarted() | TranslateStarted():
            return replace(known, retry_at=None, reason=None)
        case Parked() as parked:
            return replace(known, retry_at=parked.retry_at, reason=parked.reason)
        case Ready() as ready:
            return replace(
                known, path=ready.subtitle_path, download_url=ready.download_url, language=ready.language,
                source=ready.source, machine_translated=ready.machine_translated, warnings=ready.warnings, retry_at=None,
            )  # fmt: skip
        case Translated() as translated:
            return replace(
                known, path=translated.translated_path, download_url=translated.download_url,
                language=translated.target_language, source=translated.model, machine_translated=True,
                warnings=tuple(f"cue {number} kept its source text" for number in translated.flagged), retry_at=None,
            )  # fmt: skip
        case Missing() as missing:
            return replace(known, reason=missing.reason, retry_at=missing.next_search_at)
        case Failed() as failed:
            return replace(
                known, error_type=failed.error_type, error_message=failed.error_message, retryable=failed.retryable,
                retry_at=None,
            )  # fmt: skip
    return known


FINAL = {
    "access_refused",
    "outside_roots",
    "not_ours",
    "name_too_long",
    "not_a_subtitle",
    "encoding_unknown",
    "key_refused",
    "model_unknown",
}
"""What is wrong will be wrong at the next attempt, too, until somebody does something about it."""


def failed(error: Exception) -> Failed:
    """What a job is told about what went wrong."""
    return _as_failed(type(error).__name__, str(error))


def _failed(outcome: RunOutcome) -> Failed:
    return _as_failed(outcome.error_type or outcome.state, outcome.error_message or f"the run ended as {outcome.state}")


def _as_failed(error_class: str, message: str) -> Failed:
    """``ServiceUnavailable`` is ``service_unavailable``."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", error_class).lower()
    return Failed(error_message=message or kind, error_type=kind, retryable=kind not in FINAL)


_PENDING, _QUEUED, _IN_PROGRESS = Status.PENDING, Status.DOWNLOAD_QUEUED, Status.DOWNLOAD_IN_PROGRESS
_TO_TRANSLATE, _TRANSLATING = Status.TRANSLATE_QUEUED, Status.TRANSLATE_IN_PROGRESS

subtitles = Lifecycle(
    "subtitle",
    # Forward jumps are legal: the event in between may come late, or never. Backward ones are not.
    moves=[
        (REQUESTED, None, _PENDING),
        (DOWNLOAD_REQUESTED, None, _QUEUED),
        (DOWNLOAD_REQUESTED, _PENDING, _QUEUED),
        (DOWNLOAD_STARTED, (_PENDING, _QUEUED), _IN_PROGRESS),
        (READY, (_PENDING, _QUEUED, _IN_PROGRESS), Status.DONE),
        (MISSING, (_PENDING, _QUEUED, _IN_PROGRESS), Status.SUBTITLE_MISSING),
        (TRANSLATE_REQUESTED, None, _TO_TRANSLATE),
        (TRANSLATE_REQUESTED, (_PENDING, _QUEUED, _IN_PROGRESS), _TO_TRANSLATE),
        (TRANSLATE_STARTED, (_PENDING, _QUEUED, _IN_PROGRESS, _TO_TRANSLATE), _TRANSLATING),
        (TRANSLATED, "*", Status.DONE),
        (JOB_FAILED, "*", Status.FAILED),
        (JOB_CANCELLED, "*", Status.CANCELLED),
    ],
    terminal=[Status.DONE, Status.SUBTITLE_MISSING, Status.FAILED, Status.CANCELLED],
    notes=[DOWNLOAD_PARKED, TRANSLATE_PARKED],
    retry=(JOB_RETRIED, _PENDING),
    ends={
        "failed": (JOB_FAILED, _failed),
        "cancelled": (JOB_CANCELLED, _failed),
    },
    handovers=[_PENDING, _QUEUED, _TO_TRANSLATE],
    data=JobData,
    fold=fold,
)

events: list[EventType[Any]] = [
    EventType(DETECTED, Detected),
    EventType(REQUESTED, Order),
    EventType(DOWNLOAD_REQUESTED, Order),
    EventType(DOWNLOAD_STARTED, DownloadStarted),
    EventType(DOWNLOAD_PARKED, Parked),
    # The first version had the two fields of the original.
    EventType(READY, Ready, version=2, upcast={1: lambda data: {"language": "und", "source": "unknown", **data}}),
    EventType(TRANSLATE_REQUESTED, TranslationOrder),
    EventType(TRANSLATE_STARTED, TranslateStarted),
    EventType(TRANSLATE_PARKED, Parked),
    EventType(TRANSLATED, Translated),
    EventType(MISSING, Missing),
    EventType(TRANSLATION_COMPLETED, TranslationCompleted),
    EventType(JOB_FAILED, Failed),
    EventType(JOB_CANCELLED, Failed),
    EventType(JOB_RETRIED, Order | None),  # type: ignore[arg-type]  # a union is a type of data
    EventType(QUOTA_USED_UP, QuotaUsedUp),
]
