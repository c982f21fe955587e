"""A bookshop: what the pages of the dashboard are shown and tested with. ``AGE`` says which version of the code it is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from headrace import Event, EventType, Lifecycle, Pipeline, Retry, flow, on, publish, receive, sleep, start, step
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


@dataclass(frozen=True)
class Sighting:
    title: str
    price: float
    shop: str


def folded(data: dict[str, Any] | None, event: Event[Any]) -> dict[str, Any]:
    """What a search knows: what is looked for, and the best offer so far."""
    known = data or {}
    if event.topic == "search.begun":
        return {"title": event.data["title"], "customer": event.data["customer"]}
    return known | {"offer": event.data} if event.topic == "search.offered" else known


searches: Lifecycle[Any] = Lifecycle(
    "search",
    moves=[
        ("search.begun", None, "open"),
        ("search.asked", "open", "asking"),
        ("search.offered", "asking", "offered"),
        ("search.bought", "offered", "found"),
        ("search.refused", "offered", "asking"),
        ("search.failed", "*", "not_found"),
        ("search.cancelled", "*", "cancelled"),
    ],
    terminal=["found", "not_found", "cancelled"],
    notes=["search.reminded"],
    retry=("search.again", "open"),
    ends={"completed": "search.bought", "failed": "search.failed", "cancelled": "search.cancelled"},
    data=dict[str, Any],
    fold=folded,
)


@step
async def ask_dealers(search: str) -> Sighting:
    """Ask other dealers for a book that nobody has."""
    await sleep(timedelta(seconds=40))
    if search.endswith(("3", "8")):
        raise LookupError(f"no dealer has it; 4 were asked for {search}")
    return Sighting("The Leopard", 31.0, "Barbara's")


@flow(id="search-{search}")
async def look_for(search: str) -> str:
    """Look for a rare book."""
    await publish("search.asked", {"dealers": 4})
    offer = await ask_dealers(search)
    await publish("search.offered", {"price": offer.price, "shop": offer.shop})
    await sleep(timedelta(minutes=25))
    return f"bought at {offer.shop}"


async def write_to_customer(event: Event[Any]) -> None:
    """Write to a customer; the post office is not always open."""
    await sleep(timedelta(milliseconds=200))
    number = int(event.subject.partition("-")[2])
    if number % 6 == 2:
        raise ServiceUnavailable(f"HTTP 503 from the post office for customer {number}")
    if number % 6 == 5:
        raise ValueError(f"customer {number} has no address")


async def count_visits(event: Event[Any]) -> None:
    """Count who comes in."""


async def tell_the_owner(event: Event[Any]) -> None:
    """Tell the owner of a sale; the line is bad today."""
    raise ConnectionError("the line is busy")


letters = on(
    "customer.*", write_to_customer, name="letters", retry=Retry(attempts=2, first=5, on=ServiceUnavailable), parts=2
)
visits = on("#", count_visits, name="visits")
calls = on("search.bought", tell_the_owner, name="calls", retry=Retry(attempts=None, first=60, factor=4, ceiling=7200))
searchers = on(
    ("search.begun", "search.again"), look_for, name="searchers", args=lambda event: (event.subject,), job=searches
)
archive = Pipeline(
    "archive",
    flows=[look_for],
    lifecycles=[searches],
    events=[EventType("customer.moved", dict[str, str])],
    triggers=[letters, visits, calls, searchers],
)

pipeline = Pipeline("shop", flows=[place_order, deliver, refund, take_stock])
office = Pipeline("office", flows=[report] if AGE == "new" else [report, newsletter])
