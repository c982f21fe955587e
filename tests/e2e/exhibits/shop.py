"""A bookshop: what the pages of the dashboard are shown and tested with. ``AGE`` says which version of the code it is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum

from headrace import Pipeline, Retry, flow, receive, sleep, start, step
from headrace.errors import ServiceUnavailable

AGE = "new"


class Speed(StrEnum):
    POST = "post"
    COURIER = "courier"


@dataclass(frozen=True)
class Item:
    title: str
    price: float


@dataclass(frozen=True)
class Order:
    number: int
    customer: str
    items: list[Item] = field(default_factory=list)


@dataclass(frozen=True)
class Decision:
    by: str
    approved: bool


@step
async def reserve(title: str) -> str:
    """Take a copy from the shelf."""
    await sleep(timedelta(milliseconds=180 + 40 * (len(title) % 5)))
    return f"shelf {len(title)}"


@step(retry=Retry(attempts=4, first=2, factor=2, on=ServiceUnavailable), timeout=30)
async def charge(order: Order) -> str:
    """Ask the card service for the money."""
    await sleep(timedelta(milliseconds=900))
    if order.number % 4 == 2 and step.attempt < 3:
        raise ServiceUnavailable("the card service does not answer")
    if order.number % 17 == 5:
        raise ValueError(f"card of {order.customer} was refused: the limit is reached")
    return f"paid-{order.number}"


@step
async def print_label(order: Order, speed: Speed) -> str:
    """Print the label of a parcel."""
    await sleep(timedelta(milliseconds=350))
    return f"{speed}-{order.number:05}"


@step
async def notify(customer: str, text: str) -> None:
    """Write to a customer."""
    await sleep(timedelta(milliseconds=120))


@step
async def read_sales(day: date) -> list[float]:
    """Read what was sold on a day."""
    await sleep(timedelta(seconds=3))
    return [19.9, 12.5, 31.0]


@step
async def count_stock(shelf: str) -> int:
    """Count the copies on a shelf; takes its time."""
    step.progress({"counted": 1240, "of": 3100})
    await sleep(timedelta(hours=2))
    return 3100


@flow(id="parcel-{order.number}")
async def deliver(order: Order, speed: Speed = Speed.POST) -> str:
    """Bring a parcel to its door."""
    label = await print_label(order, speed)
    await sleep(timedelta(minutes=20) if speed is Speed.COURIER else timedelta(days=2))
    await notify(order.customer, f"parcel {label} is there")
    return label


@flow(id="order-{order.number}")
async def place_order(order: Order, gift: bool = False) -> str:
    """Sell books: reserve, charge, deliver."""
    await asyncio.gather(*(reserve(item.title) for item in order.items))
    receipt = await charge(order)
    await notify(order.customer, "thank you")
    label = await deliver(order, Speed.COURIER if order.number % 3 else Speed.POST)
    return f"{receipt}, {label}"


@flow(id="refund-{number}")
async def refund(number: int, amount: float, reason: str = "") -> str:
    """Give money back, when somebody has agreed."""
    await notify("desk", f"refund {amount} for order {number}?")
    for _ in range(3):
        try:
            async with asyncio.timeout(timedelta(hours=8).total_seconds()):
                decision = await receive("decision", Decision)
                return f"{'paid' if decision.approved else 'refused'} by {decision.by}"
        except TimeoutError:
            await notify("desk", f"order {number} still waits for you")
    return "forgotten"


@flow(id="report-{day}")
async def report(day: date) -> float:
    """What was sold on a day."""
    if AGE == "old":
        await notify("office", f"the report of {day} is being made")
        await sleep(timedelta(days=1))
    sales = await read_sales(day)
    await start(refund, 9_000 + day.day, sum(sales))
    await sleep(timedelta(days=1))
    return sum(sales)


@flow(id="stock-{shelf}")
async def take_stock(shelf: str) -> int:
    """Count a shelf."""
    return await count_stock(shelf)


@flow(id="newsletter-{week}")
async def newsletter(week: str) -> None:
    """Gone in the new code."""
    await sleep(timedelta(days=1))


pipeline = Pipeline("shop", flows=[place_order, deliver, refund, take_stock])
office = Pipeline("office", flows=[report] if AGE == "new" else [report, newsletter])
