"""Runs over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Response

from headrace._app.app import Headrace, Started
from headrace._app.feed import RunFeed
from headrace._app.inspection import page_of_runs, result_of
from headrace._app.view import History, RunDetail, RunPage, RunResult, to_plain
from headrace._runs.model import RunState
from headrace._web.given import LARGEST, App, Cursor, LastEventId, Streams
from headrace._web.live import LiveEvent
from headrace._web.openapi import plain_text, problems
from headrace._web.schemas import Accepted, CancelRun, SendMessage, Stack, StartRun
from headrace.errors import RunNotFound

router = APIRouter()


def _run_id(id: Annotated[str, Path(description="The id of a run, percent-encoded.")]) -> str:
    return unquote(id)


RunId = Annotated[str, Depends(_run_id)]
Number = Annotated[int | None, Query(ge=1, le=LARGEST, description="Which run of that id; the newest by default.")]

_STREAM = """\
id: 1769846400000000-7
event: run
data: {"id": "order-17", "number": 1, "flow": "shop.fulfil", "state": "running", "reason": "", ...}

event: missed
data: {}
"""


@router.get("", responses=problems(404))
async def list_runs(
    app: App,
    flow: str | None = None,
    state: RunState | None = None,
    search: Annotated[str | None, Query(description="A part of the id.")] = None,
    only_open: bool = False,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> RunPage:
    """Runs, the newest first."""
    return app.database.read(
        lambda reader: page_of_runs(
            reader, flow=flow, state=state, search=search, only_open=only_open, before=cursor, count=limit
        )
    )


@router.post(
    "",
    status_code=201,
    responses={200: {"model": Started, "description": "It was there before."}, **problems(404, 409)},
)
async def start_run(app: App, body: StartRun, response: Response) -> Started:
    """Start a run (201), or join the one that has the same id (200); it is on disk when this answers."""
    started = await app.start_named(body.flow, body.arguments, run_id=body.id, policy=body.policy)
    response.status_code = 200 if started.joined else 201
    return started


# Before the runs by id. A run that is called so is asked for as /api/runs/%6Cive, since paths are matched as they come.
@router.get(
    "/live", response_class=Response,
    responses={200: plain_text("Server-sent events, until either side ends it.", kind="text/event-stream", example=_STREAM)},
)  # fmt: skip
async def live_runs(app: App, streams: Streams, last_event_id: LastEventId = None) -> Response:
    """Runs whose state changes, while it happens, as server-sent events.

    `run` carries a RunView; a run that changes several times within a tenth of a second is told once.
    `missed` says that more has changed than is told, for example since `Last-Event-ID`: read the list anew.
    """
    return streams.answer(_run_events(app.changes(since=last_event_id)))


@router.get("/{id}", responses=problems(404))
async def show_run(app: App, run_id: RunId, number: Number = None) -> RunDetail:
    """All that is known of a run, but its history."""
    return await app.detail(run_id, number)


@router.get("/{id}/history", responses=problems(404))
async def run_history(
    app: App,
    run_id: RunId,
    number: Number = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
) -> History:
    """What entered a run, in order, with the failed attempts of its steps."""
    return await app.history(run_id, number, after=cursor or 0, count=limit)


@router.get("/{id}/result", responses=problems(404))
async def run_result(
    app: App,
    run_id: RunId,
    number: Number = None,
    wait: Annotated[float, Query(ge=0, le=60, description="How many seconds to wait for the end.")] = 0,
) -> RunResult:
    """How a run ended; `ended` is false if it has not."""
    if wait:
        try:
            async with asyncio.timeout(wait):
                await app.engine.wait(run_id, number)
        except TimeoutError:
            pass
    return app.database.read(lambda reader: result_of(reader, run_id, number))


@router.get("/{id}/stack", responses=problems(404))
async def run_stack(app: App, run_id: RunId) -> Stack:
    """Where the code of a run waits."""
    await app.get(run_id)
    return Stack(id=run_id, lines=app.engine.stack(run_id))


@router.post("/{id}/send", status_code=201, responses=problems(404, 409))
async def send_message(app: App, run_id: RunId, body: SendMessage) -> Accepted:
    """Leave a message for an open run; it is on disk when this answers."""
    await app.send(run_id, body.topic, body.value)
    return await _accepted(app, run_id)


@router.post("/{id}/cancel", responses=problems(404, 409))
async def cancel_run(app: App, run_id: RunId, body: CancelRun) -> Accepted:
    """Ask a run to stop; its flow may clean up first."""
    await app.cancel(run_id, force=body.force)
    return await _accepted(app, run_id)


@router.post("/{id}/retry", responses=problems(404, 409))
async def retry_run(app: App, run_id: RunId) -> Accepted:
    """Let a blocked or quarantined run go on, or start a failed one again with the same input."""
    ref = await app.retry(run_id)
    return await _accepted(app, ref.id, ref.number)


async def _run_events(feed: RunFeed) -> AsyncIterator[LiveEvent]:
    try:
        async for changed in feed:
            position = changed.position or ""
            if changed.missed:
                yield LiveEvent(event="missed", data="{}", id="" if changed.runs else position)
            for at, run in enumerate(changed.runs, start=1):
                # Only the last one has an id: a reader that was cut off before it has not read all up to there.
                yield LiveEvent(
                    event="run", data=json.dumps(to_plain(run)), id=position if at == len(changed.runs) else ""
                )
    finally:
        feed.close()


async def _accepted(app: Headrace, run_id: str, number: int | None = None) -> Accepted:
    try:
        view = await app.get(run_id, number)
    except RunNotFound:  # it was accepted; that it is gone already is no reason to say otherwise
        return Accepted(id=run_id, number=number or 1, state="")
    return Accepted(id=view.id, number=view.number, state=view.state)
