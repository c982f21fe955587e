"""A program under load that is killed by its tests: `python -m tests.durability.load_program FOLDER RUNS`.

It starts what is not there yet, and writes a line for each thing that Headrace has acknowledged and for each time a step ran.
Killed at any moment and started again, it must end with every acknowledged thing done and no recorded step repeated.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path

from headrace import (
    Event,
    Headrace,
    Pipeline,
    Retry,
    Statement,
    Transaction,
    continue_as_new,
    flow,
    on,
    patched,
    publish,
    random,
    receive,
    send,
    sleep,
    start,
    step,
    use,
    wait_event,
)
from headrace.errors import ServiceUnavailable
from headrace.testing.faults import arm_from_environment

MESSAGES = 3


class Diary:
    """Lines that survive the death of this process; each is one write, so none is torn."""

    def __init__(self, folder: Path) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._steps = os.open(folder / "steps", flags)
        self._weighed = os.open(folder / "weighed", flags)
        self._acknowledged = os.open(folder / "acknowledged", flags)

    def ran(self, key: str) -> None:
        os.write(self._steps, f"{key}\n".encode())

    def weighed(self, what: str) -> None:
        os.write(self._weighed, f"{what}\n".encode())

    def acknowledged(self, what: str) -> None:
        os.write(self._acknowledged, f"{what}\n".encode())


@step
async def double(value: int) -> int:
    use(Diary).ran(step.key)
    await asyncio.sleep(0)
    return 2 * value


@step
def in_thread(value: int) -> int:
    use(Diary).ran(step.key)
    return value + 1


@step(retry=Retry(attempts=4, first=0.01))
async def shaky(value: int) -> int:
    use(Diary).ran(step.key)
    if step.attempt < 3:
        raise ServiceUnavailable("not yet")
    return value


_MAKE = Statement("make", "CREATE TABLE IF NOT EXISTS load_counted (key TEXT, run TEXT)")
_COUNT = Statement("count", "INSERT INTO load_counted (key, run) VALUES (:key, :run)")


@step(transactional=True)
def count(tx: Transaction, run: str) -> None:
    tx.run(_MAKE)
    tx.run(_COUNT, {"key": step.key, "run": run})


@flow(id="leaf-{number}")
async def leaf(number: int) -> int:
    await sleep(timedelta(milliseconds=random().randrange(1, 20)))
    return await double(number)


@flow(id="echo-{number}")
async def echo(number: int, total: int = 0, left: int = MESSAGES) -> int:
    total += await receive("add", int)
    if left > 1:
        continue_as_new(number, total, left - 1)
    return total


@flow(id="tree-{number}")
async def tree(number: int) -> list[int]:
    if patched("threads"):
        number = await in_thread(number) - 1

    async def branch(index: int) -> int:
        return await double(await shaky(number * 10 + index))

    results = await asyncio.gather(*(branch(index) for index in range(3)), leaf(number))
    await start(echo, number)
    for value in range(1, MESSAGES + 1):
        await send(f"echo-{number}", "add", value * number)
    await count(f"tree-{number}")
    try:
        async with asyncio.timeout(0.005):
            await sleep(timedelta(hours=1))
    except TimeoutError:
        results.append(-1)
    await publish("load.grown", number, subject=f"tree-{number}")
    weighed = await wait_event("load.weighed", subject=f"tree-{number}")
    assert weighed.data == number
    return results


async def weigh(event: Event[int]) -> None:
    use(Diary).weighed(event.subject)
    if step.attempt < event.data % 3:
        raise ServiceUnavailable("not yet")
    await publish("load.weighed", event.data, subject=event.subject)


_MAKE_TALLY = Statement("make_tally", "CREATE TABLE IF NOT EXISTS load_tallied (run TEXT)")
_TALLY = Statement("tally", "INSERT INTO load_tallied (run) VALUES (:run)")


@step(transactional=True)
def tally(tx: Transaction, event: Event[int]) -> None:
    tx.run(_MAKE_TALLY)
    tx.run(_TALLY, {"run": event.subject})


def expected(number: int) -> list[int]:
    return [*(2 * (number * 10 + index) for index in range(3)), 2 * number, -1]


def expected_echo(number: int) -> int:
    return sum(value * number for value in range(1, MESSAGES + 1))


async def main(folder: Path, runs: int) -> None:
    diary = Diary(folder)
    impatient = Retry(attempts=9, first=0.01)
    pipeline = Pipeline(
        "load",
        flows=[tree, leaf, echo],
        triggers=[on("load.grown", weigh, retry=impatient), on("load.#", tally, retry=impatient)],
        wire=lambda: diary,
    )
    async with Headrace([pipeline], store=folder / "store.db", preflight="off") as app:

        async def one(number: int) -> None:
            run = await app.start(tree, number)
            diary.acknowledged(run.id)
            assert await run.result() == expected(number), number
            assert await app.handle(f"echo-{number}").result() == expected_echo(number), number

        await asyncio.gather(*(one(number) for number in range(runs)))
        while any(subscription.behind for subscription in await app.subscriptions()):  # noqa: ASYNC110 - as a script would
            await asyncio.sleep(0.01)
    print("all done", flush=True)


if __name__ == "__main__":
    with arm_from_environment():
        asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
