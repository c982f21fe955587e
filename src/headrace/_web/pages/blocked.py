"""Runs that need a person, and what the person can do."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from headrace._app.aside import set_aside
from headrace._engine.preflight import preflight
from headrace._ports.database import Reader
from headrace._web.pages.frame import InFrame, page_router

router = page_router()

_SECONDS_FOR_ALL = 3.0


@router.get("/blocked")
async def blocked(frame: InFrame, check: str = "") -> Response:
    """With ``check`` all open runs are replayed against the code that is loaded, as far as the time reaches."""

    def ask(reader: Reader) -> Mapping[str, object]:
        runs = set_aside(reader)
        fit = preflight(reader, frame.app.registry, seconds=_SECONDS_FOR_ALL) if check else None
        known = {item.run.id for item in runs}
        coming = [item for item in fit.problems if item.run_id not in known] if fit else []
        return {"runs": runs, "fit": fit, "coming": coming}

    return await frame.show("blocked.html", ask, live=not check)
