"""Jobs over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from headrace._app.event_questions import job_detail, page_of_jobs
from headrace._app.event_view import JobDetail, JobPage
from headrace._events.model import Published
from headrace._jobs.diagram import as_svg
from headrace._web.given import App, Cursor, Id, Limit
from headrace._web.openapi import plain_text, problems
from headrace._web.schemas import LifecycleView

router = APIRouter()


@router.get("")
async def list_jobs(
    app: App,
    lifecycle: str | None = None,
    state: str | None = None,
    search: Annotated[str | None, Query(description="A part of the id.")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> JobPage:
    """Jobs, the one that moved last first."""
    return app.database.read(
        lambda reader: page_of_jobs(reader, lifecycle=lifecycle, state=state, search=search, before=cursor, count=limit)
    )


@router.get("/lifecycles")
async def list_lifecycles(app: App) -> list[LifecycleView]:
    """The declared lifecycles."""
    return [LifecycleView.of(item) for item in app.registry.catalogue.lifecycles.by_name.values()]


@router.get(
    "/lifecycles/{lifecycle}/diagram.svg",
    response_class=Response,
    responses={**problems(404), 200: plain_text("The drawing.", kind="image/svg+xml", example="<svg …></svg>")},
)
async def lifecycle_diagram(app: App, lifecycle: str, state: str | None = None) -> Response:
    """A lifecycle as a drawing; `state` is marked."""
    svg = as_svg(app.registry.catalogue.lifecycle(lifecycle), state=state)
    return Response(svg, media_type="image/svg+xml")


@router.get("/{lifecycle}/{id}", responses=problems(404))
async def show_job(app: App, lifecycle: str, id: Id, limit: Limit = 100) -> JobDetail:
    """A job, its newest events, and the runs that worked for it."""
    return app.database.read(lambda reader: job_detail(reader, lifecycle, id, count=limit))


@router.post("/{lifecycle}/{id}/retry", responses=problems(404))
async def retry_job(app: App, lifecycle: str, id: Id) -> Published:
    """Begin a job that has ended once more, in a new generation."""
    return await app.retry_job(lifecycle, id)


@router.post("/{lifecycle}/{id}/cancel", responses=problems(404))
async def cancel_job(app: App, lifecycle: str, id: Id) -> JobDetail:
    """Cancel a job and the run that works for it; the run may clean up first."""
    await app.cancel_job(lifecycle, id)
    return app.database.read(lambda reader: job_detail(reader, lifecycle, id))
