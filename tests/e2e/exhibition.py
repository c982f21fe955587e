"""A store in which something of everything has happened, made in the same way each time, and a server that shows it at a moment that stands still."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import uvicorn
from fastapi import FastAPI

from headrace._web.admission import Admission
from headrace._web.app import create_app
from headrace._web.pages.pulse import Beat
from headrace._web.server import _Server
from headrace.testing import Harness

BEGINNING = datetime(2026, 11, 18, 7, 10, tzinfo=UTC)
_FLOWS = Path(__file__).parent / "exhibits" / "shop.py"
_TITLES = ("Middlemarch", "Moby-Dick", "Emma", "Ulysses", "The Leopard", "Stoner", "Solaris")
_CUSTOMERS = ("Ada", "Grace", "Edsger", "Barbara", "Alan")


def shop(folder: Path, age: str) -> ModuleType:
    """The flows, from a file in the store's folder, so that no page speaks of another place."""
    path = folder / "shop.py"
    path.write_text(_FLOWS.read_text("utf-8").replace('AGE = "new"', f'AGE = "{age}"'), "utf-8")
    spec = importlib.util.spec_from_file_location("shop", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shop"] = module
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def exhibition(folder: Path) -> AsyncIterator[Harness]:
    """The shop after a night and a morning of work, with all that can happen to runs."""
    store = folder / "headrace.db"
    old = shop(folder, "old")
    async with _harness(old, store, BEGINNING) as harness:
        await harness.start(old.report, date(2026, 11, 17))
        await harness.start(old.newsletter, "2026-W47")
        await harness.advance(timedelta(hours=23))
    new = shop(folder, "new")
    async with _harness(new, store, BEGINNING + timedelta(hours=23)) as harness:
        await _a_morning(harness, new)
        yield harness


def _harness(module: ModuleType, store: Path, beginning: datetime) -> Harness:
    return Harness(
        module.pipeline,
        module.office,
        module.archive,
        store=store,
        start=beginning,
        replay_check=False,
        strict=False,
        seed=1,
    )


async def _a_morning(harness: Harness, module: Any) -> None:
    for number in range(1, 41):
        titles = [_TITLES[(number + at) % len(_TITLES)] for at in range(1 + number % 3)]
        order = module.Order(
            number=number,
            customer=_CUSTOMERS[number % len(_CUSTOMERS)],
            items=[module.Item(title=title, price=9.5 + len(title)) for title in titles],
        )
        await harness.start(module.place_order, order, number % 5 == 0)
        if number % 9 == 3:
            await harness.start(module.refund, number, 12.5)
        await harness.advance(timedelta(minutes=2))
        await _an_event_or_two(harness, number)
    await harness.start(module.report, date(2026, 11, 19))
    await harness.send("refund-3", "decision", module.Decision(by="Ada", approved=True))
    await harness.advance(timedelta(minutes=4))
    await harness.cancel("refund-12")
    await harness.publish(
        "search.reminded",
        {"by": "Ada"},
        subject=harness.app.registry.catalogue.lifecycle("search").job("rare-39"),
        id="reminder-1",
    )
    await harness.app.retry_job("search", "rare-23")
    for shelf in ("A", "B"):
        await harness.start(module.take_stock, shelf)
    order = module.Order(number=42, customer="Grace", items=[module.Item(title="Solaris", price=16.5)])
    await harness.start(module.place_order, order)
    await harness.advance(timedelta(seconds=5))


async def _an_event_or_two(harness: Harness, number: int) -> None:
    customer = f"customer-{number}"
    street = f"{number} Wharf Road"
    await harness.publish(
        "customer.moved", {"street": street}, subject=customer, id=f"moved-{number}", source="website"
    )
    if number % 4 == 3:
        wish = {"title": _TITLES[number % len(_TITLES)], "customer": _CUSTOMERS[number % len(_CUSTOMERS)]}
        await harness.publish("search.begun", wish, subject=f"rare-{number}", id=f"wish-{number}", source="counter")
    if number in (15, 27):
        # Told twice by somebody, and too early.
        await harness.publish(
            "search.bought", {"by": "phone"}, subject=f"rare-{number}", id=f"call-{number}", source="phone"
        )
    if number == 31:
        await harness.app.pause_subscription("archive.visits")


def still_beat() -> Beat:
    minutes = [int(70 + 40 * math.sin(at / 7) + 25 * math.sin(at * 1.7) + 14 * (at % 3)) for at in range(58)]
    return Beat(minutes=tuple(minutes), last_minute=96)


@asynccontextmanager
async def shown(harness: Harness) -> AsyncIterator[str]:
    """The address at which the dashboard of a harness can be seen."""
    api: FastAPI = create_app(harness.app, Admission())
    api.state.studio.pulse.beat = still_beat
    config = uvicorn.Config(api, port=0, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    await server.ready.wait()
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        api.state.streams.close()
        server.should_exit = True
        await serving
