"""The HTTP interface of the manager."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.routing import APIRoute

from headrace import Event
from headrace.errors import JobNotFound, NotFound, ValueRefused
from headrace.web import App
from headrace_pipelines.subtitles import desk
from headrace_pipelines.subtitles.lifecycle import subtitles
from headrace_pipelines.subtitles.model import Order, Scored, Status, TranslationOrder
from headrace_pipelines.subtitles.ports import Ports
from headrace_pipelines.subtitles.rules.arr import parse_arr
from headrace_pipelines.subtitles.rules.jellyfin import parse_jellyfin
from headrace_pipelines.subtitles.rules.languages import parse_language, parse_wanted
from headrace_pipelines.subtitles.rules.webhook import Added, Ignored, Notice, PayloadRefused, TriedOut
from headrace_pipelines.subtitles.scanning import scan
from headrace_pipelines.subtitles.schemas import (
    AcceptedObject,
    ActiveWorkers,
    DeadLetterObject,
    DownloadRequest,
    EventObject,
    EventsObject,
    HealthObject,
    JobObject,
    OfferObject,
    OffersObject,
    ProviderObject,
    QueueObject,
    StatusObject,
    TranslateRequest,
    parse_status,
)
from headrace_pipelines.subtitles.store import Store


class SubtitleJobNotFound(NotFound):
    """There is no such job."""

    def __str__(self) -> str:
        return "Subtitle job not found"


class WithDetail(APIRoute):
    """Says what is not there as the original did, too: in ``detail``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except SubtitleJobNotFound as error:
                told = {"code": "job_not_found", "message": str(error), "hint": "GET /subtitles lists the jobs"}
                return JSONResponse({"detail": str(error), "error": told}, 404)

        return handle


router = APIRouter(route_class=WithDetail)
Count = Annotated[int, Query(ge=1, le=500)]


@router.post("/subtitles/download", status_code=201, responses={200: {"model": JobObject}})
async def request_download(app: App, body: DownloadRequest, response: Response) -> JobObject:
    """Ask for a subtitle: 201 with a new job, or 200 with the one that does this already."""
    accepted = await desk.accept(app, _order(body, app.use(Ports)))
    response.status_code = 201 if accepted.new else 200
    return _job_object(app, accepted.job)


def _order(body: DownloadRequest, ports: Ports) -> Order:
    policy = ports.policy
    fallback = policy.fallback if body.fallback_languages is None else tuple(body.fallback_languages)
    wanted, target = body.language, body.target_language
    if target is not None and target != wanted:
        fallback = (wanted, *(language for language in fallback if language != wanted))
        wanted = target
    return Order(
        video_url=body.video_url, video_title=body.video_title, language=wanted, target_language=target,
        hearing_impaired=body.hearing_impaired, forced=body.forced, preferred_sources=tuple(body.preferred_sources),
        fallback=tuple(language for language in fallback if language != wanted),
        translate=policy.translate if body.translate is None else body.translate, imdb_id=body.imdb_id,
    )  # fmt: skip


@router.post("/subtitles/translate")
async def request_translation(app: App, body: TranslateRequest) -> JobObject:
    """Ask for the translation of a file."""
    order = TranslationOrder(
        subtitle_file_path=body.subtitle_path, source_language=body.source_language, target_language=body.target_language,
        video_title=body.video_title or "", reason="requested",
    )  # fmt: skip
    accepted = await desk.accept_translation(app, order)
    return _job_object(app, accepted.job)


@router.get("/subtitles")
async def list_subtitles(
    app: App,
    response: Response,
    status: Annotated[str | None, Query(description="Also `downloading`, `translating`, `completed`.")] = None,
    language: str | None = None,
    cursor: Annotated[int | None, Query(ge=0, le=2**62, description="`X-Next-Cursor` of the page before.")] = None,
    limit: Count = 50,
) -> list[JobObject]:
    """Jobs, the one that moved last first."""
    wanted = None if status is None else _refusing(parse_status, status)
    tag = None if language is None else _refusing(parse_language, language)
    page = await desk.jobs(app, state=wanted, language=tag, before=cursor, count=limit)
    if page.next is not None:
        response.headers["X-Next-Cursor"] = str(page.next)
    return [_job_object(app, job) for job in page.jobs]


