"""The manager's desk: where requests become jobs, from wherever they come."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace import Job
from headrace.errors import Conflict, JobNotFound, ValueRefused
from headrace_pipelines.subtitles import files
from headrace_pipelines.subtitles.lifecycle import DOWNLOAD_REQUESTED, MANAGER, TRANSLATE_REQUESTED, JobData, subtitles
from headrace_pipelines.subtitles.model import Order, Status, TranslationOrder, Wanted
from headrace_pipelines.subtitles.ports import Policy, Ports
from headrace_pipelines.subtitles.rules import formats, naming
from headrace_pipelines.subtitles.rules.encoding import EncodingUnknown
from headrace_pipelines.subtitles.rules.formats import LARGEST
from headrace_pipelines.subtitles.rules.identity import fingerprint, job_of_order, job_of_translation
from headrace_pipelines.subtitles.rules.paths import NoMediaAddress, path_of, url_of, url_of_name
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle
from headrace_pipelines.subtitles.rules.webhook import Added
from headrace_pipelines.subtitles.scanning import scan
from headrace_pipelines.subtitles.services.subtitle_provider.port import Standing
from headrace_pipelines.subtitles.store import Extent, Kept, Store

if TYPE_CHECKING:
    from headrace import Headrace

SubtitleJob = Job[JobData]
_PAGE = 500
_OPEN = (
    Status.TRANSLATE_IN_PROGRESS,
    Status.DOWNLOAD_IN_PROGRESS,
    Status.TRANSLATE_QUEUED,
    Status.DOWNLOAD_QUEUED,
    Status.PENDING,
)
_UPLOADS = "uploads"
_LONGEST_UPLOAD = 180
"""Bytes of a name; the language is still to be added."""
_AGAIN = {Status.FAILED, Status.CANCELLED, Status.SUBTITLE_MISSING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """``new``: this request has opened the job, or begun it again; otherwise it has joined what was there."""

    job: SubtitleJob
    new: bool


async def accept(app: Headrace, order: Order) -> Accepted:
    """One job for however many identical requests."""
    policy = app.use(Ports).policy
    try:
        path = local_path(order.video_url)
        known = None if path is None else await asyncio.to_thread(_fingerprint_of, path, policy)
    except (files.FileError, NoMediaAddress) as error:
        raise ValueRefused(str(error)) from error
    job_id = job_of_order(order, known)
    return await _accept(app, job_id, DOWNLOAD_REQUESTED, order)


async def accept_translation(app: Headrace, order: TranslationOrder) -> Accepted:
    """The same for a file that is there already."""
    policy = app.use(Ports).policy
    path, roots = Path(order.subtitle_file_path), (*policy.roots, policy.output)
    try:
        content = await asyncio.to_thread(files.read_whole, path, roots, largest=LARGEST)
    except files.FileError as error:
        raise ValueRefused(str(error)) from error
    return await _accept(app, job_of_translation(order, content), TRANSLATE_REQUESTED, order)


async def _accept(app: Headrace, job_id: str, topic: str, order: Order | TranslationOrder) -> Accepted:
    try:
        job = await app.job(subtitles, job_id)
    except JobNotFound:
        opened = await app.publish(topic, order, subject=job_id, id=f"{job_id}/1/requested", source=MANAGER)
        return Accepted(job=await app.job(subtitles, job_id), new=not opened.duplicate)
    if not _may_begin_again(job, app.now(), app.use(Ports).policy):
        return Accepted(job=job, new=False)
    return Accepted(new=await begin_again(app, job_id), job=await app.job(subtitles, job_id))


def _may_begin_again(job: SubtitleJob, now: datetime, policy: Policy) -> bool:
    return job.state in _AGAIN or (job.state == Status.DONE and now - job.updated_at >= policy.done_for)


async def begin_again(app: Headrace, job_id: str) -> bool:
    """Open the next attempt; False if somebody else was quicker."""
    try:
        begun = await app.retry_job(subtitles, job_id)
    except Conflict:
        return False
    return not begun.duplicate and begun.applied is True


def local_path(url: str) -> Path | None:
    """Where a ``file:`` URL points to; None for videos that lie elsewhere."""
    path = path_of(url)
    return None if path is None else Path(path)


def _fingerprint_of(path: Path, policy: Policy) -> str | None:
    video = files.read_video(path, policy.roots)
    return fingerprint(video.moviehash, video.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    jobs: tuple[SubtitleJob, ...]
    letters: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    jobs: tuple[SubtitleJob, ...]
    next: int | None
    """Where the next page begins; None if this is the last one."""


async def jobs(
    app: Headrace,
    *,
    state: Status | None = None,
    language: str | None = None,
    text: str = "",
    before: int | None = None,
    count: int,
) -> Page:
    """Jobs, the one that moved last first."""
    found: list[SubtitleJob] = []
    while True:
        page = await app.jobs(subtitles, state=state, search=text or None, before=before, count=_PAGE)
        found += [job for job in page if language is None or job.data.wanted_language == language]
        if len(found) >= count or len(page) < _PAGE:
            break
        before = page[-1].position
    is_last = len(found) <= count and len(page) < _PAGE
    return Page(jobs=tuple(found[:count]), next=None if is_last else found[count - 1].position)


async def under_way(app: Headrace, *, count: int) -> tuple[SubtitleJob, ...]:
    """Jobs that somebody works for or that wait, those that are furthest first."""
    found: list[SubtitleJob] = []
    for state in _OPEN:
        if len(found) < count:
            found += (await jobs(app, state=state, count=count - len(found))).jobs
    return tuple(found)


async def dead(app: Headrace) -> Dead:
    """What could not be done: jobs that failed for good, and events that no consumer could handle."""
    failed = (await jobs(app, state=Status.FAILED, count=_PAGE)).jobs
    letters = await app.dead_letters()
    return Dead(jobs=failed, letters=tuple(one for one in letters if one.subscription.startswith("subtitles.")))


async def reject(app: Headrace, job: SubtitleJob) -> None:
    """The subtitle is bad: never use it again, and take the next best."""
    kept = result_of(app, job)
    if kept is None or job.state != Status.DONE:
        raise Conflict(f"job {job.id} has no subtitle to reject; its status is {job.state}")
    await Store(app.tables).deny(kept.provider, kept.file_id, "rejected by a person", app.now())
    await app.retry_job(subtitles, job.id)


async def standings(app: Headrace) -> list[Standing]:
    """How things stand with each provider, as far as that is known without asking."""
    return [await provider.standing() for provider in app.use(Ports).providers.values()]


async def begin_scan(app: Headrace, requested_by: str) -> str:
    """The run that looks through the media folders."""
    if not app.use(Ports).policy.roots:
        raise Conflict("there is no media folder to scan; set HEADRACE_SUBTITLES_ROOTS")
    return (await app.start(scan, requested_by)).id


def address_of(app: Headrace, name: str, size: int) -> str:
    """The address of a video of which somebody's browser knows name and size: the one in the library, or the name alone."""
    same = [video for video in Store(app.tables).media_named(Path(name).name) if video.size == size]
    return url_of(same[0].path) if len(same) == 1 else url_of_name(name)


