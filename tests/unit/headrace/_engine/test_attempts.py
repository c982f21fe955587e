from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import Field

from headrace import Transaction, flow, step
from headrace._engine.engine import Limits
from headrace.testing import Harness

Positive = Annotated[int, Field(gt=0)]


@step
async def on_the_loop(number: Positive) -> int:
    return number


@step
def in_a_thread(number: Positive) -> int:
    return number


@step(transactional=True)
def in_a_transaction(tx: Transaction, number: Positive) -> int:
    return number


STEPS: dict[str, Any] = {"loop": on_the_loop, "thread": in_a_thread, "transaction": in_a_transaction}


@flow(id="counts-{kind}")
async def counts(kind: str) -> list[str]:
    call = STEPS[kind]
    found = await asyncio.gather(*(call(number) for number in (-1, -2, 3)), return_exceptions=True)
    return [type(item).__name__ if isinstance(item, BaseException) else str(item) for item in found]


@pytest.mark.parametrize("kind", STEPS)
async def test_arguments_that_are_refused_take_nobody_the_place(kind: str) -> None:
    """A step that cannot begin ends with the reason; if it kept its slot, the steps behind it would wait for ever."""
    async with Harness(counts, limits=Limits(loop_steps=1, thread_steps=1)) as harness:
        assert await harness.run(counts, kind) == ["ValueRefused", "ValueRefused", "3"]
