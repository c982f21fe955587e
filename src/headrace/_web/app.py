"""The server's application: routes over a running ``Headrace``, behind the gate."""

from __future__ import annotations

from fastapi import FastAPI

from headrace._app.app import Headrace
from headrace._web import errors, openapi
from headrace._web.admission import Admission
from headrace._web.callers import Callers
from headrace._web.demand import Places
from headrace._web.gate import Gate
from headrace._web.idempotency import Idempotency
from headrace._web.lag import LoopLag
from headrace._web.live import Streams
from headrace._web.routes import login, owner, runs, tokens
from headrace._web.version import version


def create_app(app: Headrace, admission: Admission) -> FastAPI:
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
    api.state.lag = LoopLag()
    api.state.began = app.clock.monotonic()
    api.state.callers = callers = Callers(app, admission)
    errors.install(api)
    # The last one that is added is the first that a request meets.
    api.add_middleware(Idempotency, headrace=app)
    api.add_middleware(Gate, admission=admission, callers=callers, places=Places(api.routes))
    api.include_router(runs.router, prefix="/api/runs", tags=["runs"])
    api.include_router(tokens.router, prefix="/api/tokens", tags=["tokens"])
    api.include_router(owner.router, tags=["owner"])
    api.include_router(login.router, include_in_schema=False)
    openapi.install(api)
    return api
