"""The story of a subtitle: asked for, found or translated, written beside its video."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from headrace import flow, now, publish, sleep_until, start, wait_event
from headrace.errors import ServiceError
from headrace_pipelines.subtitles.lifecycle import (
    DOWNLOAD_PARKED,
    DOWNLOAD_REQUESTED,
    DOWNLOAD_STARTED,
    DOWNLOADER,
    JOB_FAILED,
    JOB_RETRIED,
    MANAGER,
    MISSING,
    QUOTA_USED_UP,
    READY,
    TRANSLATE_PARKED,
    TRANSLATE_REQUESTED,
    TRANSLATE_STARTED,
    TRANSLATED,
    TRANSLATION_COMPLETED,
    TRANSLATOR,
    DownloadStarted,
    JobData,
    Missing,
    Parked,
    QuotaUsedUp,
    Ready,
    Translated,
    TranslateStarted,
    failed,
    subtitles,
)
from headrace_pipelines.subtitles.model import Media, Order, Scored, TranslationOrder, Wanted
from headrace_pipelines.subtitles.steps import (
    Looked,
    Taken,
    Waiting,
    download_url,
    look_at,
    open_translation,
    place,
    place_translation,
    search,
    take,
    tell_player,
    translate_chunk,
)

SOON, LATER = timedelta(hours=6), timedelta(days=7)
"""How long to wait before another search: in the first weeks, and after them."""
FIRST_WEEKS, AT_LAST = timedelta(weeks=3), timedelta(weeks=52)


@flow(id="manage-{job}-{attempt}")
async def manage(job: str, attempt: int, known: JobData) -> None:
    """A job that was asked for by the scanner, or begun again, goes to whoever does the work."""
    if known.order is not None:
        await publish(DOWNLOAD_REQUESTED, known.order, source=MANAGER)
    elif known.translation is not None:
        await publish(TRANSLATE_REQUESTED, known.translation, source=MANAGER)


@flow(id="download-{job}-{attempt}")
async def download(job: str, attempt: int, order: Order) -> None:
    """Find a subtitle in the wanted language, or one to translate; or say that there is none."""
    async with _telling_of_failure(DOWNLOADER):
        await publish(DOWNLOAD_STARTED, DownloadStarted(language=str(order.wanted)), source=DOWNLOADER)
        looked = await look_at(order)
        if (present := looked.path_of(order.wanted)) is not None:
            await _say_present(job, order, present)
        elif (found := await _first_good(job, attempt, looked.media, order, order.wanted)) is not None:
            await _finish(job, looked.media, order, found)
        elif not order.translate or not await _hand_to_translator(job, attempt, looked, order):
            await _give_up(job, attempt, order)


async def _say_present(job: str, order: Order, path: str) -> None:
    url = await download_url(job, order.wanted)
    await publish(
        READY, Ready(subtitle_path=path, download_url=url, language=order.language, source="library"), source=DOWNLOADER
    )


async def _finish(job: str, media: Media, order: Order, found: Taken) -> None:
    placed = await place(job, media, found, order.wanted)
    ready = Ready(
        subtitle_path=placed.path, download_url=placed.download_url, language=order.language, source=found.provider,
        file_id=found.file_id, score=found.score, machine_translated=found.machine_translated, warnings=found.warnings,
    )  # fmt: skip
    await publish(READY, ready, source=DOWNLOADER)
    await _tell_player(placed.path)


async def _tell_player(path: str) -> None:
    with suppress(ServiceError):  # the subtitle is there; the history shows why the player does not know
        await tell_player(path)


async def _hand_to_translator(job: str, attempt: int, looked: Looked, order: Order) -> bool:
    for language in order.fallback:
        path = await _to_translate(job, attempt, looked, order, Wanted(language=language))
        if path is not None:
            await publish(TRANSLATE_REQUESTED, _translation_of(order, path, language), source=DOWNLOADER)
            return True
    return False


async def _to_translate(job: str, attempt: int, looked: Looked, order: Order, wanted: Wanted) -> str | None:
    """A file in a language to translate from: one that lies there, or else one that is found."""
    if (present := looked.path_of(wanted)) is not None:
        return present
    found = await _first_good(job, attempt, looked.media, order, wanted)
    return None if found is None else (await place(job, looked.media, found, wanted)).path


def _translation_of(order: Order, path: str, language: str) -> TranslationOrder:
    return TranslationOrder(
        subtitle_file_path=path, source_language=language, target_language=order.language,
        video_title=order.video_title, video_url=order.video_url, reason=f"no subtitle in {order.wanted} was found",
        hearing_impaired=order.hearing_impaired, forced=order.forced,
    )  # fmt: skip


async def _give_up(job: str, attempt: int, order: Order) -> None:
    any_language = "subtitle_not_found_any_language"
    missing = Missing(
        language=order.language, reason=any_language if order.translate else "subtitle_not_found_no_translation",
        video_url=order.video_url, video_title=order.video_title, next_search_at=now() + SOON,
    )  # fmt: skip
    await publish(MISSING, missing, source=DOWNLOADER)
    await start(look_again, job, attempt, order)


async def _first_good(job: str, attempt: int, media: Media, order: Order, wanted: Wanted) -> Taken | None:
    """The best subtitle in a language that turns out to be one."""
    for offer in await search(job, attempt, media, wanted, order.preferred_sources):
        taken = await _taken(media, offer, wanted)
        if not taken.problem:
            return taken
    return None


async def _taken(media: Media, offer: Scored, wanted: Wanted) -> Taken:
    while isinstance(answer := await take(media, offer, wanted), Waiting):
        await _park(DOWNLOAD_PARKED, answer, DOWNLOADER)
    return answer


async def _park(topic: str, waiting: Waiting, role: str) -> None:
    """Nothing goes on before the service wants to hear of us again: until then this is a row."""
    parked = Parked(service=waiting.service, reason=waiting.reason, retry_at=waiting.until)
    await publish(topic, parked, source=role)
    # Named by what it says: a hundred jobs that meet the same wall tell of it once.
    used_up = QuotaUsedUp(provider=waiting.service, resets_at=waiting.until)
    event_id = f"{waiting.service}/{waiting.until.isoformat()}"
    await publish(QUOTA_USED_UP, used_up, subject=waiting.service, id=event_id, source=role)
    await sleep_until(waiting.until)


@flow(id="translate-{job}-{attempt}")
async def translate(job: str, attempt: int, known: JobData) -> None:
    """Translate a file part by part; what is accepted is kept, whatever happens to the rest."""
    order = known.translation
    assert order is not None
    async with _telling_of_failure(TRANSLATOR):
        plan = await open_translation(job, attempt, order)
        started = TranslateStarted(model=plan.model, cues=plan.cues, chunks=plan.chunks)
        await publish(TRANSLATE_STARTED, started, source=TRANSLATOR)
        room = asyncio.Semaphore(plan.at_once)

        async def part(number: int) -> None:
            async with room:
                while (waiting := await translate_chunk(job, attempt, order, plan.digest, number)) is not None:
                    await _park(TRANSLATE_PARKED, waiting, TRANSLATOR)

        # All are let end before the first failure counts: each accepted part is one that the next attempt need not pay.
        ended = await asyncio.gather(*(part(number) for number in range(plan.chunks)), return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                raise error
        done = await place_translation(job, attempt, order, plan.digest)
        translated = Translated(
            translated_path=done.placed.path, download_url=done.placed.download_url, source_language=order.source_language,
            target_language=order.target_language, model=plan.model, cues=plan.cues, flagged=done.flagged,
        )  # fmt: skip
        await publish(TRANSLATED, translated, source=TRANSLATOR)
    await publish(TRANSLATION_COMPLETED, done.completed, subject=done.placed.path, source=TRANSLATOR)
    await _tell_player(done.placed.path)
    if known.order is not None:
        await start(look_again, job, attempt, known.order)


@flow(id="look-again-{job}-{attempt}")
async def look_again(job: str, attempt: int, order: Order) -> str:
    """A subtitle that was missing, or that a machine made, may be there one day: look every few hours, then every week."""
    began = now()
    while now() - began < AT_LAST:
        try:
            pause = SOON if now() - began < FIRST_WEEKS else LATER
            await wait_event(JOB_RETRIED, subject=subtitles.job(job), timeout=pause)
        except TimeoutError:
            looked = await look_at(order)
            found = await search(job, attempt, looked.media, order.wanted, order.preferred_sources, fresh=True)
            if any(not offer.candidate.machine_translated for offer in found):
                await publish(JOB_RETRIED, subject=subtitles.job(job), source=MANAGER)
                return "found"
        else:
            return "begun again meanwhile"
    return "never found"


@asynccontextmanager
async def _telling_of_failure(role: str) -> AsyncIterator[None]:
    """What fails is said by the role that failed; the end of the run then has nothing to add."""
    try:
        yield
    except Exception as error:
        await publish(JOB_FAILED, failed(error), source=role)
        raise
