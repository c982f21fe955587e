"""One run: how it is, what it did and when, what went in and came out, and what can be done about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from headrace._app.aside import aside_of
from headrace._app.inspection import detail_of, numbers_of
from headrace._app.timeline import command_of, timeline_of
from headrace._ports.database import Reader
from headrace._runs.model import SET_ASIDE, Kind, RunState
from headrace._web.pages.frame import Frame, InFrame, Number, RunId, page_router
from headrace._web.pages.source import own_frames, source_line
from headrace._web.pages.waterfall import draw

router = page_router()

_CAN_BE_RETRIED = {*SET_ASIDE, RunState.FAILED, RunState.CANCELLED, RunState.TIMED_OUT}


@router.get("/runs/{id}")
async def run(
    frame: InFrame,
    run_id: RunId,
    number: Number = None,
    row: Annotated[int | None, Query(ge=0)] = None,
    after: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    engine = frame.app.engine
    under_way = engine.under_way(run_id)
    stack = engine.stack(run_id)

    def ask(reader: Reader) -> Mapping[str, object]:
        detail = detail_of(reader, run_id, number)
        view = detail.run
        timeline = timeline_of(reader, view.id, view.number, after=after, under_way=under_way if view.is_open else ())
        numbers = numbers_of(reader, view.id)
        return {
            "detail": detail,
            "run": view,
            "waterfall": draw(timeline, frame.app.now()),
            "timeline": timeline,
            "opened": None if row is None else command_of(reader, view.id, view.number, row),
            "numbers": numbers,
            "is_newest": numbers[0].number == view.number,
            "stack": [own_frames(line) for line in stack] if view.is_open else (),
            "source": source_line(view.location),
            "aside_run": aside_of(view) if view.state in SET_ASIDE else None,
            "can_retry": numbers[0].number == view.number and view.state in _CAN_BE_RETRIED,
            "known_flow": view.flow in frame.app.registry.flows,
        }

    return await frame.show(
        "run.html",
        ask,
        live=after is None,
        number=number,
        after=None if after is None else str(after),
        topic=_topic(frame, run_id),
    )


def _topic(frame: Frame, run_id: str) -> str:
    """The first message that the run waits for."""
    return next((item.name for item in frame.app.engine.under_way(run_id) if item.kind == Kind.RECEIVE), "")
