"""A running application with runs of many kinds, asked in process as a browser would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path

import httpx2
import pytest
from pydantic import BaseModel

from headrace import Headrace, Pipeline, Retry, flow, receive, sleep, step
from headrace._engine.engine import Limits
from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace.testing import Harness, visitor
from tests.unit.headrace._web.pages.house import PIPELINE as HOUSE

EVIL = "<script>alert('x')</script>\"&'/🚰"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    y: int = 0


@step
async def double(number: int) -> int:
    """Twice as much."""
    return 2 * number


@step(retry=Retry(attempts=3, first=0.001, factor=1), timeout=5)
async def shaky(text: str) -> str:
    if step.attempt < 3:
        raise OSError(f"no answer from {text}")
    return text


@step(retry=Retry(attempts=2, first=600))
async def patient(text: str) -> str:
    raise OSError(text)


@step
async def endless() -> None:
    await asyncio.Event().wait()


@flow(id="double-{number}")
async def doubled(number: int) -> int:
    """Double a number."""
    return await double(number)


@flow(id="mail-{who}")
async def mail(who: str) -> str:
    """Wait for a letter."""
    return await receive("letter", str)


@flow(id="bad-{text}")
async def bad(text: str) -> None:
    raise ValueError(text)


@flow(id="retried-{text}")
async def retried(text: str) -> str:
    return await shaky(text)


@flow(id="retrying-{text}")
async def retrying(text: str) -> str:
    return await patient(text)


@flow(id="busy-{number}")
async def busy(number: int) -> None:
    await endless()


@flow(id="parent-{number}")
async def parent(number: int) -> int:
    await sleep(timedelta(milliseconds=1))
    return await doubled(number)


@flow
async def asked(
    count: int,
    name: str,
    colour: Colour,
    day: date,
    point: Point,
    points: list[Point] | None = None,
    is_loud: bool = False,
    share: float = 0.5,
) -> str:
    """Takes something of everything."""
    return f"{count} {name} {colour} {day} {point} {points} {is_loud} {share}"


PIPELINE = Pipeline("shown", flows=[doubled, mail, bad, retried, retrying, busy, parent, asked])
Browsing = Callable[[Headrace], AbstractAsyncContextManager[httpx2.AsyncClient]]


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Headrace]:
    async with Headrace([PIPELINE], store=tmp_path / "shown.db", limits=Limits(drain_seconds=0)) as running:
        yield running


@asynccontextmanager
async def browsing(app: Headrace) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_app(app, Admission()))
    headers = {"Accept": "text/html,application/xhtml+xml", "Sec-Fetch-Site": "same-origin"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8420", headers=headers) as client:
        yield client


@pytest.fixture
async def browser(app: Headrace) -> AsyncIterator[httpx2.AsyncClient]:
    async with browsing(app) as client:
        yield client


async def until(app: Headrace, run_id: str, *states: str) -> None:
    """Wait until a run is in one of these states."""
    while (await app.get(run_id)).state not in states:
        await app.database.write(lambda tx: None)


@pytest.fixture
async def house() -> AsyncIterator[Harness]:
    async with Harness(HOUSE) as running:
        yield running


@pytest.fixture
async def guest(house: Harness) -> AsyncIterator[httpx2.AsyncClient]:
    """Who looks at the house."""
    async with visitor(house.app) as client:
        yield client
