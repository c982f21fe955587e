"""Lets a test say what goes into the same transaction, which the writer's thread decides otherwise.

Whoever uses it needs the mark ``allow_blocking``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.testing import Harness, faults

_SECONDS = 10
_TURNS = 6


def gather_what_comes(harness: Harness) -> None:
    """Whatever is handed over in the next turns of the loop goes into one transaction."""
    loop, began, enough = asyncio.get_running_loop(), threading.Event(), threading.Event()

    def occupy_the_writer(_tx: object) -> None:
        began.set()
        enough.wait(_SECONDS)

    def pass_a_turn(left: int) -> None:
        if left:
            loop.call_soon(pass_a_turn, left - 1)
        else:
            enough.set()

    harness.app.database.submit(occupy_the_writer)
    began.wait(_SECONDS)
    pass_a_turn(_TURNS)


@contextmanager
def gathered_at(harness: Harness, point: str, *, dies: bool = False) -> Iterator[list[str]]:
    """The same from the moment in which a fault point is passed for the first time; ``dies``: and that transaction is the last one."""
    passed: list[str] = []

    def gather(name: str, _about: object) -> None:
        if name != point or passed:
            return
        passed.append(name)
        gather_what_comes(harness)
        if dies:
            harness.crash_once(at_commit=2)  # the first is the one that occupies the writer

    faults.watch(gather)
    try:
        yield passed
    finally:
        faults.unwatch(gather)
