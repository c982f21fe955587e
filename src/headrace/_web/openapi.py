"""The description of the API: what FastAPI sees in the routes, and what the gate in front of them adds to each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts

from headrace._web.demand import SAFE, Demand, demand_of
from headrace._web.examples import EXAMPLES, PROBLEMS
from headrace._web.idempotency import KEY, LONGEST_KEY, REPLAYED
from headrace._web.schemas import Problem

Operation = dict[str, Any]

ABOUT = "Start runs, look at them, change them. Errors have one shape, Problem, whatever their status."
_ALWAYS = (421, 422, 500, 503)
_GUARDED = (401, 403)
_CHANGING = (413, 415)
_KEYED = (409,)
_KEY_PARAMETER = {
    "name": KEY,
    "in": "header",
    "required": False,
    "description": "A new UUID for each request; the same one again brings the first answer instead of a second effect. Remembered for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[\\x20-\\x7e]+$"},
}
_REPLAYED_HEADER = {
    "description": "`true` where this answer was given before, to the same request with the same key.",
    "schema": {"type": "string", "enum": ["true"]},
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For ``responses=`` of a route: what it may answer besides what every route may."""
    return {status: {"model": Problem, "description": PROBLEMS[status].description} for status in statuses}


def plain_text(description: str, *, kind: str = "text/plain", example: str = "") -> dict[str, Any]:
    """For ``responses=`` of a route that answers in something else than JSON."""
    content: dict[str, Any] = {"schema": {"type": "string"}}
    return {"description": description, "content": {kind: content | ({"example": example} if example else {})}}


def install(api: FastAPI) -> None:
    """Give the application its description; made when it is first asked for, when all routes are there."""

    def describe() -> dict[str, Any]:
        if api.openapi_schema is None:
            schema = get_openapi(title=api.title, version=api.version, description=ABOUT, routes=api.routes)
            api.openapi_schema = _complete(schema, api)
        return api.openapi_schema

    api.openapi = describe  # type: ignore[method-assign]  # as FastAPI's own documentation has it


def _complete(schema: dict[str, Any], api: FastAPI) -> dict[str, Any]:
    demands = _demands(api)
    for path, operations in schema["paths"].items():
        for word, operation in operations.items():
            method = word.upper()
            _complete_operation(operation, method, demands[path, method])
    parts = schema.setdefault("components", {})
    parts["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "Made by `headrace tokens new NAME`; on this machine none is needed unless it is set so.",
        }
    }
    parts["responses"] = {_name(status): _problem(status) for status in PROBLEMS}
    schemas: dict[str, Any] = parts.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):  # FastAPI's own, which are never answered
        schemas.pop(name, None)
    for name, example in EXAMPLES.items():
        if name in schemas:
            schemas[name]["examples"] = [example]
    return schema


def _demands(api: FastAPI) -> dict[tuple[str, str], Demand]:
    found: dict[tuple[str, str], Demand] = {}
    for route in iter_route_contexts(api.routes):
        for method in route.methods or ():
            found[route.path_format or "", method] = demand_of(route.endpoint)
    return found


def _complete_operation(operation: Operation, method: str, demand: Demand) -> None:
    operation["security"] = [] if demand.public else [{"token": []}]
    if not demand.public:
        operation["x-scope"] = demand.needed(method).value
    answers: dict[str, Any] = operation["responses"]
    if _takes_key(method, demand):
        operation.setdefault("parameters", []).append(_KEY_PARAMETER)
        for status, answer in answers.items():
            if status.startswith("2"):
                answer.setdefault("headers", {})[REPLAYED] = _REPLAYED_HEADER
    for number in (*map(int, list(answers)), *_may_be_refused(method, demand)):
        answer = answers.get(str(number))
        if answer is None or _is_problem(answer):
            answers[str(number)] = {"$ref": f"#/components/responses/{_name(number)}"}
    operation["responses"] = dict(sorted(answers.items()))


def _takes_key(method: str, demand: Demand) -> bool:
    return method == "POST" and not demand.secret and not demand.public


def _may_be_refused(method: str, demand: Demand) -> Iterator[int]:
    yield from _ALWAYS
    if not demand.public:
        yield from _GUARDED
    if method not in SAFE:
        yield from _CHANGING
    if _takes_key(method, demand):
        yield from _KEYED


def _is_problem(answer: dict[str, Any]) -> bool:
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).rpartition("/")[2] in ("Problem", "HTTPValidationError")


def _name(status: int) -> str:
    return PROBLEMS[status].name


def _problem(status: int) -> dict[str, Any]:
    about = PROBLEMS[status]
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": about.example}
    return {"description": about.description, "content": {"application/json": content}}
