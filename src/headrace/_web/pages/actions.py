"""What the buttons do: each is a form, calls what the API calls, and leads back to the run."""

from __future__ import annotations

import json

from starlette.responses import Response

from headrace._web.pages.frame import InFrame, RunId, page_router
from headrace._web.pages.links import run_link
from headrace._web.pages.posted import Posted
from headrace.errors import ValueRefused

router = page_router()


@router.post("/runs/{id}/cancel")
async def cancel(frame: InFrame, run_id: RunId, posted: Posted) -> Response:
    await frame.app.cancel(run_id, force=bool(posted.get("force")))
    return frame.to(run_link(run_id))


@router.post("/runs/{id}/retry")
async def retry(frame: InFrame, run_id: RunId) -> Response:
    ref = await frame.app.retry(run_id)
    return frame.to(run_link(ref.id))


@router.post("/runs/{id}/send")
async def send(frame: InFrame, run_id: RunId, posted: Posted) -> Response:
    topic = posted.get("topic", "").strip()
    if not topic:
        raise ValueRefused("a message needs a topic; it is the name that the flow gives to receive(…)")
    await frame.app.send(run_id, topic, _value(posted.get("value", "")))
    return frame.to(run_link(run_id))


def _value(text: str) -> object:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueRefused(f'the message is no JSON ({error}); a text stands in quotes, for example "yes"') from error
