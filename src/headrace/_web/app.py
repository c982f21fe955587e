"""The owner's API: what the CLI asks of the process that has the store."""

from __future__ import annotations

import os
from importlib import metadata

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from headrace._app.app import Headrace
from headrace._web import errors
from headrace._web.gate import Gate
from headrace._web.routes import runs
from headrace._web.schemas import Health, Problem, Status


def version() -> str:
    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:
        return "(unreleased)"


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
            store=str(app.location),
            ready=app.failure is None,
            failure=app.failure,
            flows={pipeline.name: [flow.name for flow in pipeline.flows] for pipeline in app.pipelines},
            runs=dict(app.counts()),
        )

    return api
