"""The server's application: routes over a running ``Headrace``, behind the gate."""

from __future__ import annotations

import asyncio
from importlib import import_module

from fastapi import APIRouter, FastAPI

from headrace._app.app import Headrace
from headrace._web import errors, openapi, pages
from headrace._web.admission import Admission
from headrace._web.callers import Callers
from headrace._web.demand import Places
from headrace._web.gate import Gate
from headrace._web.idempotency import Idempotency
from headrace._web.lag import LoopLag
from headrace._web.live import Streams
from headrace._web.routes import dead_letters, dispatches, endpoints, events, incoming, jobs, login, owner, runs, tokens
from headrace._web.version import version
from headrace.errors import ConfigurationError
from headrace.settings import LoadedSettings


def _named(place: str) -> APIRouter:
    """What a pipeline names as ``module:attribute``."""
    module, _, attribute = place.partition(":")
    router = getattr(import_module(module), attribute)
    if not isinstance(router, APIRouter):
        raise ConfigurationError(f"{place} is no APIRouter")
    return router


def create_app(app: Headrace, admission: Admission, settings: LoadedSettings | None = None) -> FastAPI:
    """The ASGI application over a running ``Headrace``."""
    # The documentation pages of FastAPI load scripts from the network.
    api = FastAPI(
        title="Headrace",
        version=version(),
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        generate_unique_id_function=lambda route: route.name,
    )
    api.state.headrace = app
    api.state.streams = Streams()
    api.state.stopping = asyncio.Event()
    api.state.lag = LoopLag()
    api.state.began = app.clock.monotonic()
    api.state.callers = callers = Callers(app, admission)
    errors.install(api)
    # The last one that is added is the first that a request meets.
    api.add_middleware(Idempotency, headrace=app)
    api.add_middleware(Gate, admission=admission, callers=callers, places=Places(api.routes))
    api.include_router(runs.router, prefix="/api/runs", tags=["runs"])
    api.include_router(events.router, prefix="/api/events", tags=["events"])
    api.include_router(jobs.router, prefix="/api/jobs", tags=["jobs"])
    api.include_router(dead_letters.router, prefix="/api/deadletters", tags=["dead letters"])
    api.include_router(endpoints.router, prefix="/api/webhooks", tags=["webhooks"])
    api.include_router(dispatches.router, tags=["webhooks"])
    api.include_router(tokens.router, prefix="/api/tokens", tags=["tokens"])
    api.include_router(owner.router, tags=["owner"])
    api.include_router(login.router, include_in_schema=False)
    for pipeline in app.pipelines:
        if pipeline.routes is not None:
            api.include_router(_named(pipeline.routes), tags=[pipeline.name])
    # Behind those of pipelines, which may have an address of their own for a webhook.
    api.include_router(incoming.router, tags=["webhooks"])
    pages.install(api, app, settings=settings)
    openapi.install(api)
    return api
