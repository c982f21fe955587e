"""Jobs: how many are in which state, one job with its lifecycle and its story, and what can be done about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Path, Query
from markupsafe import Markup
from starlette.responses import Response

from headrace._app.event_questions import job_detail
from headrace._app.event_story import SubjectStory, subject_story
from headrace._app.event_view import JobDetail
from headrace._app.job_listing import REACH, JobFilter, list_of_jobs
from headrace._jobs.diagram import as_svg
from headrace._jobs.lifecycle import Lifecycle
from headrace._ports.database import Reader
from headrace._web.pages.frame import Frame, InFrame, page_router
from headrace._web.pages.links import job_link
from headrace.errors import NotFound

router = page_router()

_ROWS = 50
_EVENTS = 25
Name = Annotated[str, Path()]


@router.get("/jobs")
async def jobs(
    frame: InFrame,
    lifecycle: str = "",
    state: str = "",
    text: str = "",
    before: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    wanted = JobFilter(lifecycle=lifecycle, state=state, text=text.strip())
    declared = frame.app.registry.catalogue.lifecycles.by_name
    return await frame.show(
        "jobs.html",
        lambda reader: {
            "list": list_of_jobs(reader, wanted, declared=tuple(declared), before=before, count=_ROWS),
            "names": tuple(declared),
        },
        live=before is None,
        wanted=wanted,
        tone=lambda name, state, terminal=None: tone_of(declared.get(name), state, terminal=terminal),
        states_of=lambda name: declared[name].states if name in declared else (),
        before=before,
        reach=REACH,
    )


@router.get("/jobs/of")
async def job_named(frame: InFrame, lifecycle: str, id: str) -> Response:
    """A job whose id cannot stand in a path."""
    return await _job(frame, lifecycle, id)


@router.get("/jobs/{lifecycle}/{id}")
async def job(frame: InFrame, lifecycle: Name, id: Name) -> Response:
    return await _job(frame, unquote(lifecycle), unquote(id))


@router.post("/jobs/{lifecycle}/{id}/retry")
async def retry(frame: InFrame, lifecycle: Name, id: Name) -> Response:
    await frame.app.retry_job(unquote(lifecycle), unquote(id))
    return frame.to(job_link(unquote(lifecycle), unquote(id)))


@router.post("/jobs/{lifecycle}/{id}/cancel")
async def cancel(frame: InFrame, lifecycle: Name, id: Name) -> Response:
    await frame.app.cancel_job(unquote(lifecycle), unquote(id))
    return frame.to(job_link(unquote(lifecycle), unquote(id)))


async def _job(frame: Frame, name: str, id: str) -> Response:
    lifecycles = frame.app.registry.catalogue.lifecycles.by_name
    lifecycle = lifecycles.get(name)

    def ask(reader: Reader) -> Mapping[str, object]:
        detail = job_detail(reader, name, id, count=1)
        story = subject_story(reader, id, name, lifecycles=lifecycles, count=_EVENTS)
        return {
            "job": detail.job,
            "detail": detail,
            "story": story,
            "drawing": _drawing(lifecycle, detail, story),
            "can_retry": lifecycle is not None and lifecycle.retry_topic is not None and detail.job.terminal,
            "can_cancel": _can_be_cancelled(lifecycle, detail),
            "tone": tone_of(lifecycle, detail.job.state, terminal=detail.job.terminal),
        }

    try:
        return await frame.show("job.html", ask, live=True, is_declared=lifecycle is not None)
    except NotFound as missing:
        raise NotFound(f"{missing}; /jobs lists them") from None


def _drawing(lifecycle: Lifecycle[Any] | None, detail: JobDetail, story: SubjectStory) -> Markup:
    """The lifecycle with the way that the newest generation has come; all text in it is escaped where it is drawn."""
    if lifecycle is None:
        return Markup()
    way = {
        (entry.event.topic, entry.leg.before, entry.leg.after)
        for entry in story.entries
        if entry.leg is not None and entry.event.applied and entry.event.generation == detail.job.generation
    }
    return Markup(as_svg(lifecycle, state=detail.job.state, way=way))


def _can_be_cancelled(lifecycle: Lifecycle[Any] | None, detail: JobDetail) -> bool:
    if lifecycle is None or detail.job.terminal:
        return False
    return bool(lifecycle.ends) or any(run.state not in _ENDED for run in detail.runs)


_ENDED = ("completed", "failed", "cancelled", "timed_out", "replaced")


def tone_of(lifecycle: Lifecycle[Any] | None, state: str, *, terminal: bool | None = None) -> str:
    """As which state of a run a state of a job is drawn: its name is the user's, but what it means for the job is declared."""
    ended = terminal if lifecycle is None else state in lifecycle.terminal
    if not ended:
        return "going-on"
    for end in ("failed", "timed_out", "cancelled"):
        topic = lifecycle.ends[end][0] if lifecycle is not None and lifecycle.ends else ""
        if lifecycle is not None and any(move.topic == topic and move.target == state for move in lifecycle.moves):
            return end
    return "completed"
