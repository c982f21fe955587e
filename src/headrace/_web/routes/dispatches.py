"""Events from other systems, in the form of GitHub's ``repository_dispatch``."""

from __future__ import annotations

from fastapi import APIRouter, Response

from headrace._web.given import App
from headrace._web.schemas import Dispatch

router = APIRouter()


@router.post("/dispatches", status_code=204, response_class=Response)
async def dispatch(app: App, body: Dispatch) -> None:
    """Publish an event as GitHub takes it: `event_type` is the topic, `client_payload` the data.

    Its subject is `client_payload.subject` if there is one, and `dispatches` otherwise; `client_payload.id` makes it once for each id.
    """
    payload = body.client_payload
    await app.publish(
        body.event_type,
        body.data,
        subject=payload.subject or "dispatches",
        id=payload.id,
        source="dispatches",
        plain=True,
    )
