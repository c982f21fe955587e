"""The login of people: a token is shown once, and a cookie stands for it from then on."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from headrace._access.secret import new_session
from headrace._access.store import SESSION, close_session, open_session, token_behind
from headrace._base import log
from headrace._web.callers import Callers, cookie_name
from headrace._web.demand import demands
from headrace._web.given import App
from headrace._web.pages.frame import THEME_COOKIE, THEMES
from headrace._web.pages.templates import environment

router = APIRouter()

_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"


@router.get("/login")
@demands(public=True)
async def show_login(request: Request, next: Annotated[str, Query()] = "/") -> Response:
    callers: Callers = request.app.state.callers
    if callers.identify(request) is not None:
        return _go_on(next)
    if request.headers.get("sec-fetch-site") == "cross-site":
        # A link on another site led here, so the browser has kept the cookie to itself; asked again from here, it shows it.
        return _page(request, again=f"/login?next={quote(_own_path(next), safe='')}")
    return _page(request, next=next)


@router.post("/login")
@demands(public=True)
async def log_in(request: Request, app: App) -> Response:
    form = await form_of(request)
    given, next = form.get("token", "").strip(), form.get("next", "/")
    token = app.database.read(lambda reader: token_behind(reader, given))
    if token is None:
        log.warning("access.refused", client=request.client.host if request.client else None)
        return _page(request, next=next, refused=True, status=401)
    session, now = new_session(), app.clock.now()
    await app.database.write(lambda tx: open_session(tx, session, token, now))
    log.info("access.logged_in", name=token.name)
    answer = _go_on(next)
    answer.set_cookie(
        cookie_name(request.scope),
        session,
        max_age=round(SESSION.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://"),
    )
    return answer


@router.post("/logout")
@demands(public=True)
async def log_out(request: Request, app: App) -> Response:
    name = cookie_name(request.scope)
    session = request.cookies.get(name)
    if session:
        await app.database.write(lambda tx: close_session(tx, session))
    answer = RedirectResponse("/login", status_code=303)
    answer.delete_cookie(name, httponly=True, samesite="strict")
    return answer


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form without files, each once."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}


def _go_on(next: str) -> RedirectResponse:
    return RedirectResponse(_own_path(next), status_code=303)


def _own_path(next: str) -> str:
    """Where to go after the login, unless somebody wants to lead people elsewhere with a link to it."""
    is_own = next.startswith("/") and next[1:2] not in ("/", "\\") and next.isprintable()
    return next if is_own else "/"


def _page(
    request: Request, *, next: str = "/", again: str = "", refused: bool = False, status: int = 200
) -> HTMLResponse:
    theme = request.cookies.get(THEME_COOKIE, "")
    text = (
        environment()
        .get_template("login.html")
        .render(next=_own_path(next), again=again, refused=refused, theme=theme if theme in THEMES else "")
    )
    return HTMLResponse(text, status, {"content-security-policy": _POLICY, "cache-control": "no-store"})
