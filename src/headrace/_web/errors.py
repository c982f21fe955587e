"""Errors over HTTP: one table, one shape. Never a stack trace."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Scope

from headrace import errors
from headrace._app.view import error_code
from headrace._base import log
from headrace._web.schemas import Problem, ProblemBody

# The first row that fits counts, so a special case stands before the general one.
STATUS: tuple[tuple[type[errors.HeadraceError], int, str], ...] = (
    (errors.NotFound, 404, ""),
    (errors.Conflict, 409, ""),
    (errors.ValueRefused, 422, ""),
    (errors.DefinitionError, 422, ""),
    (errors.StoreFull, 503, "free some space; work goes on by itself"),
    (errors.StoreBusy, 503, "the same call may pass in a moment"),
    (errors.StoreError, 503, "look at the log of the owner; `headrace check` examines the file"),
    (errors.EngineUnavailable, 503, "what is on disk goes on at the next start"),
    (errors.WebhookRefused, 401, ""),
    (errors.HeadraceError, 500, ""),
)
_SEE = "/api/openapi.json describes every request"
_CODES = {404: "no_such_page", 405: "method_not_allowed", 413: "too_large"}


def answer(status: int, code: str, message: str, hint: str = "") -> JSONResponse:
    body = Problem(error=ProblemBody(code=code, message=message, hint=hint))
    return JSONResponse(body.model_dump(), status_code=status)


def answer_to(error: errors.HeadraceError) -> JSONResponse:
    status, hint = next((status, hint) for kind, status, hint in STATUS if isinstance(error, kind))
    return answer(status, error_code(type(error)), str(error), hint)


def answer_to_any(error: Exception, scope: Scope) -> JSONResponse:
    """For what leaves the application as an exception."""
    request = f"{scope['method']} {scope['path']}"
    if isinstance(error, errors.HeadraceError):
        return answer_to(error)
    if isinstance(error, HTTPException):
        return _answer_to_framework(error, request)
    # What nobody expected: the log has the whole story, the caller gets none of it.
    log.error("http.failed", request=request, error=type(error).__name__, detail=str(error))
    return answer(500, "internal_error", "something broke inside Headrace", "the log of the owner has the details")


def _answer_to_framework(error: HTTPException, request: str) -> JSONResponse:
    if error.status_code == 400:  # what FastAPI makes of a body that it cannot read at all
        return answer(422, "invalid_request", f"{request}: the body is no JSON in UTF-8", _SEE)
    code = _CODES.get(error.status_code, "refused")
    refusal = answer(error.status_code, code, f"{request}: {error.detail}")
    refusal.headers.update(error.headers or {})
    return refusal


def install(app: FastAPI) -> None:
    @app.exception_handler(errors.HeadraceError)
    async def expected(_: Request, error: errors.HeadraceError) -> JSONResponse:
        return answer_to(error)

    @app.exception_handler(RequestValidationError)
    async def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        found = error.errors()[0]
        place = ".".join(str(part) for part in found["loc"] if part != "body")
        return answer(422, "invalid_request", f"{place}: {found['msg']}" if place else found["msg"], _SEE)

    @app.exception_handler(HTTPException)
    async def framework(request: Request, error: HTTPException) -> JSONResponse:
        return _answer_to_framework(error, f"{request.method} {request.url.path}")
