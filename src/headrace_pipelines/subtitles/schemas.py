"""What the HTTP interface takes and gives; the names are those of the original."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from headrace_pipelines.subtitles.model import Status
from headrace_pipelines.subtitles.rules.languages import parse_language

LEGACY = {
    "downloading": Status.DOWNLOAD_IN_PROGRESS,
    "translating": Status.TRANSLATE_IN_PROGRESS,
    "completed": Status.DONE,
}
"""Words of older clients; read, and never written."""

_SCHEMES = ("http://", "https://", "file://")


def _check_url(url: str) -> str:
    if not url.startswith(_SCHEMES):
        raise ValueError(f"a video is named by a URL that begins with {', '.join(_SCHEMES)}")
    return url


def parse_status(word: str) -> Status:
    """A status by its name, or by one that it had before."""
    try:
        return LEGACY.get(word) or Status(word)
    except ValueError:
        raise ValueError(f"there is no status {word!r}; there are {', '.join(Status)}") from None


Url = Annotated[str, Field(max_length=4096), AfterValidator(_check_url)]
Language = Annotated[str, Field(min_length=2, max_length=35), AfterValidator(parse_language)]
"""As people and providers write it: `he`, `heb`, `iw`, `pt-BR`, `pob`; given back as a BCP 47 tag."""
Title = Annotated[str, Field(min_length=1, max_length=500)]


class DownloadRequest(BaseModel):
    """A subtitle that is wanted."""

    model_config = ConfigDict(extra="forbid")

    video_url: Url = Field(
        description="`file:///…` below a media folder, or `http(s)://…`.", examples=["file:///media/film.mkv"]
    )
    video_title: Title = Field(examples=["The Harbour (2019)"])
    language: Language = Field(description="The language that is wanted.", examples=["he"])
    target_language: Language | None = Field(
        default=None,
        description="If it is another one, it is the one that is wanted, and `language` is what to translate from first.",
    )
    preferred_sources: list[Annotated[str, Field(max_length=64)]] = Field(
        default=["opensubtitles"], max_length=16, description="Providers to ask first."
    )
    hearing_impaired: bool = Field(default=False, description="With what is heard besides words.")
    forced: bool = Field(default=False, description="Only what is said in other languages.")
    imdb_id: int | None = Field(default=None, ge=1, le=2**40, description="Without `tt`.")
    fallback_languages: list[Language] | None = Field(
        default=None, max_length=16, description="What to translate from; the settings say, if this does not."
    )
    translate: bool | None = Field(default=None, description="Whether to translate if nothing is found.")


class TranslateRequest(BaseModel):
    """A subtitle file of the library that is to be translated."""

    model_config = ConfigDict(extra="forbid")

    subtitle_path: Annotated[str, Field(min_length=1, max_length=4096)] = Field(examples=["/media/film.en.srt"])
    source_language: Language = Field(examples=["en"])
    target_language: Language = Field(examples=["he"])
    video_title: Title | None = None


class JobObject(BaseModel):
    """A job."""

    id: str
    video_url: str
    video_title: str
    language: str
    target_language: str | None
    status: Status
    created_at: datetime
    updated_at: datetime
    error_message: str | None
    download_url: str | None
    attempt: int = Field(description="1, and one more for each time it was begun again.")
    progress: int = Field(ge=0, le=100)
    error_type: str | None
    retryable: bool = Field(description="Whether another attempt may fare better.")
    retry_at: datetime | None = Field(description="When it goes on by itself, if it waits for a service.")
    reason: str | None = Field(description="Why it waits, or why there is nothing.")
    source: str | None = Field(description="The provider, or the model that translated.")
    machine_translated: bool
    warnings: list[str]
    subtitle_path: str | None


class StatusObject(BaseModel):
    """How far a job is."""

    id: str
    status: Status
    progress: int = Field(ge=0, le=100)
    message: str


class EventObject(BaseModel):
    """What happened to a job."""

    event_type: str
    timestamp: datetime
    source: str = Field(description="Which role said so: manager, downloader, translator, …")
    payload: Any
    seq: int = Field(description="The place in the history of the job, from 1.")
    attempt: int | None
    applied: bool = Field(description="Whether the job moved by it.")
    reason: str = Field(description="Why not.")
    event_id: str
    schema_version: int


class EventsObject(BaseModel):
    """The history of a job."""

    job_id: str
    event_count: int = Field(description="How many there are in all.")
    events: list[EventObject]
    message: str | None = None


class ActiveWorkers(BaseModel):
    downloader: int
    translator: int


class QueueObject(BaseModel):
    """What waits, and who works."""

    download_queue_size: int
    translation_queue_size: int
    active_workers: ActiveWorkers


class ProviderObject(BaseModel):
    """How things stand with a provider."""

    provider: str
    available: bool
    reason: str
    throttled_until: datetime | None
    quota_allowed: int | None
    quota_remaining: int | None
    quota_resets_at: datetime | None


class OfferObject(BaseModel):
    """A subtitle that was found, and why it stands where it stands."""

    provider: str
    file_id: str
    language: str
    release: str
    score: int
    matches: list[str]
    rejected: str
    machine_translated: bool
    chosen: bool


class OffersObject(BaseModel):
    attempt: int
    language: str
    offers: list[OfferObject]


class HealthObject(BaseModel):
    status: str
    checks: dict[str, str]


class AcceptedObject(BaseModel):
    """What became of a request that is carried out later."""

    status: str
    message: str
    job_id: str | None = None
    run_id: str | None = None


class DeadLetterObject(BaseModel):
    """What could not be done, and why."""

    id: str
    origin: str = Field(description="`job`, or the subscription that could not handle the event.")
    what: str
    attempts: int
    error: str
    parked_at: datetime
    retryable: bool
