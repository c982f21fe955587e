"""Errors as pages: the same words and numbers as the API gives, for those who asked for a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from headrace._web.gate import is_api
from headrace._web.pages.frame import show_problem
from headrace.errors import HeadraceError

Handler = Callable[[Request, Any], Awaitable[Response]]


def install(api: FastAPI) -> None:
    api.state.show_problem = show_problem  # for what the gate refuses
    for kind in (HeadraceError, RequestValidationError, HTTPException):
        api.add_exception_handler(kind, _in_frame(api.exception_handlers[kind]))


def _in_frame(handler: Any) -> Handler:
    async def handle(request: Request, error: Any) -> Response:
        answer: Response = await handler(request, error)
        return await show_problem(request, answer) if _wants_a_page(request) else answer

    return handle


def _wants_a_page(request: Request) -> bool:
    return not is_api(request.url.path) and "text/html" in request.headers.get("accept", "")
