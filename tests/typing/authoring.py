"""What type checkers must understand of flows and steps; checked, never run."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, assert_type

from headrace import Headrace, Pipeline, Retry, Run, RunRef, Transaction, flow, receive, start, step, use


@step
async def fetch(url: str, *, tries: int = 1) -> bytes:
    return url.encode() * tries


@step(timeout=timedelta(seconds=1), retry=Retry(attempts=2))
async def parse(body: bytes) -> dict[str, int]:
    return {"length": len(body)}


@step
def shrink(body: bytes) -> bytes:
    return body[:1]


@step(cpu=True)
def crunch(numbers: list[int]) -> float:
    return sum(numbers)


@step(transactional=True)
def write(tx: Transaction, name: str) -> int:
    return 1


class Service:
    pass


@step
async def served() -> None:
    assert_type(use(Service), Service)


@flow(id="story-{name}")
async def story(name: str) -> list[int]:
    assert_type(await fetch(name, tries=2), bytes)
    assert_type(await parse(b""), dict[str, int])
    assert_type(await shrink(b""), bytes)
    assert_type(await crunch([1]), float)
    assert_type(await write(name), int)
    assert_type(await receive("topic", int), int)
    assert_type(await start(story, name), RunRef)
    child = story(name)
    assert_type(child, Coroutine[Any, Any, list[int]])  # type: ignore[unused-coroutine]
    await fetch(3)  # type: ignore[arg-type]
    await fetch(name, times=2)  # type: ignore[call-arg]
    await write()  # type: ignore[call-arg]
    await start(story)  # type: ignore[call-arg]
    return await child


async def program() -> None:
    async with Headrace([Pipeline("typed", flows=[story])], store="typed.db") as app:
        run = await app.start(story, "once")
        assert_type(run, Run[list[int]])
        assert_type(await run.result(), list[int])
        assert_type(await app.run(story, "once"), list[int])
        await app.start(story, 3)  # type: ignore[arg-type]
