"""One run: how it is, what it did and when, what went in and came out, and what can be done about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from headrace._app.aside import aside_of
from headrace._app.inspection import detail_of, numbers_of, record_named
from headrace._app.timeline import command_of, timeline_of
from headrace._engine.resident import UnderWay
from headrace._ports.database import Reader
from headrace._runs.model import SET_ASIDE, Kind, RunState
from headrace._web.pages.frame import InFrame, Number, RunId, page_router
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
    app = frame.app
    record = await frame.ask(lambda reader: record_named(reader, run_id, number))
    under_way = app.engine.under_way(record.id) if record.state.is_open else []
    stack = app.engine.stack(record.id) if record.state.is_open else []

    def ask(reader: Reader) -> Mapping[str, object]:
        timeline = timeline_of(reader, record.id, record.number, after=after, under_way=under_way)
        return _told(reader, record.id, record.number) | {
            "timeline": timeline,
            "waterfall": draw(timeline, app.now()),
            "opened": None if row is None else command_of(reader, record.id, record.number, row),
        }

    return await frame.show(
        "run.html",
        ask,
        live=after is None,
        number=number,
        after=None if after is None else str(after),
        stack=[own_frames(line) for line in stack],
        topic=_topic(under_way),
        known_flow=record.flow in app.registry.flows,
    )


def _told(reader: Reader, run_id: str, number: int) -> dict[str, object]:
    detail = detail_of(reader, run_id, number)
    view = detail.run
    numbers = numbers_of(reader, view.id)
    is_newest = numbers[0].number == view.number
    return {
        "detail": detail,
        "run": view,
        "numbers": numbers,
        "is_newest": is_newest,
        "can_retry": is_newest and view.state in _CAN_BE_RETRIED,
        "source": source_line(view.location),
        "aside_run": aside_of(view) if view.state in SET_ASIDE else None,
    }


def _topic(under_way: Iterable[UnderWay]) -> str:
    """The first message that the run waits for."""
    return next((item.name for item in under_way if item.kind == Kind.RECEIVE), "")
