"""Webhooks of other systems, each to the pipeline that wants to hear of it."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Path, Request, Response

from headrace._access.model import Scope
from headrace._app.incoming import WebhookAnswer
from headrace._web.demand import demands
from headrace._web.gate import check_caller
from headrace._web.given import App
from headrace._web.openapi import problems

router = APIRouter()

_BODY = {
    "required": True,
    "description": "Whatever the sender sends, as JSON; the content type is not looked at.",
    "content": {"application/json": {"schema": {}, "example": {"type": "parcel.shipped", "parcel": "p-17"}}},
}


@router.post(
    "/webhooks/{name}",
    response_model=WebhookAnswer,
    responses=problems(401, 403, 404),
    openapi_extra={"requestBody": _BODY},
)
@demands(public=True)
async def receive_webhook(
    app: App, request: Request, name: Annotated[str, Path(description="Its name, `pipeline.webhook`.")]
) -> WebhookAnswer | Response:
    """Take a webhook of another system; what it says is an event on disk when this answers, or `accepted` is false: it is of no interest.

    The pipeline declares it, and what guards it: a signature as Standard Webhooks says (`webhook-id`, `webhook-timestamp`,
    `webhook-signature`), a token of its own, or a token of this server of scope `operate`. The same `webhook-id` gets the first
    answer again.
    """
    full = app.registry.find_webhook(unquote(name))
    if app.incoming.asks_for_own_token(full):
        refusal = check_caller(request.app.state.callers, request, Scope.OPERATE)
        if refusal is not None:
            return refusal
    return await app.receive_webhook(full, await request.body(), request.headers)
