"""What every request must pass before a route runs: the right Host, a token of sufficient scope, a page of our own, a bearable body."""

from __future__ import annotations

import difflib
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from headrace._access.model import Scope
from headrace._base.wording import size
from headrace._web import errors, origin
from headrace._web.admission import Admission
from headrace._web.callers import Callers
from headrace._web.demand import SAFE, Demand, Place, Places

BODY_LIMIT = 17 * 1024 * 1024
"""A value may have 16 MiB; the rest is what stands around it."""

DEMAND, CALLER = "headrace.demand", "headrace.caller"
"""Where the scope of a request says what its route asks for, and who asks."""

# No page of others may frame this server, read its answers as something else, or learn of its addresses.
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_PRIVATE = (b"cache-control", b"no-store")


class Gate:
    def __init__(self, app: ASGIApp, *, admission: Admission, callers: Callers, places: Places) -> None:
        self._app = app
        self._admission = admission
        self._callers = callers
        self._places = places

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # nothing here speaks it, and nothing here would guard it
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Run ids may hold any character, slashes too, so paths are matched as they came and decoded afterwards.
        scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        answer = _Answer(send, scope)
        try:
            refusal = self._refusal(Request(scope), scope)
            if refusal is not None:
                shown = await _as_shown(refusal, Request(scope))
                await shown(scope, receive, answer)
                return
            await self._app(scope, _Body(receive, _most(scope)), answer)
        except Exception as error:  # noqa: BLE001 - the boundary: whatever it is, the caller gets the one shape and the log the rest
            response = errors.answer_to_any(error, scope)
            if not answer.begun:
                await response(scope, receive, answer)

    def _refusal(self, request: Request, scope: AsgiScope) -> Response | None:
        host = request.headers.get("host", "")
        if not origin.is_meant(host, scope, self._admission.hosts):
            hint = "ask for 127.0.0.1; other names are set with HEADRACE_SERVER__HOSTS"
            return errors.answer(421, "wrong_host", f"this server is not {host!r}", hint)
        place = self._places.of(scope)
        demand = scope[DEMAND] = place.demand
        refusal = None if demand.public else check_caller(self._callers, request, demand.needed(request.method))
        return refusal or _check_sender(request) or _check_query(request, place) or _check_body(request, demand)


def check_caller(callers: Callers, request: Request, needed: Scope) -> Response | None:
    """Who asks is noted in the request; what is returned says why they may not."""
    caller = request.scope[CALLER] = callers.identify(request)
    if caller is None:
        return _ask_for_token(request)
    if not caller.scope.covers(needed):
        return errors.answer(
            403, "scope_too_small",
            f"this needs a token of scope {needed.value!r}; {caller.name!r} has {caller.scope.value!r}",
            f"make one: headrace tokens new NAME --scope {needed.value}",
        )  # fmt: skip
    return None


def _ask_for_token(request: Request) -> Response:
    path = request.url.path
    if request.method == "GET" and _wants_page(request):
        asked = path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/login?next={quote(asked, safe='')}", status_code=303)
    hint = "send 'Authorization: Bearer TOKEN'; `headrace tokens new NAME` makes a token"
    refusal = errors.answer(401, "no_token", "the token is missing or wrong", hint)
    refusal.headers["WWW-Authenticate"] = "Bearer"
    return refusal


async def _as_shown(refusal: Response, request: Request) -> Response:
    """A refusal as it is told to people, if whoever makes pages has said how: ``app.state.show_problem``."""
    show = getattr(request.app.state, "show_problem", None)
    is_known = (
        request.scope.get(CALLER) is not None
    )  # the frame of a page tells how things are, which is not for strangers
    if show is None or not is_known or refusal.status_code < 400 or not _wants_page(request):
        return refusal
    shown: Response = await show(request, refusal)
    return shown


def _wants_page(request: Request) -> bool:
    return not is_api(request.url.path) and "text/html" in request.headers.get("accept", "")


def _check_sender(request: Request) -> Response | None:
    if origin.is_own(request.method, request.headers):
        return None
    return errors.answer(
        403, "wrong_origin", "a page of another site sent this request", "open the page of this server"
    )


def _check_query(request: Request, place: Place) -> Response | None:
    known = place.parameters
    unknown = [] if known is None else [name for name in request.query_params if name not in known]
    if not unknown:
        return None
    # A misspelt filter that is passed over would answer a question that nobody has asked.
    near = difflib.get_close_matches(unknown[0], known or (), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(known or ())) or 'none'}"
    return errors.answer(422, "unknown_parameter", f"there is no parameter {unknown[0]!r}", hint)


def _check_body(request: Request, demand: Demand) -> Response | None:
    headers = request.headers
    length = headers.get("content-length", "0")
    most = demand.most or BODY_LIMIT
    if length.isdecimal() and int(length) > most:
        return errors.answer(413, "too_large", _too_large(most))
    has_body = "transfer-encoding" in headers or length != "0"
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if has_body and is_api(request.url.path) and request.method not in SAFE and kind != "application/json":
        return errors.answer(415, "not_json", "the body is not JSON", "send 'Content-Type: application/json'")
    return None


def is_api(path: str) -> bool:
    """Whether programs ask there, not people."""
    return path.startswith("/api/")


class _Body:
    """Counts what comes in: a body sent in chunks does not say its length before."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._size = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > self._most:
            raise HTTPException(413, _too_large(self._most))
        return message


class _Answer:
    """Adds to every answer what browsers must know, and remembers whether one was begun."""

    def __init__(self, send: Send, scope: AsgiScope) -> None:
        self._send = send
        self._added = (*_HEADERS, _PRIVATE) if is_api(scope["path"]) else _HEADERS
        self.begun = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = message.setdefault("headers", [])
            given = {name.lower() for name, _ in headers}
            message["headers"] = [*headers, *(pair for pair in self._added if pair[0] not in given)]
        await self._send(message)


def _most(scope: AsgiScope) -> int:
    demand: Demand = scope[DEMAND]
    return demand.most or BODY_LIMIT


def _too_large(most: int) -> str:
    how = "send less" if most != BODY_LIMIT else "store the bytes elsewhere and pass a reference"
    return f"the body has more than {size(most)}; {how}"
