"""What the routes share: the application behind a request, and parameters that many have."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path, Query, Request

from headrace._app.app import Headrace


def _headrace(request: Request) -> Headrace:
    app: Headrace = request.app.state.headrace
    return app


App = Annotated[Headrace, Depends(_headrace)]
Cursor = Annotated[int | None, Query(ge=0, le=2**63 - 1, description="`next` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many.")]


def _id(id: Annotated[str, Path(description="The id, percent-encoded.")]) -> str:
    return unquote(id)


Id = Annotated[str, Depends(_id)]
