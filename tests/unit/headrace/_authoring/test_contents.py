"""Which steps and flows a flow speaks of."""

from __future__ import annotations

import asyncio
import sys

from headrace import flow, step
from headrace._authoring.contents import contents_of


@step
async def first() -> None: ...


@step
async def second() -> None: ...


@step
async def third() -> None: ...


@flow
async def below() -> None:
    await third()


async def helper() -> None:
    await second()
    await helper()


@flow
async def above() -> None:
    await asyncio.gather(*(first() for _ in range(3)))
    await helper()
    await below()
    await first()


def test_steps_come_in_the_order_of_the_code() -> None:
    """Also those inside comprehensions and in helpers, each once; those of other flows are theirs."""
    found = contents_of(above)

    assert [item.name for item in found.steps] == ["first", "second"]
    assert [item.name for item in found.flows] == ["below"]


def test_closures_and_modules_are_looked_into() -> None:
    """Steps are often imported with their module."""

    @step
    async def local() -> None: ...

    flows = sys.modules[__name__]

    @flow
    async def speaking() -> None:
        await local()
        await flows.above()

    assert [item.name for item in contents_of(speaking).steps] == ["local"]
    assert [item.name for item in contents_of(speaking).flows] == ["above"]