def _refusing(parse: Any, text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise ValueRefused(str(error)) from None


@router.get("/subtitles/status/{job_id}")
async def show_status(app: App, job_id: UUID) -> StatusObject:
    """How far a job is."""
    job = await _job(app, job_id)
    waits = f", waits until {job.data.retry_at:%Y-%m-%d %H:%M:%S} UTC: {job.data.reason}" if _waits(job) else ""
    return StatusObject(
        id=job.id, status=Status(job.state), progress=desk.progress(job, desk.extent_of(app, job)),
        message=f"Status: {job.state}{waits}",
    )  # fmt: skip


def _waits(job: desk.SubtitleJob) -> bool:
    return not job.terminal and job.data.retry_at is not None


@router.get("/subtitles/{job_id}")
async def show_job(app: App, job_id: UUID) -> JobObject:
    """All about a job."""
    return _job_object(app, await _job(app, job_id))


@router.get("/subtitles/{job_id}/events")
async def show_events(
    app: App,
    job_id: UUID,
    limit: Count = 50,
    before_seq: Annotated[int | None, Query(ge=1, le=2**62, description="Only what came before it.")] = None,
    order: Annotated[str, Query(pattern="^(asc|desc)$")] = "desc",
) -> EventsObject:
    """What happened to a job, the newest first."""
    job = await _job(app, job_id)
    history = await app.job_history(subtitles, job.id)
    chosen = [event for event in history if before_seq is None or event.sequence < before_seq]
    chosen = chosen[-limit:][::-1] if order == "desc" else chosen[:limit]
    return EventsObject(
        job_id=job.id,
        event_count=len(history),
        events=[_event_object(event) for event in chosen],
        message=None if history else "nothing has happened to this job yet",
    )


@router.get("/subtitles/{job_id}/file", response_class=FileResponse)
async def show_file(app: App, job_id: UUID, language: str | None = None) -> Response:
    """The subtitle itself."""
    job = await _job(app, job_id)
    wanted = None if language is None else str(_refusing(parse_wanted, language))
    path = desk.result_path(app, job, wanted)
    if path is None or not await desk.is_there(path):
        raise NotFound(
            f"job {job.id} has no subtitle{f' in {wanted}' if wanted else ''} yet; its status is {job.state}"
        )
    return FileResponse(path, media_type="application/x-subrip; charset=utf-8", filename=path.rpartition("/")[2])


@router.get("/subtitles/{job_id}/offers")
async def show_offers(app: App, job_id: UUID) -> list[OffersObject]:
    """Why this subtitle: all that was found, with scores, matches and what spoke against it."""
    job = await _job(app, job_id)
    chosen = {(item.provider, item.file_id) for item in Store(app.tables).files_of(job.id)}
    return [
        OffersObject(
            attempt=found.attempt,
            language=found.language,
            offers=[_offer_object(item, chosen) for item in found.offers],
        )
        for found in Store(app.tables).offers_of(job.id)
    ]


@router.post("/subtitles/{job_id}/retry")
async def retry_subtitle(app: App, job_id: UUID) -> JobObject:
    """Begin a job again that has ended."""
    job = await _job(app, job_id)
    await app.retry_job(subtitles, job.id)
    return _job_object(app, await _job(app, job_id))


@router.post("/subtitles/{job_id}/cancel")
async def cancel_subtitle(app: App, job_id: UUID) -> JobObject:
    """Cancel a job, and whatever works for it."""
    job = await _job(app, job_id)
    await app.cancel_job(subtitles, job.id)
    return _job_object(app, await _job(app, job_id))


@router.post("/subtitles/{job_id}/reject")
async def reject_subtitle(app: App, job_id: UUID) -> JobObject:
    """The subtitle is bad: never use it again, and take the next best."""
    await desk.reject(app, await _job(app, job_id))
    return _job_object(app, await _job(app, job_id))


@router.get("/queue/status")
async def show_queue(app: App) -> QueueObject:
    """What waits, and who works."""
    counts = await app.job_counts(subtitles)
    return QueueObject(
        download_queue_size=counts.get(Status.DOWNLOAD_QUEUED, 0),
        translation_queue_size=counts.get(Status.TRANSLATE_QUEUED, 0),
        active_workers=ActiveWorkers(
            downloader=counts.get(Status.DOWNLOAD_IN_PROGRESS, 0),
            translator=counts.get(Status.TRANSLATE_IN_PROGRESS, 0),
        ),
    )


@router.get("/providers")
async def show_providers(app: App) -> list[ProviderObject]:
    """How things stand with each provider: quotas, and until when it wants to be left alone."""
    return [ProviderObject.model_validate(item, from_attributes=True) for item in await desk.standings(app)]


@router.post("/scan", status_code=202)
async def request_scan(app: App) -> AcceptedObject:
    """Look through the media folders, and ask for what is missing."""
    run = await desk.begin_scan(app, "api")
    return AcceptedObject(status="accepted", message="Manual scan initiated", run_id=run)


@router.post("/webhooks/jellyfin")
async def receive_jellyfin(app: App, payload: dict[str, Any]) -> AcceptedObject:
    """A webhook of Jellyfin: what its plugin sends, or the shape of the original."""
    try:
        notice = parse_jellyfin(payload)
    except PayloadRefused as error:
        raise ValueRefused(str(error)) from None
    return await _act_on(app, notice)


@router.post("/webhooks/arr")
async def receive_arr(app: App, payload: dict[str, Any]) -> list[AcceptedObject]:
    """A webhook of Radarr or Sonarr."""
    try:
        notices = parse_arr(payload)
    except PayloadRefused as error:
        raise ValueRefused(str(error)) from None
    return [await _act_on(app, notice) for notice in notices]


async def _act_on(app: App, notice: Notice) -> AcceptedObject:
    match notice:
        case Added() as added:
            accepted = await desk.welcome(app, added)
            if not accepted:
                return AcceptedObject(status="ignored", message="all subtitles that are wanted lie beside it")
            new = any(item.new for item in accepted)
            message = "Subtitle processing initiated" if new else "this is being done, or was done a moment ago"
            return AcceptedObject(status="received" if new else "duplicate", message=message, job_id=accepted[0].job.id)
        case TriedOut():
            return AcceptedObject(status="ignored", message="it works")
        case Ignored(reason=reason):
            return AcceptedObject(status="ignored", message=reason)
    run = await app.start(scan, "webhook")  # a rename or a removal: the scan sees what it means
    return AcceptedObject(status="received", message="the library is looked through", run_id=run.id)


@router.get("/health", responses={503: {"model": HealthObject}})
@router.get("/health/consumer", include_in_schema=False)
@router.get("/health/orchestrator", include_in_schema=False)
@router.get("/health/startup", include_in_schema=False)
async def show_health(app: App) -> JSONResponse:
    """Whether jobs go on, and what would hold them up."""
    ports = app.use(Ports)
    checks = {"engine": app.failure or "ok"}
    for provider in ports.providers.values():
        standing = await provider.standing()
        checks[f"provider {standing.provider}"] = "ok" if standing.available else standing.reason
    for text in ports.missing:
        checks[text.partition(":")[0]] = f"not set;{text.partition(':')[2]}"
    healthy = app.failure is None
    body = HealthObject(status="healthy" if healthy else "unhealthy", checks=checks)
    return JSONResponse(body.model_dump(), 200 if healthy else 503)


@router.get("/health/simple", include_in_schema=False)
async def show_simple_health() -> dict[str, str]:
    """That the process answers."""
    return {"status": "ok"}


@router.get("/dead-letters")
async def show_dead_letters(app: App) -> list[DeadLetterObject]:
    """Jobs that failed for good, and events that a consumer could not handle, with the cause."""
    found = await desk.dead(app)
    of_jobs = [
        DeadLetterObject(
            id=job.id, origin="job", what=job.data.title, attempts=job.generation, error=job.data.error_message or "",
            parked_at=job.updated_at, retryable=job.data.retryable,
        )
        for job in found.jobs
    ]  # fmt: skip
    return of_jobs + [_letter_object(letter) for letter in found.letters]


@router.post("/dead-letters/{id}/replay")
async def replay_dead_letter(app: App, id: str) -> AcceptedObject:
    """Try again: a job in a new attempt, an event once more."""
    if id.isdecimal():
        await app.redrive(int(id))
        return AcceptedObject(status="accepted", message="the event is handled once more")
    job = await _job(app, _uuid(id))
    await app.retry_job(subtitles, job.id)
    return AcceptedObject(status="accepted", message=f"attempt {job.generation + 1} has begun", job_id=job.id)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise SubtitleJobNotFound from None


async def _job(app: App, job_id: UUID) -> desk.SubtitleJob:
    try:
        return await app.job(subtitles, str(job_id))
    except JobNotFound:
        raise SubtitleJobNotFound from None


def _job_object(app: App, job: desk.SubtitleJob) -> JobObject:
    data, order, translation = job.data, job.data.order, job.data.translation
    return JobObject(
        id=job.id,
        video_url=order.video_url if order else translation.video_url if translation else "",
        video_title=data.title,
        language=order.language if order else translation.source_language if translation else "",
        target_language=order.target_language if order else translation.target_language if translation else None,
        status=Status(job.state),
        created_at=job.created_at,
        updated_at=job.updated_at,
        error_message=data.error_message,
        download_url=data.download_url,
        attempt=job.generation,
        progress=desk.progress(job, desk.extent_of(app, job)),
        error_type=data.error_type,
        retryable=data.retryable,
        retry_at=data.retry_at,
        reason=data.reason,
        source=data.source,
        machine_translated=data.machine_translated,
        warnings=list(data.warnings),
        subtitle_path=data.path,
    )


def _event_object(event: Event[Any]) -> EventObject:
    return EventObject(
        event_type=event.topic, timestamp=event.time, source=event.source, payload=event.data, seq=event.sequence,
        attempt=event.generation, applied=bool(event.applied), reason=event.reason, event_id=event.id, schema_version=event.version,
    )  # fmt: skip


def _offer_object(offer: Scored, chosen: set[tuple[str, str]]) -> OfferObject:
    candidate = offer.candidate
    return OfferObject(
        provider=candidate.provider, file_id=candidate.file_id, language=candidate.language, release=candidate.release_name,
        score=offer.score, matches=list(offer.matches), rejected=offer.rejected, machine_translated=candidate.machine_translated,
        chosen=(candidate.provider, candidate.file_id) in chosen,
    )  # fmt: skip


def _letter_object(letter: Any) -> DeadLetterObject:
    return DeadLetterObject(
        id=str(letter.id), origin=letter.subscription, what=f"{letter.event.topic} about {letter.event.subject}",
        attempts=letter.attempts, error=letter.error.message, parked_at=letter.at, retryable=True,
    )  # fmt: skip
