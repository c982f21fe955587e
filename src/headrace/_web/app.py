"""The owner's API: what the CLI asks of the process that has the store."""

from __future__ import annotations

import os
from importlib import import_module, metadata

from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse

from headrace._app.app import Headrace
from headrace._web import errors
from headrace._web.gate import Gate
from headrace._web.routes import dead_letters, dispatches, events, jobs, runs
from headrace._web.schemas import Health, Problem, Status
from headrace.errors import ConfigurationError


def version() -> str:
    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:
        return "(unreleased)"


def _named(place: str) -> APIRouter:
    """What a pipeline names as ``module:attribute``."""
    module, _, attribute = place.partition(":")
    router = getattr(import_module(module), attribute)
    if not isinstance(router, APIRouter):
        raise ConfigurationError(f"{place} is no APIRouter")
    return router


def create_app(app: Headrace, *, token: str | None) -> FastAPI:
    """The ASGI application over a running ``Headrace``; without a token everybody who reaches it may do everything."""
    # The documentation pages of FastAPI load scripts from the network.
    api = FastAPI(
        title="Headrace",
        version=version(),
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        responses={"default": {"model": Problem, "description": "Refused, with the reason."}},
    )
    api.state.headrace = app
    api.add_middleware(Gate, token=token)
    errors.install(api)
    api.include_router(runs.router, prefix="/api/runs", tags=["runs"])
    api.include_router(events.router, prefix="/api/events", tags=["events"])
    api.include_router(jobs.router, prefix="/api/jobs", tags=["jobs"])
    api.include_router(dead_letters.router, prefix="/api/deadletters", tags=["dead letters"])
    api.include_router(dispatches.router, tags=["webhooks"])

    for pipeline in app.pipelines:
        if pipeline.routes is not None:
            api.include_router(_named(pipeline.routes), tags=[pipeline.name])

    @api.get("/healthz", tags=["owner"], response_model=Health)
    async def healthz() -> Health:
        """The process answers."""
        return Health(ok=True)

    @api.get("/readyz", tags=["owner"], response_model=Health)
    async def readyz() -> JSONResponse:
        """Runs go on; 503 when they do not."""
        failure = app.failure
        body = Health(ok=failure is None, reason=failure or "")
        return JSONResponse(body.model_dump(), status_code=200 if body.ok else 503)

    @api.get("/api/status", tags=["owner"])
    async def status() -> Status:
        """Who owns the store, and what it runs."""
        return Status(
            version=version(),
            pid=os.getpid(),
            store=str(app.path),
            ready=app.failure is None,
            failure=app.failure,
            flows={pipeline.name: [flow.name for flow in pipeline.flows] for pipeline in app.pipelines},
            runs=dict(app.counts()),
        )

    return api
