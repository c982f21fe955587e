"""The process that has the store: whether it lives, what it runs, how it does."""

from __future__ import annotations

import asyncio
import os

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from headrace._web import metrics
from headrace._web.demand import demands
from headrace._web.given import App, Streams
from headrace._web.openapi import plain_text
from headrace._web.schemas import Health, Status
from headrace._web.version import version

router = APIRouter()


@router.get("/healthz")
@demands(public=True)
async def healthz() -> Health:
    """The process answers."""
    return Health(ok=True)


@router.get(
    "/readyz",
    response_model=Health,
    responses={503: {"model": Health, "description": "They do not; `reason` says why."}},
)
@demands(public=True)
async def readyz(app: App) -> JSONResponse:
    """Runs go on; 503 when they do not."""
    failure = app.failure
    body = Health(ok=failure is None, reason=failure or "")
    return JSONResponse(body.model_dump(), status_code=200 if body.ok else 503)


@router.get(
    "/metrics", response_class=Response, responses={200: plain_text("Numbers, in the text format of Prometheus.")}
)
async def read_metrics(request: Request, app: App, streams: Streams) -> Response:
    """Numbers for Prometheus; docs/reference/metrics.md lists them."""
    state = request.app.state
    uptime = app.clock.monotonic() - state.began
    measured = await metrics.measure(app, version=version(), uptime=uptime, lag=state.lag, streams=streams)
    text = metrics.as_text(measured) + metrics.readings_as_text(await metrics.readings(app))
    return Response(text, media_type=metrics.CONTENT_TYPE)


@router.get("/api/status")
async def status(app: App) -> Status:
    """Who owns the store, and what it runs."""
    # With many runs counting takes a while, which the event loop does not have.
    runs = await asyncio.to_thread(app.counts)
    return Status(
        version=version(),
        pid=os.getpid(),
        store=str(app.location),
        ready=app.failure is None,
        failure=app.failure,
        flows={pipeline.name: [flow.name for flow in pipeline.flows] for pipeline in app.pipelines},
        runs=dict(runs),
        bridges=list(app.bridges),
    )
