"""Flows drawn by lot, and what they must come to, computed without an engine.

A flow performs an `Act`; an act may hold others. `expected` says in plain Python what performing it gives, whatever dies meanwhile, and
`runs_of` which other runs it leaves behind. The steps tell a `Ledger`, which lies outside of everything that dies.
"""

from __future__ import annotations

import asyncio
import random as chance_of
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw

from headrace import (
    Pipeline,
    Retry,
    Statement,
    Transaction,
    continue_as_new,
    flow,
    now,
    patched,
    random,
    receive,
    send,
    sleep,
    start,
    step,
    use,
)
from headrace._authoring.flow import Flow
from headrace.errors import OutcomeUnknown, RunCancelled, RunTimedOut, ServiceUnavailable


@dataclass(frozen=True)
class Act:
    """One thing that a flow does; `number` varies it, `of` are its parts."""

    what: str
    number: int = 0
    of: tuple[Act, ...] = ()


MINUTE = timedelta(minutes=1)
_STEPS = ("plain", "thread", "shaky", "hopeless", "transact", "once", "napping")
_WAITS = (
    "sleep",
    "draw",
    "race",
    "overdue",
    "stopped",
    "late",
    "mail",
    "early",
    "joined",
    "queue",
    "patch",
    "timed_step",
)
_NESTS = ("row", "gather", "group", "in_time", "call", "launch", "shielded")


def draw_act(chance: chance_of.Random, depth: int) -> Act:
    kinds = _STEPS + _WAITS if depth == 0 else _STEPS + _WAITS + _NESTS * 5
    what = chance.choice(kinds)
    number = chance.randrange(1, 10)
    if what not in _NESTS:
        return Act(what, number)
    parts = 1 if what in ("in_time", "call", "launch", "shielded") else chance.randrange(2, 5)
    return Act(what, number, tuple(draw_act(chance, depth - 1) for _ in range(parts)))


# What must come of it


def expected(act: Act) -> str:
    parts = " ".join(expected(part) for part in act.of)
    if act.what == "race":
        return "race:quick"
    if act.what == "mail":
        return f"mail:{act.number}"
    return f"{act.what}:{act.number}({parts})" if act.of else f"{act.what}:{act.number}"


def expected_mail(act: Act) -> str:
    return " ".join(str(number) for number in range(act.number % 4 + 2))


def runs_of(act: Act, place: str) -> Iterator[tuple[str, str]]:
    """The other runs that performing an act begins, with the state in which they end."""
    state = {"call": "completed", "launch": "completed", "stopped": "cancelled", "late": "timed_out"}.get(act.what)
    if state is not None:
        yield f"perform-{place}.0" if state == "completed" else f"{act.what}-{place}", state
    if act.what in ("mail", "early", "joined"):
        yield f"collect-{place}", "completed"
    for index, part in enumerate(act.of):
        yield from runs_of(part, f"{place}.{index}")


# What the steps tell


class Ledger:
    """Which steps ran, and whether one ran though the file already had its outcome: the promise that must never break."""

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.broken: list[str] = []
        self._path: Path | None = None

    def watch(self, path: Path | None) -> None:
        self._path = path

    def note(self, *, before_record: bool = True) -> None:
        key = step.key
        self.ran[key] += 1
        if self._path is not None and before_record:
            self._compare_with_file(self._path, key)

    def _compare_with_file(self, path: Path, key: str) -> None:
        run, number, command = key.rsplit("/", 2)
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            recorded = connection.execute(
                "SELECT j.outcome FROM journal AS j JOIN runs AS r ON r.pk = j.run "
                "WHERE r.id = ? AND r.number = ? AND j.command = ? AND j.outcome <> 'mark'",
                (run, int(number), int(command)),
            ).fetchall()
            failed = connection.execute(
                "SELECT a.attempt FROM attempts AS a JOIN runs AS r ON r.pk = a.run "
                "WHERE r.id = ? AND r.number = ? AND a.command = ? AND a.attempt >= ?",
                (run, int(number), int(command), step.attempt),
            ).fetchall()
        if recorded:
            self.broken.append(f"I2: {key} ran again though it was recorded as {recorded[0][0]}")
        if failed:
            self.broken.append(f"I5: attempt {step.attempt} of {key} ran again though its failure was recorded")


# Steps


@step
async def plain(number: int) -> str:
    use(Ledger).note()
    for _ in range(number % 3):
        await asyncio.sleep(0)
    return f"plain:{number}"


@step
def thread(number: int) -> str:
    use(Ledger).note()
    return f"thread:{number}"


