"""What pipelines keep running beside their flows: each watches something outside, and is begun again when it fails."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from headrace._authoring.context import using
from headrace._authoring.pipeline import Pipeline, Watcher
from headrace._authoring.retry import Retry
from headrace._base import log
from headrace._base.clock import to_datetime, to_micros
from headrace._ports.clock import Clock

AGAIN = Retry(attempts=None, first=1, factor=2, ceiling=timedelta(minutes=5), jitter=0.2)
_LONG_ENOUGH = timedelta(minutes=10)
"""One that has run so long and fails is as good as new."""


@dataclass(frozen=True, kw_only=True)
class WatcherView:
    """How a watcher is. ``state`` is running, waiting (it failed, and is begun again at ``next_at``), or ended."""

    name: str
    """``pipeline.function``"""
    state: str
    since: datetime
    failures: int
    """One after the other."""
    error: str
    next_at: datetime | None


class _Watch:
    def __init__(self, name: str, function: Watcher, things: tuple[object, ...], app: Any, clock: Clock) -> None:
        self.name = name
        self._function = function
        self._things = things
        self._app = app
        self._clock = clock
        self._chance = random.Random()
        self._state, self._since = "running", self._clock.now()
        self._failures, self._error, self._next_at = 0, "", 0

    async def run(self) -> None:
        while True:
            began = self._enter("running")
            try:
                with using(*self._things):
                    await self._function(self._app)
            except Exception as error:  # noqa: BLE001 - a watcher is user code; what it raises is logged, shown, and tried again
                await self._wait_after(error, timedelta(microseconds=self._clock.now() - began))
            else:
                self._enter("ended")
                return

    async def _wait_after(self, error: Exception, lasted: timedelta) -> None:
        self._failures = 1 if lasted >= _LONG_ENOUGH else self._failures + 1
        self._error = f"{type(error).__name__}: {error}"
        wait = AGAIN.wait_after(self._failures, error, timedelta(0), self._chance) or timedelta(minutes=5)
        self._next_at = self._clock.now() + to_micros(wait)
        self._enter("waiting")
        log.warning("watcher.failed", watcher=self.name, error=self._error, wait=wait.total_seconds())
        await self._until(self._next_at)

    async def _until(self, due: int) -> None:
        while self._clock.now() < due:
            called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            timer = self._clock.call_at(due, lambda called=called: called.done() or called.set_result(None))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            try:
                await called
            finally:
                timer.cancel()

    def _enter(self, state: str) -> int:
        self._state, self._since = state, self._clock.now()
        return self._since

    def view(self) -> WatcherView:
        return WatcherView(
            name=self.name,
            state=self._state,
            since=to_datetime(self._since),
            failures=self._failures,
            error=self._error,
            next_at=to_datetime(self._next_at) if self._state == "waiting" else None,
        )


class Watchers:
    """``app`` is the running ``Headrace`` that they get."""

    def __init__(
        self, app: Any, clock: Clock, pipelines: Sequence[Pipeline], wired: Mapping[str, tuple[object, ...]]
    ) -> None:
        self._watches = [
            _Watch(f"{pipeline.name}.{function.__name__}", function, wired[pipeline.name], app, clock)
            for pipeline in pipelines
            for function in pipeline.watchers
        ]
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        self._tasks = [asyncio.create_task(watch.run(), name=watch.name) for watch in self._watches]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task

    def views(self) -> tuple[WatcherView, ...]:
        return tuple(watch.view() for watch in self._watches)
