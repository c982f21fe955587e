"""Tokens over HTTP; only those who have one of scope ``admin`` get here."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import APIRouter, Path

from headrace._access.model import Scope
from headrace._app import access
from headrace._app.access import MadeToken, TokenList, TokenView
from headrace._base import log
from headrace._web.demand import demands
from headrace._web.given import App, Asking
from headrace._web.openapi import problems
from headrace._web.schemas import MakeToken

router = APIRouter()
Name = Annotated[str, Path(description="The name of a token.")]


@router.get("")
@demands(Scope.ADMIN)
async def list_tokens(app: App) -> TokenList:
    """All tokens that were ever made, the oldest first; never the tokens themselves."""
    return app.database.read(access.list_tokens)


@router.post("", status_code=201, responses=problems(409))
@demands(Scope.ADMIN, secret=True)
async def make_token(app: App, body: MakeToken, asking: Asking) -> MadeToken:
    """Make a token. It is in this answer and nowhere else: only its hash is kept."""
    made = await access.make_token(app.database, app.clock, name=body.name, scope=body.scope)
    log.info("token.made", name=made.about.name, scope=made.about.scope, by=asking.name)
    return made


@router.post("/{name}/revoke", responses=problems(404))
@demands(Scope.ADMIN)
async def revoke_token(app: App, name: Name, asking: Asking) -> TokenView:
    """From now on this token is good for nothing, and whoever has logged in with it is out."""
    revoked = await access.revoke_token(app.database, app.clock, unquote(name))
    log.info("token.revoked", name=revoked.name, by=asking.name)
    return revoked
