"""Pages and routes of pipelines, visited without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from headrace._app.app import Headrace
from headrace._web.admission import Admission
from headrace._web.app import create_app

_ADDRESS = "http://127.0.0.1:8420"


@asynccontextmanager
async def visitor(app: Headrace) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that asks the server of a running Headrace as a browser would: ``async with visitor(harness.app) as client``."""
    transport = httpx2.ASGITransport(app=create_app(app, Admission()))
    headers = {"Accept": "text/html,application/json", "Sec-Fetch-Site": "same-origin"}
    async with httpx2.AsyncClient(transport=transport, base_url=_ADDRESS, headers=headers) as client:
        yield client
