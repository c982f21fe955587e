"""What a form brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

_MOST_FIELDS = 1_000


async def _posted(request: Request) -> Mapping[str, str]:
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise HTTPException(422, f"the form cannot be read: {error}") from error


Posted = Annotated[Mapping[str, str], Depends(_posted)]
"""The fields of a form, by name."""
