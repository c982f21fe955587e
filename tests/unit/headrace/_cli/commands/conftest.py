"""A store with events, jobs and dead letters in it, which nobody runs any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headrace import Event, Lifecycle, Pipeline, Retry, flow, on, publish
from headrace._cli.main import main
from headrace.testing import Harness

Call = Callable[..., Result]

orders: Lifecycle[Any] = Lifecycle(
    "order",
    moves=[
        ("order.placed", None, "placed"),
        ("order.packed", "placed", "packed"),
        ("order.sent", "packed", "sent"),
        ("order.failed", "*", "failed"),
    ],
    terminal=["sent", "failed"],
    ends={"completed": "order.sent", "failed": "order.failed"},
    fold=lambda data, event: event.data or data,
)


@flow(id="deliver-{order}")
async def deliver(order: str) -> dict[str, str]:
    if order == "o-2":
        raise LookupError("nobody lives there")
    await publish("order.packed", {"boxes": 1})
    return {"by": "bike"}


async def tell(event: Event[Any]) -> None:
    if event.subject.startswith("bad"):
        raise ConnectionError(f"cannot tell {event.subject}")
    if event.subject == "odd":
        raise ValueError("too odd")


async def count(event: Event[Any]) -> None:
    """Counts nothing; the tests look at its subscription."""


PIPELINE = Pipeline(
    "shop",
    flows=[deliver],
    lifecycles=[orders],
    triggers=[
        on("order.placed", deliver, args=lambda event: (event.subject,), job=orders),
        on("news.#", tell, retry=Retry(attempts=1)),
        on("#", count),
    ],
)


async def fill(path: Path) -> None:
    async with Harness(PIPELINE, store=path, replay_check=False) as harness:
        for order in ("o-1", "o-2"):
            await harness.publish("order.placed", {"items": 2}, subject=order, id=f"placed/{order}", source="till")
            await harness.settle()
        await harness.publish("order.packed", subject="o-1", id="late")
        for subject in ("a", "bad-1", "bad-2", "odd", "bad-3"):
            await harness.publish("news.came", "hello", subject=subject, id=f"news/{subject}")
            await harness.settle()
        await harness.app.dismiss((await harness.app.dead_letters(subscription="shop.tell"))[0].id)
        await harness.app.pause_subscription("shop.count")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture
def call(shop: Path) -> Call:
    """`headrace WORDS --store` that store."""

    def called(*words: str, text: str | None = None) -> Result:
        return CliRunner().invoke(main, [*words, "--store", str(shop)], input=text)

    return called


@pytest.fixture
def call_empty(tmp_path: Path) -> Call:
    """The same on a store in which nothing has happened."""
    return _on_new_store(tmp_path / "empty.db", PIPELINE)


@pytest.fixture
def call_nobody_reads(tmp_path: Path) -> Call:
    """The same on a store that has no subscriptions."""
    return _on_new_store(tmp_path / "quiet.db", Pipeline("quiet"))


def _on_new_store(path: Path, pipeline: Pipeline) -> Call:
    async def make() -> None:
        async with Harness(pipeline, store=path):
            pass

    asyncio.run(make())
    return lambda *words: CliRunner().invoke(main, [*words, "--store", str(path)])
