"""What routes ask for, and that none is reached for less."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts
from starlette.staticfiles import StaticFiles

from headrace import Headrace
from headrace._access.model import Scope
from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace._web.demand import NOWHERE, USUAL, Demand, Places, demand_of, demands

UNUSUAL = {
    ("GET", "/api/tokens"): Demand(scope=Scope.ADMIN),
    ("POST", "/api/tokens"): Demand(scope=Scope.ADMIN, secret=True),
    ("POST", "/api/tokens/{name}/revoke"): Demand(scope=Scope.ADMIN),
    ("GET", "/api/webhooks"): Demand(scope=Scope.ADMIN),
    ("POST", "/api/webhooks"): Demand(scope=Scope.ADMIN, secret=True),
    ("GET", "/api/webhooks/{name}"): Demand(scope=Scope.ADMIN),
    ("POST", "/api/webhooks/{name}/test"): Demand(scope=Scope.ADMIN),
    ("POST", "/api/webhooks/{name}/enable"): Demand(scope=Scope.ADMIN),
    ("POST", "/api/webhooks/{name}/disable"): Demand(scope=Scope.ADMIN),
    ("POST", "/api/webhooks/{name}/rotate"): Demand(scope=Scope.ADMIN, secret=True),
    ("POST", "/api/webhooks/{name}/remove"): Demand(scope=Scope.ADMIN),
    ("POST", "/webhooks/{name}"): Demand(public=True),
    ("GET", "/healthz"): Demand(public=True),
    ("GET", "/readyz"): Demand(public=True),
    ("GET", "/static/{digest}/{name}"): Demand(public=True),
    ("GET", "/login"): Demand(public=True),
    ("POST", "/login"): Demand(public=True),
    ("POST", "/logout"): Demand(public=True),
    ("POST", "/theme"): Demand(scope=Scope.READ),
    ("GET", "/publish"): Demand(scope=Scope.OPERATE),
}


def test_routes_that_ask_for_something_else_than_usual_are_known() -> None:
    """A route that becomes public by mistake is seen here, not by a stranger."""
    api = create_app(Headrace([], store="any.db"), Admission())
    found = {
        (method, route.path_format): demand_of(route.endpoint)
        for route in iter_route_contexts(api.routes)
        for method in route.methods or ()
    }

    assert {place: demand for place, demand in found.items() if demand != USUAL} == UNUSUAL


def test_without_a_declaration_reading_needs_read_and_the_rest_operate() -> None:
    """A forgotten declaration must not open anything."""
    assert [USUAL.needed(method) for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "ODD")] == [
        Scope.READ,
        Scope.READ,
        Scope.OPERATE,
        Scope.OPERATE,
        Scope.OPERATE,
        Scope.OPERATE,
    ]


def asked(method: str, path: str) -> dict[str, str]:
    return {"type": "http", "method": method, "path": path}


def test_the_demand_is_that_of_the_route_that_would_be_reached(tmp_path: Path) -> None:
    """Routes under one path differ by method, and what is mounted has a demand of its own."""
    router = APIRouter()

    @router.get("/{id}")
    @demands(public=True)
    async def look(id: str) -> str:
        return id

    @router.post("/{id}")
    @demands(Scope.ADMIN)
    async def change(id: str) -> str:
        return id

    api = FastAPI()
    api.include_router(router, prefix="/things")
    api.mount("/open", demands(public=True)(StaticFiles(directory=tmp_path)))
    api.mount("/closed", StaticFiles(directory=tmp_path))
    places = Places(api.routes)

    assert places.of(asked("GET", "/things/a")).demand.public
    assert places.of(asked("POST", "/things/a")).demand.scope is Scope.ADMIN
    assert places.of(asked("DELETE", "/things/a")) is NOWHERE
    assert places.of(asked("GET", "/open/style.css")).demand.public
    assert places.of(asked("GET", "/closed/style.css")).demand == USUAL
    assert places.of(asked("GET", "/nowhere")) is NOWHERE
    assert NOWHERE.demand == USUAL