@step(retry=Retry(attempts=5, first=MINUTE, factor=3, ceiling=timedelta(hours=2)))
async def shaky(number: int) -> str:
    use(Ledger).note()
    if step.attempt <= number % 5:
        raise ServiceUnavailable(f"not before attempt {number % 5 + 1}")
    return f"shaky:{number}"


@step(retry=Retry(attempts=2, first=MINUTE))
def hopeless(number: int) -> str:
    use(Ledger).note()
    raise ServiceUnavailable(f"never, {number}")


MAKE = Statement("make", "CREATE TABLE IF NOT EXISTS simulated_effects (key TEXT, number INTEGER)")
_EFFECT = Statement("effect", "INSERT INTO simulated_effects (key, number) VALUES (:key, :number)")


@step(transactional=True, retry=Retry(attempts=3, first=MINUTE))
def transact(tx: Transaction, number: int) -> str:
    tx.run(MAKE)
    tx.run(_EFFECT, {"key": step.key, "number": number})
    if step.attempt <= number % 3:
        raise ServiceUnavailable("what it has written goes with it")
    return f"transact:{number}"


@step(at_most_once=True)
async def once(number: int) -> str:
    use(Ledger).note()
    await asyncio.sleep(0)
    return f"once:{number}"


@step
async def napping(number: int) -> str:
    use(Ledger).note()
    await sleep(number * MINUTE)
    return f"napping:{number}"


@step(timeout=2 * MINUTE, retry=Retry(attempts=3, first=5 * MINUTE))
async def timed(number: int) -> str:
    """Takes too long, but for its last attempt."""
    use(Ledger).note()
    await sleep(timedelta(hours=1) if step.attempt < 3 else MINUTE)
    return f"timed_step:{number}"


@step
async def cleaned(number: int) -> str:
    use(Ledger).note()
    return f"cleaned:{number}"


# Flows


@flow(id="perform-{place}")
async def perform(place: str, act: Act) -> str:
    return await _perform(act, place)


@flow(id="collect-{place}")
async def collect(place: str, wanted: int, renewing: bool, got: list[int]) -> str:
    """Takes messages, each in good time or not; goes on as a new run after each, and after each disappointment, if it is renewing."""
    while len(got) < wanted:
        try:
            async with asyncio.timeout(600):
                got = [*got, await receive("number", int)]
        except TimeoutError:
            if renewing:
                continue_as_new(place, wanted, renewing, got)
            await cleaned(len(got))
            continue
        if renewing and len(got) < wanted:
            continue_as_new(place, wanted, renewing, got)
    return " ".join(str(number) for number in got)


@flow(id="gather-{place}")
async def from_outside(place: str, wanted: int) -> str:
    """Messages of a sender who repeats what was not acknowledged: the first copies, in the order in which they came."""
    got: list[int] = []
    while len(got) < wanted:
        number = await receive("number", int)
        if number not in got:
            got.append(await _same(number))
    return " ".join(str(number) for number in got)


async def _same(number: int) -> int:
    await plain(number)
    return number


@flow(id="stopped-{place}")
async def stopped(place: str, number: int) -> str:
    """Sleeps for a year, and cleans up when it is stopped."""
    try:
        await asyncio.gather(sleep(365 * 24 * 60 * MINUTE), shaky(number), receive("never", int))
    finally:
        await cleaned(number)
    return "never stopped"


@flow(id="restless-{place}")
async def restless(place: str, number: int) -> str:
    """Goes on as a new run every few minutes until it is stopped."""
    await sleep((number + 1) * MINUTE)
    continue_as_new(place, number)


@flow(id="late-{place}", timeout=30 * MINUTE)
async def late(place: str, number: int) -> str:
    try:
        await sleep(7 * 24 * 60 * MINUTE)
    finally:
        await cleaned(number)
    return "in time"


async def _perform(act: Act, place: str) -> str:
    if act.of:
        return f"{act.what}:{act.number}({await _nest(act, place)})"
    if act.what in _ACTIONS:
        return await _ACTIONS[act.what](act.number)
    return await _PLACED_ACTIONS[act.what](act.number, place)


async def _nest(act: Act, place: str) -> str:
    places = [f"{place}.{index}" for index in range(len(act.of))]
    first, first_place = act.of[0], places[0]
    if act.what == "row":
        return " ".join([await _perform(part, where) for part, where in zip(act.of, places, strict=True)])
    if act.what == "gather":
        return " ".join(await asyncio.gather(*map(_perform, act.of, places)))
    if act.what == "group":
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_perform(part, where)) for part, where in zip(act.of, places, strict=True)]
        return " ".join(task.result() for task in tasks)
    if act.what == "in_time":
        async with asyncio.timeout(400 * 24 * 3600):
            return await _perform(first, first_place)
    if act.what == "shielded":
        return await asyncio.shield(_perform(first, first_place))
    if act.what == "call":
        return await perform(first_place, first)
    await start(perform, first_place, first)
    return expected(first)


