"""What a route may ask for besides its parameters."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request

from headrace._access.model import Caller
from headrace._app.app import Headrace
from headrace._web import live
from headrace._web.gate import CALLER


def _headrace(request: Request) -> Headrace:
    app: Headrace = request.app.state.headrace
    return app


def _streams(request: Request) -> live.Streams:
    streams: live.Streams = request.app.state.streams
    return streams


def _caller(request: Request) -> Caller:
    caller: Caller = request.scope[CALLER]
    return caller


App = Annotated[Headrace, Depends(_headrace)]
Streams = Annotated[live.Streams, Depends(_streams)]
Asking = Annotated[Caller, Depends(_caller)]
LARGEST = 2**62
"""No number of a row comes near it, and databases take none that is much larger."""
Cursor = Annotated[int | None, Query(ge=0, le=LARGEST, description="`next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many.")]
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="The id of the last event that was read before a break.")
]


def _id(id: Annotated[str, Path(description="The id, percent-encoded.")]) -> str:
    return unquote(id)


Id = Annotated[str, Depends(_id)]
