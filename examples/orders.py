"""An order whose payment needs three attempts. Run it twice, `python examples/orders.py`: nobody pays twice."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta

from headrace import Headrace, Pipeline, Retry, flow, sleep, step
from headrace.errors import ServiceUnavailable


@dataclass(frozen=True)
class Order:
    number: int
    items: list[str]


@step
async def reserve(item: str) -> None:
    print(f"  reserve {item}")


@step(retry=Retry(attempts=5, first=0.2, factor=2, on=ServiceUnavailable))
async def charge(order: Order) -> str:
    print(f"  charge order {order.number}, attempt {step.attempt}")
    if step.attempt < 3:  # this card service is away twice
        raise ServiceUnavailable("the card service does not answer")
    return f"paid-{step.key}"  # the key is the same in every attempt, so a real service would charge once


@step
async def hand_over(order: Order) -> None:
    print(f"  parcel {order.number} leaves with {', '.join(order.items)}")


@flow(id="parcel-{order.number}")
async def deliver(order: Order) -> str:
    await hand_over(order)
    await sleep(timedelta(seconds=1))  # a row in the file, not a waiting thread: it may as well be a week
    return "delivered"


@flow(id="order-{order.number}")
async def place_order(order: Order) -> str:
    await asyncio.gather(*(reserve(item) for item in order.items))
    receipt = await charge(order)
    return f"{await deliver(order)}, {receipt}"  # calling a flow runs a child and waits for it


pipeline = Pipeline("orders", flows=[place_order, deliver])


async def main() -> None:
    async with Headrace([pipeline], store="orders.db") as app:
        run = await app.start(place_order, Order(number=7, items=["pen", "ink", "paper"]))
        print(f"{run.id}: {await run.result()}")


if __name__ == "__main__":
    asyncio.run(main())
