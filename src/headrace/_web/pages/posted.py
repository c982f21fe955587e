"""What a form brings, and whether it comes from a page of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

_MOST_FIELDS = 1_000
_OURS = {"same-origin", "none"}  # `none`: the person, not a page, has asked for it


async def _posted(request: Request) -> Mapping[str, str]:
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise HTTPException(422, f"the form cannot be read: {error}") from error


Posted = Annotated[Mapping[str, str], Depends(_posted)]
"""The fields of a form, by name."""


def refuse_foreign(request: Request) -> None:
    """Raises for a form that a page of another site has sent here; a browser says where a form comes from."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    is_foreign = site not in _OURS if site is not None else not _is_own(origin, request.headers.get("host", ""))
    if is_foreign:
        raise HTTPException(403, "this form was sent by a page of another site; nothing was done")


def _is_own(origin: str | None, host: str) -> bool:
    # A program that is no browser sends neither header, and needs no page of ours to do harm.
    return origin is None or urlsplit(origin).netloc == host