async def keep_upload(app: Headrace, name: str, content: bytes, language: str) -> Path:
    """A subtitle that somebody sent, in a folder of its own, if it is one."""
    output = app.use(Ports).policy.output
    given = Path(name)
    plain = naming.shorten(given.stem, _LONGEST_UPLOAD) + given.suffix
    if given.suffix.lower() not in naming.SUBTITLE_EXTENSIONS:
        raise ValueRefused(f"{name!r} is no subtitle file; there are {', '.join(sorted(naming.SUBTITLE_EXTENSIONS))}")
    path = output / _UPLOADS / sha256(content).hexdigest()[:16] / plain
    try:
        await asyncio.to_thread(formats.read, content, language=language, name=plain)
        await asyncio.to_thread(files.make_folder, path.parent)
        await asyncio.to_thread(files.place, path, content, roots=(output,))
    except (files.FileError, NotASubtitle, EncodingUnknown) as error:
        raise ValueRefused(f"{name}: {error}") from error
    return path


def result_of(app: Headrace, job: SubtitleJob) -> Kept | None:
    """What was written for a job in the end, and not on the way there; None for what was there before."""
    return next((item for item in Store(app.tables).files_of(job.id) if item.path == job.data.path), None)


def result_path(app: Headrace, job: SubtitleJob, wanted: str | None = None) -> str | None:
    """The file that came of a job; with ``wanted`` the one in this language with its flags, also of those on the way."""
    if wanted is None:
        return job.data.path
    kept = [item for item in Store(app.tables).files_of(job.id) if item.language == wanted]
    return kept[0].path if kept else job.data.path


async def is_there(path: str) -> bool:
    return await asyncio.to_thread(Path(path).is_file)


def progress(job: SubtitleJob, extent: Extent | None) -> int:
    """How far a job is, 0 to 100."""
    match Status(job.state):
        case Status.PENDING:
            return 0
        case Status.DOWNLOAD_QUEUED:
            return 5
        case Status.DOWNLOAD_IN_PROGRESS:
            return 20
        case Status.TRANSLATE_QUEUED:
            return 35
        case Status.DONE:
            return 100
        case _:  # in translation, or ended while it was: what is translated stays translated
            return _translated(extent, job)


def _translated(extent: Extent | None, job: SubtitleJob) -> int:
    if extent is None or not extent.chunks:
        return 35 if job.data.translation is not None else 10
    return 35 + round(60 * extent.done / extent.chunks)


def extent_of(app: Headrace, job: SubtitleJob) -> Extent | None:
    return None if job.data.translation is None else Store(app.tables).translation(job.id, job.generation)


async def welcome(app: Headrace, added: Added) -> list[Accepted]:
    """A media server says that a video is there: ask for what the library shall have of it."""
    ports = app.use(Ports)
    path = added.path
    if path is None and added.item_id is not None and ports.player is not None:
        path = (await ports.player.item(added.item_id)).path
    if path is None:
        raise ValueRefused(
            f"the webhook about {added.name!r} names no path, and there is no media server to ask; set HEADRACE_SUBTITLES_JELLYFIN_URL and _KEY"
        )
    present = await asyncio.to_thread(_beside, Path(path), ports.policy)
    found = []
    for wanted in ports.policy.wanted:
        if wanted in present:
            continue
        order = Order(
            video_url=url_of(path), video_title=added.name or Path(path).stem, language=wanted.language,
            hearing_impaired=wanted.hearing_impaired, forced=wanted.forced, translate=ports.policy.translate,
            fallback=tuple(one for one in ports.policy.fallback if one != wanted.language), requested_by="jellyfin",
        )  # fmt: skip
        found.append(await accept(app, order))
    return found


def _beside(path: Path, policy: Policy) -> set[Wanted]:
    try:
        names = files.names_in(path.parent, policy.roots)
    except files.FileError as error:
        raise ValueRefused(str(error)) from error
    return {item.wanted for item in naming.subtitles_beside(path.name, names) if item.wanted is not None}
