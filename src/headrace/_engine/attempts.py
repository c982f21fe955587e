"""One attempt of a step: a slot, a place to run, a time limit, and a way to be stopped."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from headrace._authoring.context import current_step
from headrace._authoring.step import Mode, Step
from headrace._base.clock import Instant, to_datetime, to_micros
from headrace._base.codec import Shape
from headrace._engine.tally import Tally
from headrace._engine.timers import Entry, Timers
from headrace._engine.workers import Work, WorkerPool
from headrace._events.model import Published
from headrace._jobs.lifecycle import JobRef
from headrace._ports.clock import Clock
from headrace.errors import DefinitionError, ValueRefused

T = TypeVar("T")

# How long an attempt that was asked to stop may take before the run goes on without it. Worker processes are killed by their pool.
_GRACE: dict[Mode, float] = {"loop": 1.0, "thread": 0.1}
_SECONDS_TO_WIND_UP = 6.0  # longer than any grace, that of worker processes included
_PROGRESS = Shape(Any, where="step.progress")


class Stop(StrEnum):
    TIMEOUT = "timeout"
    CANCEL = "cancel"
    SHUTDOWN = "shutdown"


class Attempt:
    """One call of a step's function. ``owner`` names whose it is: a run, or a subscription."""

    def __init__(
        self, step: Step[Any, Any], number: int, *, key: str, owner: str, pipeline: str, reports: Reports
    ) -> None:
        self.step = step
        self.number = number
        self.key = key
        self.owner = owner
        self.pipeline = pipeline
        self.reports = reports
        self.started_at: Instant = 0
        self.context: AttemptContext | None = None
        self.future: asyncio.Future[Any] | None = None
        self.timeout: Entry | None = None
        self.grace: asyncio.TimerHandle | None = None
        self.stopping: Stop | None = None
        self.left_behind = False
        self.ended = False
        self.sleeps = 0
        self.published = 0

    def call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the function is called with."""
        raise NotImplementedError

    def stored_call(self) -> bytes:
        """The same as text, for another process."""
        raise NotImplementedError


class AttemptContext:
    """What a step may ask of the engine while it runs."""

    def __init__(self, attempts: Attempts, attempt: Attempt, previous: bytes | None) -> None:
        self._attempts = attempts
        self._attempt = attempt
        self.previous = previous
        self.run_id = attempt.owner
        self.key = attempt.key
        self.attempt = attempt.number
        self.cancelled = False

    def now(self) -> datetime:
        return to_datetime(self._attempts.clock.now())

    async def sleep(self, duration: timedelta) -> None:
        await self._attempts.sleep(self._attempt, duration)

    def progress(self, value: object) -> None:
        self._attempts.say(self._attempt, _PROGRESS.encode(value))

    def previous_progress(self) -> Any:
        return None if self.previous is None else _PROGRESS.decode(self.previous)

    def use(self, kind: type[T]) -> T:
        found: T = self._attempts.wiring(self._attempt.pipeline, kind)
        return found

    async def publish(
        self,
        topic: str,
        data: object,
        *,
        subject: str | JobRef | None,
        event_id: str | None,
        source: str | None,
        time: datetime | None,
    ) -> Published:
        attempt = self._attempt
        if subject is None:
            raise DefinitionError(f"publish({topic!r}) in {attempt.step.name!r}: say what it is about with subject=...")
        attempt.published += 1
        # The same event again in the next attempt, which publishes in the same order.
        chosen = event_id or f"{attempt.key}/{attempt.published}"
        return await self._attempts.publish(
            topic,
            data,
            subject=subject,
            event_id=chosen,
            source=source or f"{attempt.pipeline}.{attempt.step.name}",
            time=time,
            cause=attempt.key,
        )


class _Slots:
    """How many attempts of one kind run at once; the rest waits in line."""

    def __init__(self, size: int) -> None:
        self.free = size
        self.line: deque[Attempt] = deque()


class Reports(Protocol):
    """Who is told what became of an attempt."""

    def ended(self, attempt: Any, result: Any, error: BaseException | None) -> None:
        """Called once for each attempt; with neither result nor error when it was stopped."""
        ...

    def late(self, attempt: Any) -> None:
        """An attempt that had been given up has come to its end after all."""
        ...

    def said(self, attempt: Any, progress: bytes) -> None: ...


class Publish(Protocol):
    """How an event comes from a step or a handler into the log."""

    def __call__(
        self,
        topic: str,
        data: object,
        *,
        subject: str | JobRef,
        event_id: str,
        source: str,
        time: datetime | None,
        cause: str,
    ) -> Coroutine[Any, Any, Published]: ...


class Attempts:
    def __init__(
        self,
        *,
        clock: Clock,
        timers: Timers,
        wiring: Callable[[str, type[Any]], Any],
        slots: int,
        threads: int,
        processes: int,
        tally: Tally,
    ) -> None:
        self.clock = clock
        self._tally = tally
        self.wiring = wiring
        self._timers = timers
        self._loop = asyncio.get_running_loop()
        self._slots: dict[Mode, _Slots] = {
            "loop": _Slots(slots),
            "thread": _Slots(threads),
            "process": _Slots(processes),
        }
        self._threads: ThreadPoolExecutor | None = None
        self._thread_count = threads
        self._workers: WorkerPool | None = None
        self._process_count = processes
        self._empty: asyncio.Future[None] | None = None
        self._forsaken = False
        self.under_way: set[Attempt] = set()
        self.publish: Publish

    # Running

    def offer(self, attempt: Attempt, previous_progress: bytes | None) -> None:
        """Run the attempt as soon as there is a slot."""
        self.under_way.add(attempt)
        attempt.context = AttemptContext(self, attempt, previous_progress)
        slots = self._slots[attempt.step.mode]
        if slots.free > 0:
            slots.free -= 1
            self._run(attempt)
        else:
            slots.line.append(attempt)

    def _run(self, attempt: Attempt) -> None:
        self._tally.attempts_started += 1
        attempt.started_at = self.clock.now()
        try:
            future = self._launch(attempt)
        except ValueRefused as refused:  # arguments that were written for another signature of the step
            future = self._loop.create_future()
            future.set_exception(refused)
        attempt.future = future
        timeout = attempt.step.timeout
        if timeout is not None:
            attempt.timeout = self._timers.add(attempt.started_at + to_micros(timeout), self._time_out, attempt)
        future.add_done_callback(functools.partial(self._done, attempt))

    def _launch(self, attempt: Attempt) -> asyncio.Future[Any]:
        step = attempt.step
        if step.mode == "process":
            return self._loop.create_task(self._in_process(attempt))
        args, kwargs = attempt.call()
        context = self.context_for(attempt)
        if step.mode == "loop":
            return self._loop.create_task(step.fn(*args, **kwargs), context=context)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._thread_count, thread_name_prefix="headrace-step")
        return self._loop.run_in_executor(self._threads, functools.partial(context.run, step.fn, *args, **kwargs))

    def context_for(self, attempt: Attempt) -> Context:
        """What the function of the step finds around it; nothing of the flow, and nothing of whoever started the run."""
        if attempt.context is None:
            attempt.context = AttemptContext(self, attempt, None)
        context = Context()
        context.run(current_step.set, attempt.context)
        return context

    async def _in_process(self, attempt: Attempt) -> Any:
        if self._workers is None:
            self._workers = WorkerPool(size=self._process_count)
        fn, context = attempt.step.fn, attempt.context
        assert context is not None
        work = Work(
            module=fn.__module__,
            qualname=fn.__qualname__,
            main_path=getattr(sys.modules.get("__main__"), "__file__", None) if fn.__module__ == "__main__" else None,
            step_name=attempt.step.name,
            arguments=attempt.stored_call(),
            run_id=attempt.owner,
            key=attempt.key,
            attempt=attempt.number,
            previous_progress=context.previous,
        )
        return await self._workers.run(work, on_progress=functools.partial(attempt.reports.said, attempt))

    def _done(self, attempt: Attempt, future: asyncio.Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        # The task holds its context, the context this attempt: cut the circle here, and nothing is left to the garbage collector.
        attempt.future = attempt.context = None
        self._free_slot(attempt)
        if self._forsaken:
            return
        if attempt.left_behind:
            attempt.reports.late(attempt)
            return
        self._over(attempt)
        if attempt.stopping is not None:
            attempt.reports.ended(attempt, None, None)
        elif future.cancelled():
            attempt.reports.ended(
                attempt,
                None,
                RuntimeError("the step cancelled itself: it raised CancelledError, though nobody had asked it to stop"),
            )
        elif error is not None:
            attempt.reports.ended(attempt, None, error)
        else:
            attempt.reports.ended(attempt, future.result(), None)

    def _over(self, attempt: Attempt) -> None:
        attempt.ended = True
        self.under_way.discard(attempt)
        if attempt.timeout is not None:
            self._timers.cancel(attempt.timeout)
        if attempt.grace is not None:
            attempt.grace.cancel()
        if self._empty is not None and not self.under_way and not self._empty.done():
            self._empty.set_result(None)

    def _free_slot(self, attempt: Attempt) -> None:
        slots = self._slots[attempt.step.mode]
        slots.free += 1
        while slots.line and slots.free > 0:
            following = slots.line.popleft()
            if not following.ended:
                slots.free -= 1
                self._run(following)

    # Stopping

    def _time_out(self, attempt: Attempt) -> None:
        attempt.timeout = None
        self.stop(attempt, Stop.TIMEOUT)

    def stop(self, attempt: Attempt, why: Stop) -> None:
        """Ask the attempt to stop; ``ended`` follows when it has, or when its grace is over."""
        if attempt.ended or attempt.stopping is not None:
            return
        attempt.stopping = why
        if attempt.context is not None:
            attempt.context.cancelled = True
        if attempt.future is None:  # waits for a slot
            self._over(attempt)
            attempt.reports.ended(attempt, None, None)
            return
        mode = attempt.step.mode
        if mode != "thread":
            attempt.future.cancel()
        if mode in _GRACE:
            attempt.grace = self._loop.call_later(_GRACE[mode], self._leave_behind, attempt)

    def _leave_behind(self, attempt: Attempt) -> None:
        """The step does not listen; whatever it still returns will be dropped, visibly."""
        attempt.left_behind = True
        self._over(attempt)
        attempt.reports.ended(attempt, None, None)

    async def drain(self, seconds: float) -> None:
        """Let attempts end by themselves for a while, then stop those that are left."""
        if self.under_way:
            self._empty = self._loop.create_future()
            await asyncio.wait([self._empty], timeout=seconds)
        for attempt in list(self.under_way):
            self.stop(attempt, Stop.SHUTDOWN)
        if self.under_way:
            self._empty = self._loop.create_future()
            await asyncio.wait([self._empty], timeout=_SECONDS_TO_WIND_UP)
        await self.close()

    def forsake(self) -> None:
        """As if the process had died: nothing is waited for or told."""
        for attempt in list(self.under_way):
            attempt.ended = attempt.left_behind = True
            if attempt.timeout is not None:
                self._timers.cancel(attempt.timeout)
            if attempt.future is not None:
                attempt.future.cancel()
        self.under_way.clear()
        self._forsaken = True

    async def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        if self._workers is not None:
            await self._workers.close()

    # What running steps ask for

    @property
    def are_asleep(self) -> bool:
        """Whether every step that is under way waits for the clock, or for the slot of one that does."""
        return all(attempt.sleeps or attempt.future is None for attempt in self.under_way)

    async def sleep(self, attempt: Attempt, duration: timedelta) -> None:
        woken: asyncio.Future[None] = self._loop.create_future()
        entry = self._timers.add(self.clock.now() + to_micros(duration), _set, woken)
        attempt.sleeps += 1
        try:
            await woken
        finally:
            attempt.sleeps -= 1
            self._timers.cancel(entry)

    def say(self, attempt: Attempt, progress: bytes) -> None:
        if attempt.step.mode == "thread":
            self._loop.call_soon_threadsafe(attempt.reports.said, attempt, progress)
        else:
            attempt.reports.said(attempt, progress)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
