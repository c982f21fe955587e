"""Lets a test say what goes into the same transaction, which the writer's thread decides otherwise."""

from __future__ import annotations

import asyncio
import threading

from headrace.testing import Harness

_SECONDS = 10
_TURNS = 6


def gather_what_comes(harness: Harness) -> None:
    """Whatever is handed over in the next turns of the loop goes into one transaction; the test needs ``allow_blocking``."""
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
