"""What all pages share: the way from a question to HTML, and the headers that keep strangers out of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from headrace._access.model import Caller, Scope
from headrace._app.app import Headrace
from headrace._app.listing import open_counts
from headrace._app.subscription_detail import trouble
from headrace._events.store import last_position
from headrace._events.topic import check_pattern
from headrace._ports.database import Reader
from headrace._runs.model import SET_ASIDE
from headrace._web import errors
from headrace._web.gate import CALLER
from headrace._web.pages.links import page_link
from headrace._web.pages.navigation import NAVIGATION, Groups, place_of
from headrace._web.pages.pulse import Pulse
from headrace._web.pages.templates import environment as own_environment
from headrace.errors import HeadraceError
from headrace.settings import LoadedSettings

T = TypeVar("T")
Question = Callable[[Reader], Mapping[str, object]]
Answer = tuple[Mapping[str, object], Mapping[str, int], int]
Handler = Callable[[Request], Coroutine[Any, Any, Response]]

THEME_COOKIE = "headrace_theme"
THEMES = ("light", "dark")
_THREADS = 2

# Nothing but our own files: no text that found its way into a page is ever run, and no page of another site shows one of ours.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A pipeline's pages may play what it serves, and show pictures of what is about to be uploaded.
GUEST_POLICY = _POLICY.replace("img-src 'self'", "img-src 'self' blob:; media-src 'self' blob:")
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Studio:
    """What pages are made with; one for each application."""

    def __init__(self, app: Headrace, settings: LoadedSettings | None, navigation: Groups = NAVIGATION) -> None:
        self.app = app
        self.settings = settings
        self.navigation = navigation
        self.pulse = Pulse(app)
        # Reading and rendering take milliseconds, and the event loop belongs to the runs. The threads are few and stay, because each
        # keeps a connection to the file.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="headrace-pages")

    async def away(self, function: Callable[[], T]) -> T:
        """Call a function away from the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)


class Frame:
    """One request for a page."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.studio: Studio = request.app.state.studio
        self.app: Headrace = self.studio.app

    async def show(
        self,
        template: str,
        question: Question | None = None,
        *,
        live: bool | str = False,
        status: int = 200,
        environment: Environment | None = None,
        **values: object,
    ) -> Response:
        """Ask the store, and fill the template with the answer.

        A live page asks again whenever the store has changed; where ``live`` is a topic or a pattern, whenever such an event came.
        """
        if isinstance(live, str):
            check_pattern(live)
        values |= self._surroundings() | {"live": bool(live)}
        body = await self.studio.away(
            lambda: self._rendered(environment or own_environment(), template, question, values, live)
        )
        return Response(body, status_code=status, media_type="text/html")

    async def ask(self, question: Callable[[Reader], T]) -> T:
        """Ask the store alone."""
        return await self.studio.away(lambda: self.app.database.read(question))

    def to(self, address: str) -> Response:
        """Go there, as after a form: going back or reloading does not send it again."""
        return RedirectResponse(address, status_code=303)

    def _surroundings(self) -> dict[str, object]:
        url = self.request.url
        path = self.request.scope["path"]
        theme = self.request.cookies.get(THEME_COOKIE, "")
        return {
            "path": path,
            "here": f"{path}?{url.query}" if url.query else path,
            "place": place_of(path, self.studio.navigation),
            "navigation": self.studio.navigation,
            "theme": theme if theme in THEMES else "",
            "now": self.app.now(),
            "failure": self.app.failure,
            "can_operate": self._can_operate(),
        }

    def _can_operate(self) -> bool:
        """Whether whoever asks may press buttons; to others they are not offered."""
        caller: Caller | None = self.request.scope.get(CALLER)
        return caller is not None and caller.scope.covers(Scope.OPERATE)

    def _rendered(
        self,
        environment: Environment,
        template: str,
        question: Question | None,
        values: Mapping[str, object],
        live: bool | str,
    ) -> bytes:
        revision = self.app.revision  # before the question: what is committed in between makes the page ask again
        if question is None and self.app.failure:
            # A page that says what is wrong must not need what is wrong.
            found: Answer = ({}, {}, 0)
        else:
            found = self.app.database.read(lambda reader: _answer(reader, question))
        answer, badges, end = found
        wire = _wire(live, revision, end)
        text = environment.get_template(template).render(**values, **answer, badges=badges, wire=wire)
        return text.encode("utf-8", "replace")


def _answer(reader: Reader, question: Question | None) -> Answer:
    return (question(reader) if question else {}), _badges(reader), last_position(reader)


def _wire(live: bool | str, revision: str, end: int) -> str:
    """The address of the stream that tells a page to ask for itself again."""
    if isinstance(live, str):
        return page_link("/live/changes", topic=live, since=str(end))
    return page_link("/live/changes", since=revision)


def _badges(reader: Reader) -> dict[str, int]:
    """How much needs somebody, by the path of the page that tells more."""
    counts = open_counts(reader)
    return {"/blocked": sum(counts.get(state, 0) for state in SET_ASIDE), "/deadletters": trouble(reader).dead}


class _PageRoute(APIRoute):
    def get_route_handler(self) -> Handler:
        return guarded(super().get_route_handler())


def guarded(handle: Handler, headers: Mapping[str, str] = HEADERS) -> Handler:
    """A handler whose pages carry the policy, and whose defects show no stack trace."""

    async def answer(request: Request) -> Response:
        try:
            response = await handle(request)
        except (HeadraceError, HTTPException, RequestValidationError):
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: the log gets the whole story, the page says that there is one
            found = errors.answer_to_any(error, request.scope)
            response = await show_problem(request, found)
        for name, value in headers.items():
            response.headers.setdefault(name, value)
        return response

    return answer


def page_router() -> APIRouter:
    """A router whose answers are pages: they carry a policy for browsers, and no defect shows a stack trace."""
    return APIRouter(route_class=_PageRoute, include_in_schema=False)


async def show_problem(request: Request, response: Response) -> Response:
    """The API's answer to an error, as a page."""

    told = json.loads(bytes(response.body))["error"]
    page = await Frame(request).show(
        "problem.html", status=response.status_code, code=response.status_code, problem=told
    )
    page.headers.update(HEADERS)
    return page


def _run_id(id: Annotated[str, Path()]) -> str:
    return unquote(id)


InFrame = Annotated[Frame, Depends(Frame)]
RunId = Annotated[str, Depends(_run_id)]
Number = Annotated[int | None, Query(ge=1)]
