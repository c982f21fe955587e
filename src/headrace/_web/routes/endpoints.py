"""Endpoints over HTTP; only those who have a token of scope ``admin`` get here, since what goes out is what is in the store."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Path

from headrace._access.model import Scope
from headrace._app.endpoint_view import AttemptView, EndpointList, EndpointView, NewSecret
from headrace._base import log
from headrace._web.demand import demands
from headrace._web.given import App, Asking
from headrace._web.openapi import problems
from headrace._web.schemas import AddEndpoint, DisableEndpoint, RotateSecret

router = APIRouter()
Name = Annotated[str, Path(description="The name of an endpoint.")]


@router.get("")
@demands(Scope.ADMIN)
async def list_endpoints(app: App) -> EndpointList:
    """Where events are sent as webhooks, and how the last attempt of each went; never the secrets."""
    return await app.webhooks.list()


@router.post("", status_code=201, responses=problems(409))
@demands(Scope.ADMIN, secret=True)
async def add_endpoint(app: App, body: AddEndpoint, asking: Asking) -> NewSecret:
    """Send events to an address, from the next one on. The secret of the signatures is in this answer and nowhere else."""
    made = await app.webhooks.add(
        body.name, body.url, topics=body.topics, filter=body.filter, allow_private=body.allow_private
    )
    log.info("webhook.added", endpoint=body.name, by=asking.name)
    return made


@router.get("/{name}", responses=problems(404))
@demands(Scope.ADMIN)
async def show_endpoint(app: App, name: Name) -> EndpointView:
    """One endpoint, and how its last attempt went."""
    return await app.webhooks.show(unquote(name))


@router.post("/{name}/test", responses=problems(404))
@demands(Scope.ADMIN)
async def try_endpoint(app: App, name: Name) -> AttemptView:
    """Send a ping there, once, and say how it went."""
    return await app.webhooks.test(unquote(name))


@router.post("/{name}/enable", responses=problems(404))
@demands(Scope.ADMIN)
async def enable_endpoint(app: App, name: Name, asking: Asking) -> EndpointView:
    """Send what has come meanwhile, and go on."""
    enabled = await app.webhooks.enable(unquote(name))
    log.info("webhook.enabled", endpoint=enabled.name, by=asking.name)
    return enabled


@router.post("/{name}/disable", responses=problems(404))
@demands(Scope.ADMIN)
async def disable_endpoint(app: App, name: Name, body: DisableEndpoint, asking: Asking) -> EndpointView:
    """Send nothing there until somebody enables it; what comes meanwhile waits."""
    disabled = await app.webhooks.disable(unquote(name), body.reason)
    log.info("webhook.disabled", endpoint=disabled.name, by=asking.name)
    return disabled


@router.post("/{name}/rotate", responses=problems(404))
@demands(Scope.ADMIN, secret=True)
async def rotate_endpoint(app: App, name: Name, body: RotateSecret, asking: Asking) -> NewSecret:
    """Sign with a new secret, which is in this answer and nowhere else, and for a while with the one before, too."""
    made = await app.webhooks.rotate(unquote(name), overlap=timedelta(seconds=body.overlap))
    log.info("webhook.rotated", endpoint=made.about.name, by=asking.name)
    return made


@router.post("/{name}/remove", responses=problems(404))
@demands(Scope.ADMIN)
async def remove_endpoint(app: App, name: Name, asking: Asking) -> EndpointView:
    """Send nothing more there, not what waits either; its dead letters stay, dismissed."""
    removed = await app.webhooks.remove(unquote(name))
    log.info("webhook.removed", endpoint=removed.name, by=asking.name)
    return removed
