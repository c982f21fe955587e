"""A running Headrace, and clients that ask its server in process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from headrace import Headrace, Pipeline, flow, receive, sleep, step
from headrace._access.model import Scope
from headrace._app.access import make_token
from headrace._web.admission import Admission
from headrace._web.app import create_app


@step
async def double(number: int) -> int:
    return 2 * number


@flow(id="double-{number}")
async def doubled(number: int) -> int:
    return await double(number)


@flow(id="mail/{who}?")
async def mail(who: str) -> str:
    return await receive("letter", str)


@flow(id="bad-{number}")
async def bad(number: int) -> None:
    raise ValueError(f"not {number}")


@flow(id="long-{number}")
async def long(number: int) -> float:
    await sleep(timedelta(days=1))
    return float("nan")


@flow
async def strange() -> float:
    return float("nan")


PIPELINE = Pipeline("web", flows=[doubled, mail, bad, long, strange])
OPEN_TO_OTHERS = Admission(needs_token=True)


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Headrace]:
    async with Headrace([PIPELINE], store=tmp_path / "web.db") as running:
        yield running


def client_of(
    app: Headrace, *, token: str | None = None, host: str = "127.0.0.1", admission: Admission | None = None
) -> httpx2.AsyncClient:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    transport = httpx2.ASGITransport(app=create_app(app, admission or Admission()))
    return httpx2.AsyncClient(transport=transport, base_url=f"http://{host}:8420", headers=headers)


@pytest.fixture
async def client(app: Headrace) -> AsyncIterator[httpx2.AsyncClient]:
    """A program of this machine, without a token."""
    async with client_of(app) as asking:
        yield asking


NewToken = Callable[..., Awaitable[str]]


@pytest.fixture
def new_token(app: Headrace) -> NewToken:
    async def make(scope: Scope = Scope.ADMIN, name: str = "tester") -> str:
        made = await make_token(app.database, app.clock, name=name, scope=scope)
        return made.token

    return make
