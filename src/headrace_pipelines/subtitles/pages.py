"""What people see of the subtitles: a place to ask for them, how each request fares, and what the library lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from fastapi import Query
from starlette.responses import Response

from headrace.errors import Conflict, ValueRefused
from headrace.pages import Form, Page, Pages
from headrace_pipelines.subtitles import cards, coverage, desk
from headrace_pipelines.subtitles.lifecycle import subtitles
from headrace_pipelines.subtitles.model import Order, Status, TranslationOrder, Wanted
from headrace_pipelines.subtitles.ports import Policy, Ports
from headrace_pipelines.subtitles.preview import preview
from headrace_pipelines.subtitles.rules.coverage import Cover
from headrace_pipelines.subtitles.rules.formats import LARGEST
from headrace_pipelines.subtitles.rules.languages import UnknownLanguage, english_name, parse_language, parse_wanted
from headrace_pipelines.subtitles.rules.naming import SUBTITLE_EXTENSIONS, VIDEO_EXTENSIONS
from headrace_pipelines.subtitles.rules.paths import path_of
from headrace_pipelines.subtitles.rules.preview import having, timecode
from headrace_pipelines.subtitles.rules.releases import parse_release
from headrace_pipelines.subtitles.store import Store

pages = Pages(__name__, title="Subtitles")

_JOBS, _MOVING, _CUES, _TASTE = 20, 10, 100, 8
_ROOM_FOR_FIELDS = 64 * 1024
Number = Annotated[int, Query(ge=1, le=1_000_000)]


# --- asking ------------------------------------------------------------------------------------------------------------


@pages.get("/", title="Requests")
async def overview(
    page: Page,
    status: str = "",
    text: str = "",
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    url: str = "",
    title: str = "",
    language: str = "",
) -> Response:
    """``url``, ``title`` and ``language`` fill in the form, for links that lead here."""
    ports, app = page.use(Ports), page.app
    state = Status(status) if status in set(Status) else None
    found = await desk.jobs(app, state=state, text=text.strip(), before=before, count=_JOBS)
    moving = await desk.under_way(app, count=_MOVING) if not (state or text.strip() or before) else ()
    apart = {job.id for job in moving}
    first = [wanted.language for wanted in ports.policy.wanted]
    return await page.show(
        "overview.html",
        live=before is None,
        ports=ports,
        moving=[_card(page, job) for job in moving],
        cards=[_card(page, job) for job in found.jobs if job.id not in apart],
        next=found.next,
        before=before,
        counts=_in_order(await app.job_counts(subtitles)),
        chosen=state,
        text=text,
        providers=[cards.provider(one) for one in await desk.standings(app)],
        languages=cards.suggestions([*first, *ports.policy.fallback]),
        given={"url": url, "title": title, "language": language or next(iter(first), "")},
        subtitle_types=",".join(sorted(SUBTITLE_EXTENSIONS)),
        video_types=" ".join(sorted(VIDEO_EXTENSIONS)),
    )


def _card(page: Page, job: desk.SubtitleJob) -> cards.Card:
    extent = desk.extent_of(page.app, job)
    return cards.card(job, desk.progress(job, extent), extent, now=page.app.now())


def _in_order(counts: Mapping[str, int]) -> list[tuple[Status, str, int]]:
    return [(status, cards.word(status), counts[status]) for status in Status if counts.get(status)]


@pages.post("/request")
async def request(page: Page) -> Response:
    """A subtitle for a video."""
    async with page.form() as form:
        order = _order(form, page.use(Ports).policy)
    accepted = await desk.accept(page.app, order)
    return page.to(f"/jobs/{accepted.job.id}", joined="" if accepted.new else "1")


def _order(form: Form, policy: Policy) -> Order:
    url = form.get("url", "").strip()
    if not url:
        raise ValueRefused("say which video it is: give its address, or drop its file into the form")
    if url.startswith("/"):
        url = f"file://{url}"
    language = _language(form, "language")
    return Order(
        video_url=url, video_title=form.get("title", "").strip() or _title(url), language=language,
        hearing_impaired="hearing_impaired" in form, forced="forced" in form, translate="translate" in form,
        fallback=tuple(one for one in policy.fallback if one != language), requested_by="page",
    )  # fmt: skip


def _title(url: str) -> str:
    name = url.rpartition("/")[2].removeprefix("name:")
    return parse_release(name).title or name


def _language(form: Form, field: str) -> str:
    """By its code, or by the name that stands beside the code in the suggestions."""
    text = form.get(field, "").strip()
    if not text:
        raise ValueRefused("say which language; codes such as he, pt-BR and zh-Hant are understood, and English names")
    try:
        return parse_language(text)
    except UnknownLanguage as error:
        if error.nearest and english_name(error.nearest).casefold() == text.casefold():
            return error.nearest
        raise ValueRefused(str(error)) from None


@pages.post("/translate", most=LARGEST + _ROOM_FOR_FIELDS)
async def translate(page: Page) -> Response:
    """A translation of a file that somebody sends."""
    async with page.form() as form:
        source, target = _language(form, "source"), _language(form, "target")
        if source == target:
            raise ValueRefused(
                f"the file is in {english_name(source)} already; choose another language to translate to"
            )
        chosen = form.uploads("file")
        if len(chosen) != 1:
            raise ValueRefused("choose or drop one subtitle file, such as an .srt")
        path = await desk.keep_upload(page.app, chosen[0].name, await chosen[0].read(), source)
        title = form.get("title", "").strip() or parse_release(path.name).title
    order = TranslationOrder(
        subtitle_file_path=str(path),
        source_language=source,
        target_language=target,
        video_title=title,
        reason="requested",
    )
    accepted = await desk.accept_translation(page.app, order)
    return page.to(f"/jobs/{accepted.job.id}", joined="" if accepted.new else "1")


@pages.get("/find")
async def find(page: Page, name: str, size: Annotated[int, Query(ge=0)] = 0) -> dict[str, object]:
    """Which video it is that somebody dropped: of its content nothing is sent."""
    url = desk.address_of(page.app, name[:1_000], size)
    path = path_of(url)
    return {"url": url, "in_library": path is not None, "title": _title(url)}


# --- one job -----------------------------------------------------------------------------------------------------------


@pages.get("/jobs/{id}")
async def show_job(page: Page, id: UUID, joined: str = "") -> Response:
    app, job = page.app, await _job(page, id)
    store = Store(app.tables)
    extent = desk.extent_of(app, job)
    taken = {(item.provider, item.file_id) for item in store.files_of(job.id)}
    result = desk.result_of(app, job)
    seen = await preview(app, job) if job.terminal else None
    return await page.show(
        "subtitle.html",
        live="job.#" if job.terminal else True,
        job=job,
        card=_card(page, job),
        extent=extent,
        moments=cards.moments(await app.job_history(subtitles, job.id)),
        tables=cards.offer_tables(store.offers_of(job.id), taken, store.denied()),
        preview=seen,
        taste=seen.lines[:_TASTE] if seen else (),
        address=cards.address(job),
        # Of a translation there is no next: the same words would be taken from what was paid for.
        can_reject=job.state == Status.DONE and result is not None and result.source is None,
        language=cards.language,
        timecode=timecode,
        joined=bool(joined),
    )


@pages.get("/jobs/{id}/preview")
async def show_preview(page: Page, id: UUID, text: str = "", flagged: bool = False, at: Number = 1) -> Response:
    """All cues, a page at a time; ``at`` is the page."""
    job = await _job(page, id)
    seen = await preview(page.app, job)
    if seen is None:
        raise Conflict(f"job {job.id} has no subtitle yet; its status is {job.state}")
    found = having(seen.lines, text, flagged=flagged)
    last = max(1, -(-len(found) // _CUES))
    at = min(at, last)
    return await page.show(
        "preview.html",
        job=job,
        card=_card(page, job),
        preview=seen,
        found=len(found),
        lines=found[(at - 1) * _CUES : at * _CUES],
        at=at,
        last=last,
        text=text,
        flagged=flagged,
        language=cards.language,
        timecode=timecode,
    )


@pages.get("/jobs/{id}/file")
async def download(page: Page, id: UUID) -> Response:
    job = await _job(page, id)
    path = desk.result_path(page.app, job)
    if path is None or not await desk.is_there(path):
        raise Conflict(f"job {job.id} has no subtitle to download; its status is {job.state}")
    return page.file(path, media_type="application/x-subrip; charset=utf-8", download=True)


@pages.post("/jobs/{id}/retry")
async def retry(page: Page, id: UUID) -> Response:
    job = await _job(page, id)
    await page.app.retry_job(subtitles, job.id)
    return page.to(f"/jobs/{job.id}")


@pages.post("/jobs/{id}/cancel")
async def cancel(page: Page, id: UUID) -> Response:
    job = await _job(page, id)
    await page.app.cancel_job(subtitles, job.id)
    return page.to(f"/jobs/{job.id}")


@pages.post("/jobs/{id}/reject")
async def reject(page: Page, id: UUID) -> Response:
    job = await _job(page, id)
    await desk.reject(page.app, job)
    return page.to(f"/jobs/{job.id}")


async def _job(page: Page, id: UUID) -> desk.SubtitleJob:
    return await page.app.job(subtitles, str(id))


# --- the library -------------------------------------------------------------------------------------------------------


@pages.get("/library", title="Library")
async def show_library(page: Page, text: str = "", language: str = "", cover: str = "", at: Number = 1) -> Response:
    ports = page.use(Ports)
    wanted = _wish(language)
    state = Cover(cover) if cover in set(Cover) else None
    found = await coverage.library(page.app, text=text.strip(), wanted=wanted, cover=state, page=at)
    return await page.show(
        "library.html",
        live="subtitle.#",
        ports=ports,
        library=found,
        last=await coverage.last_scan(page.app),
        covers=list(Cover),
        wanted=wanted,
        cover=state,
        text=text,
        name=cards.wanted_name,
        card_words=_COVERS,
    )


_COVERS = {
    Cover.PRESENT: "there",
    Cover.MACHINE: "made by a machine",
    Cover.WORKING: "being worked on",
    Cover.MISSING: "missing",
}


def _wish(text: str) -> Wanted | None:
    try:
        return parse_wanted(text) if text else None
    except ValueError as error:
        raise ValueRefused(str(error)) from None


@pages.post("/library/scan")
async def scan_now(page: Page) -> Response:
    await desk.begin_scan(page.app, "page")
    return page.to("/library")


# --- what is dead ------------------------------------------------------------------------------------------------------


@pages.get("/dead", title="Dead letters")
async def show_dead(page: Page, did: Annotated[int, Query(ge=0)] = 0) -> Response:
    dead = await desk.dead(page.app)
    return await page.show(
        "dead.html", live=True, causes=cards.causes(dead.jobs), letters=dead.letters, did=did, title=cards.title
    )


@pages.post("/dead/retry")
async def retry_all(page: Page) -> Response:
    """All jobs that failed of the same, or one of them."""
    async with page.form() as form:
        kind, one = form.get("kind", ""), form.get("job", "")
    dead = await desk.dead(page.app)
    again = [job for job in dead.jobs if (job.id == one if one else (job.data.error_type or "unknown") == kind)]
    begun = [await desk.begin_again(page.app, job.id) for job in again]
    return page.to("/dead", did=sum(begun))


@pages.post("/dead/letters/{letter}/redrive")
async def redrive(page: Page, letter: int) -> Response:
    await page.app.redrive(letter)
    return page.to("/dead", did=1)