async def _sleep(number: int) -> str:
    before = now()
    await sleep(number * number * number * MINUTE)
    assert now() >= before + number * number * number * MINUTE, "the sleep was too short"
    return f"sleep:{number}"


async def _draw(number: int) -> str:
    await sleep(random().randrange(1, 3000) * MINUTE)
    return f"draw:{number}"


async def _race(number: int) -> str:
    async def runner(minutes: int, name: str) -> str:
        await sleep(minutes * MINUTE)
        return name

    tasks = [asyncio.create_task(runner(number + 1, "slow")), asyncio.create_task(runner(number, "quick"))]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    return "race:" + " ".join(task.result() for task in done)


async def _overdue(number: int) -> str:
    try:
        async with asyncio.timeout(60 * number):
            try:
                await asyncio.gather(sleep(30 * 24 * 60 * MINUTE), napping(500 + number))
            finally:
                await cleaned(number)
    except TimeoutError:
        return f"overdue:{number}"
    return "not overdue"


async def _patch(number: int) -> str:
    if patched(f"way-{number}"):
        await plain(number)
        return f"patch:{number}"
    return "the old way"


async def _hopeless(number: int) -> str:
    try:
        return await hopeless(number)
    except ServiceUnavailable as error:
        return f"hopeless:{number}" if str(error) == f"never, {number}" else str(error)


async def _once(number: int) -> str:
    try:
        return await once(number)
    except OutcomeUnknown:
        return f"once:{number}"


async def _queue(number: int) -> str:
    queue: asyncio.Queue[int] = asyncio.Queue(2)
    free = asyncio.Semaphore(2)

    async def produce(value: int) -> None:
        async with free:
            await shaky(value)
            await queue.put(value)

    async with asyncio.TaskGroup() as group:
        for value in range(3):
            group.create_task(produce(value))
        got = {await queue.get() for _ in range(3)}
    return f"queue:{number}" if got == {0, 1, 2} else f"queue lost something: {sorted(got)}"


async def _stopped(number: int, place: str) -> str:
    child = asyncio.create_task(stopped(place, number))
    await sleep(number * MINUTE)
    child.cancel()
    try:
        return await child
    except (asyncio.CancelledError, RunCancelled):
        return f"stopped:{number}"


async def _late(number: int, place: str) -> str:
    try:
        return await late(place, number)
    except RunTimedOut:
        return f"late:{number}"


async def _mail(number: int, place: str) -> str:
    """The receiver's patience ends at the very moments at which messages come."""
    wanted = number % 4 + 2
    await start(collect, place, wanted, number % 2 == 0, [])
    for value in range(wanted):
        if value % 3:
            await sleep(10 * MINUTE)
        await send(f"collect-{place}", "number", value)
    return f"mail:{number}"


async def _early(number: int, place: str) -> str:
    """The message may come before its receiver has had its first turn."""
    await asyncio.gather(start(collect, place, 1, number % 2 == 0, []), send(f"collect-{place}", "number", number))
    return f"early:{number}" if await collect(place, 1, number % 2 == 0, []) == str(number) else "late or never"


async def _joined(number: int, place: str) -> str:
    """Waits for a run that somebody else began, which goes on as others meanwhile."""
    reference = await start(collect, place, 2, number % 2 == 0, [])

    async def post() -> None:
        for value in (0, 1):
            await sleep(number * MINUTE)
            await send(reference, "number", value)

    result, _ = await asyncio.gather(collect(place, 2, number % 2 == 0, []), post())
    return f"joined:{number}" if result == "0 1" else f"joined got {result}"


_ACTIONS: dict[str, Callable[[int], Awaitable[str]]] = {
    "plain": plain, "thread": thread, "shaky": shaky, "hopeless": _hopeless, "transact": transact, "once": _once, "napping": napping,
    "timed_step": timed, "sleep": _sleep, "draw": _draw, "race": _race, "overdue": _overdue, "patch": _patch, "queue": _queue,
}  # fmt: skip
_PLACED_ACTIONS: dict[str, Callable[[int, str], Awaitable[str]]] = {
    "stopped": _stopped,
    "late": _late,
    "mail": _mail,
    "early": _early,
    "joined": _joined,
}

FLOWS: list[Flow[Any, Any]] = [perform, collect, from_outside, stopped, restless, late]


def pipeline() -> Pipeline:
    return Pipeline("simulated", flows=FLOWS)
