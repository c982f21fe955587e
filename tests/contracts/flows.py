"""Flows for the contract of the engine port; they use public names only and suit every engine."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace import (
    Pipeline,
    Retry,
    RunRef,
    continue_as_new,
    flow,
    now,
    patched,
    random,
    receive,
    send,
    sleep,
    sleep_until,
    start,
    step,
    use,
    uuid,
)
from headrace.errors import DefinitionError, RateLimited, ServiceUnavailable


class World:
    """The outside world of these flows: what happened, how often, and what is allowed to happen."""

    def __init__(self) -> None:
        self.effects: Counter[str] = Counter()
        self.keys: defaultdict[str, list[str]] = defaultdict(list)
        self.failures: Counter[str] = Counter()
        self.gates: dict[str, asyncio.Event] = {}
        self.seen: list[str] = []

    def gate(self, name: str) -> asyncio.Event:
        return self.gates.setdefault(name, asyncio.Event())


@dataclass(frozen=True)
class Parcel:
    number: float
    pair: tuple[int, str]
    tags: frozenset[str]
    at: datetime


@step
async def effect(name: str) -> str:
    world = use(World)
    world.effects[name] += 1
    world.keys[name].append(step.key)
    return name.upper()


@step
async def delayed(name: str, seconds: float) -> str:
    await sleep(seconds)
    return name


@step
async def parse(text: str) -> str:
    return f"parsed-{text}"


@step
async def broken(text: str) -> str:
    raise LookupError(text, 7)


@step(retry=Retry(attempts=5, first=0.01, on=ServiceUnavailable))
async def flaky(name: str, times: int) -> int:
    world = use(World)
    world.failures[name] += 1
    if world.failures[name] <= times:
        raise ServiceUnavailable(f"failure {world.failures[name]}")
    return step.attempt


@step(retry=Retry(attempts=5, first=0.01, on=ServiceUnavailable))
async def refused(name: str) -> None:
    use(World).failures[name] += 1
    raise PermissionError("no")


@step(retry=Retry(attempts=2, first=0.01))
async def limited(name: str) -> float:
    world = use(World)
    world.failures[name] += 1
    if world.failures[name] == 1:
        world.seen.append(now().isoformat())
        raise RateLimited(retry_after=timedelta(seconds=0.3))
    return (now() - datetime.fromisoformat(world.seen[-1])).total_seconds()


@step(timeout=0.05)
async def slow_on_the_loop() -> None:
    await sleep(60)


@step(timeout=0.05)
def slow_in_a_thread() -> None:
    while not step.cancelled:
        threading.Event().wait(0.005)


@step
async def gated(name: str) -> str:
    world = use(World)
    world.seen.append(f"{name} began")
    try:
        await world.gate(name).wait()
    except asyncio.CancelledError:
        world.seen.append(f"{name} cancelled")
        raise
    return name


@step
async def append(items: list[int]) -> list[int]:
    items.append(99)
    return items


@step
async def echo(parcel: Parcel) -> Parcel:
    return parcel


@step
async def untyped():  # type: ignore[no-untyped-def]  # as in a script
    return {1: (2, 3)}


@step
async def wrong_type() -> int:
    return "seven"  # type: ignore[return-value]


@step
async def blob(size: int) -> str:
    return "x" * size


@step(at_most_once=True)
async def once(name: str) -> str:
    use(World).effects[name] += 1
    return name


@step
async def nested() -> str:
    return await parse("inner")


@flow(id="greet-{name}")
async def greet(name: str) -> str:
    return await effect(name)


@flow
async def branches(names: list[str]) -> list[str]:
    async def branch(index: int, name: str) -> str:
        return await parse(await delayed(name, 0.03 * (len(names) - index) / len(names)))

    return await asyncio.gather(*(branch(index, name) for index, name in enumerate(names)))


@flow
async def group(names: list[str]) -> list[str]:
    done: list[str] = []

    async def branch(name: str, seconds: float) -> None:
        done.append(await delayed(name, seconds))

    async with asyncio.TaskGroup() as tasks:
        for index, name in enumerate(names):
            tasks.create_task(branch(name, 0.02 * (len(names) - index)))
    return done


@flow
async def catches() -> str:
    try:
        await broken("lost")
    except LookupError as error:
        return f"{type(error).__name__} {error.args}"
    return "no error"


@flow(id="fails-{name}")
async def fails(name: str) -> str:
    await effect(name)
    return await broken(name)


@flow
async def persistent(name: str, times: int) -> int:
    return await flaky(name, times)


@flow
async def hopeless(name: str) -> None:
    await refused(name)


@flow
async def patient(name: str) -> float:
    return await limited(name)


@flow
async def timed_out_steps() -> list[str]:
    caught = []
    for call in (slow_on_the_loop, slow_in_a_thread):
        try:
            await call()
        except TimeoutError as error:
            caught.append(type(error).__name__)
    return caught


@flow
async def impatient() -> str:
    try:
        async with asyncio.timeout(0.05):
            await gated("impatient")
    except TimeoutError:
        return "gave up"
    return "got it"


@flow(id="careful-{name}")
async def careful(name: str) -> None:
    try:
        await gated(name)
    finally:
        await effect(f"{name} cleaned up")


@flow(id="stubborn-{name}")
async def stubborn(name: str) -> str:
    try:
        await gated(name)
    except asyncio.CancelledError:
        return "went on"
    return "was let go"


@flow(id="parent-{name}")
async def parent(name: str) -> str:
    return await careful_child(name)


@flow(id="child-{name}")
async def careful_child(name: str) -> str:
    try:
        return await gated(name)
    finally:
        await effect(f"{name} cleaned up")


@flow
async def parent_of_failing() -> str:
    try:
        await fails("child")
    except Exception as error:  # noqa: BLE001  whatever it is, its class is the answer
        return f"{type(error).__name__} because of {type(error.__cause__).__name__}"
    return "no error"


@flow
async def launcher(name: str) -> RunRef:
    return await start(waits_for_go, name)


@flow(id="go-{name}")
async def waits_for_go(name: str) -> str:
    return await receive("go", str)


@flow(id="collector-{name}")
async def collector(name: str, count: int) -> list[int]:
    return [await receive("number", int) for _ in range(count)]


@flow
async def talker(target: str) -> None:
    for number in range(3):
        await send(target, "number", number)


@flow
async def talks_to_nobody() -> str:
    try:
        await send("nobody", "number", 1)
    except LookupError:
        return "wrong"
    except Exception as error:  # noqa: BLE001  whatever it is, its class is the answer
        return type(error).__name__
    return "sent"


@flow(id="counter-{name}")
async def counter(name: str, value: int = 0, rounds: int = 3) -> int:
    value += await receive("add", int)
    if rounds > 1:
        continue_as_new(name, value, rounds - 1)
    return value


@flow
async def sleeper(seconds: float) -> float:
    before = now()
    await sleep(seconds)
    await sleep_until(now() - timedelta(seconds=5))
    return (now() - before).total_seconds()


@flow
async def mutator() -> list[list[int]]:
    items = [1]
    call = append(items)
    items.append(2)
    returned = await call
    returned.append(3)
    return [items, returned]


@flow
async def exact(parcel: Parcel) -> bool:
    back = await echo(parcel)
    return math.isnan(back.number) and (back.pair, back.tags, back.at) == (parcel.pair, parcel.tags, parcel.at)


@flow
async def as_recorded() -> str:
    return repr(await untyped())


@flow
async def ill_typed() -> int:
    return await wrong_type()


@flow
async def large(size: int) -> int:
    return len(await blob(size))


@flow(timeout=0.1)
async def late() -> None:
    try:
        await sleep(60)
    finally:
        await effect("late cleaned up")


@flow
async def draws() -> list[str]:
    numbers = [str(random().random()), str(uuid()), now().isoformat()]
    await sleep(0.01)
    return [*numbers, str(random().random()), str(uuid())]


@flow
async def modern() -> str:
    return "new" if patched("modern") else "old"


@flow
async def careful_once(name: str) -> str:
    return await once(name)


@flow
async def calls_step_in_step() -> str:
    try:
        return await nested()
    except DefinitionError as error:
        return str(error)


@flow
async def leaves_tasks_behind() -> str:
    task = asyncio.create_task(careful_task())
    await parse("a moment")
    assert not task.done()
    return "done"


async def careful_task() -> None:
    try:
        await gated("left behind")
    finally:
        await effect("task cleaned up")


pipeline = Pipeline(
    "contract",
    flows=[
        as_recorded,
        branches,
        calls_step_in_step,
        careful,
        careful_child,
        careful_once,
        catches,
        collector,
        counter,
        draws,
        exact,
        fails,
        greet,
        group,
        hopeless,
        ill_typed,
        impatient,
        large,
        late,
        launcher,
        leaves_tasks_behind,
        modern,
        mutator,
        parent,
        parent_of_failing,
        patient,
        persistent,
        sleeper,
        stubborn,
        talker,
        talks_to_nobody,
        timed_out_steps,
        waits_for_go,
    ],
)
