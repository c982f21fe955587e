"""All runs, filtered by what stands in the address."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from headrace._app.listing import REACH, RunFilter, list_of_runs
from headrace._runs.model import OPEN, RunState
from headrace._web.pages.frame import InFrame, page_router

router = page_router()

_STATES = tuple(RunState)
_ROWS = 50


@router.get("/runs")
async def runs(
    frame: InFrame,
    flow: str = "",
    state: str = "",
    text: str = "",
    before: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    wanted = RunFilter(
        flow=flow or None, state=RunState(state) if state in _STATES else None, text=text.strip() or None
    )
    return await frame.show(
        "runs.html",
        lambda reader: {"list": list_of_runs(reader, wanted, before=before, count=_ROWS)},
        live=before is None,
        wanted=wanted,
        states=[one for one in _STATES if one in OPEN] + [one for one in _STATES if one not in OPEN],
        before=before,
        reach=REACH,
    )
