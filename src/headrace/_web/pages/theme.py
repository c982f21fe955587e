"""Light or dark: as the system has it, or as a person chose. A cookie remembers it, so that no page flashes."""

from __future__ import annotations

from starlette.responses import Response

from headrace._access.model import Scope
from headrace._web.demand import demands
from headrace._web.pages.frame import THEME_COOKIE, THEMES, InFrame, page_router
from headrace._web.pages.posted import Posted

router = page_router()

_A_YEAR = 365 * 24 * 3600


@router.post("/theme")
@demands(Scope.READ)
async def choose_theme(frame: InFrame, posted: Posted) -> Response:
    back = posted.get("back", "/")
    # Only a path of ours: `//elsewhere` would be another site.
    response = frame.to(back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/")
    chosen = posted.get("theme", "")
    if chosen in THEMES:
        response.set_cookie(THEME_COOKIE, chosen, max_age=_A_YEAR, httponly=True, samesite="lax")
    else:
        response.delete_cookie(THEME_COOKIE)
    return response
