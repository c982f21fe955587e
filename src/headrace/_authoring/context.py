"""What flows and steps can ask of the engine that runs them."""

from __future__ import annotations

import asyncio
import random as _random
import uuid as _uuid
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NoReturn, ParamSpec, Protocol, TypeVar, overload

from headrace._authoring.identity import check_id
from headrace._base.clock import SystemClock, to_datetime
from headrace._base.codec import Shape
from headrace.errors import ConfigurationError, DefinitionError

if TYPE_CHECKING:
    from headrace._authoring.flow import Flow
    from headrace._authoring.step import Step
    from headrace._events.model import Event, Published
    from headrace._jobs.lifecycle import JobRef

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Policy = Literal["join", "reject", "replace"]


@dataclass(frozen=True, slots=True)
class RunRef:
    """Which run: the id that people use, and its number among the runs of that id."""

    id: str
    number: int


class FlowContext(Protocol):
    """The engine's side of one running flow. Both engines implement it."""

    run_id: str

    def now(self) -> datetime: ...
    def random(self) -> _random.Random: ...
    def sleep_until(self, due: datetime) -> Awaitable[None]: ...
    def sleep(self, duration: timedelta) -> Awaitable[None]: ...
    def call_step(self, step: Step[Any, Any], arguments: bytes) -> Awaitable[Any]: ...
    def call_flow(self, flow: Flow[Any, Any], arguments: bytes, run_id: str | None) -> Awaitable[Any]: ...
    def start_flow(
        self, flow: Flow[Any, Any], arguments: bytes, run_id: str | None, policy: Policy
    ) -> Awaitable[RunRef]: ...
    def send(self, run_id: str, topic: str, value: bytes) -> Awaitable[None]: ...
    def receive(self, topic: str, shape: Shape) -> Awaitable[Any]: ...
    def publish(
        self,
        topic: str,
        data: object,
        *,
        subject: str | JobRef | None,
        event_id: str | None,
        source: str | None,
        time: datetime | None,
    ) -> Awaitable[Published]: ...
    def wait_event(self, topic: str, subject: str | JobRef | None) -> Awaitable[Event[Any]]: ...
    def patched(self, name: str) -> bool: ...
    def continue_as_new(self, arguments: bytes) -> NoReturn: ...

    flow: Flow[Any, Any]


class StepContext(Protocol):
    """The engine's side of one attempt of a step."""

    run_id: str
    key: str
    attempt: int

    @property
    def cancelled(self) -> bool: ...
    def now(self) -> datetime: ...
    async def sleep(self, duration: timedelta) -> None: ...
    def progress(self, value: object) -> None: ...
    def previous_progress(self) -> Any: ...
    async def publish(
        self,
        topic: str,
        data: object,
        *,
        subject: str | JobRef | None,
        event_id: str | None,
        source: str | None,
        time: datetime | None,
    ) -> Published: ...
    def use(self, kind: type[T]) -> T: ...


current_flow: ContextVar[FlowContext | None] = ContextVar("headrace_flow", default=None)
current_step: ContextVar[StepContext | None] = ContextVar("headrace_step", default=None)
_borrowed: ContextVar[tuple[object, ...]] = ContextVar("headrace_using", default=())


def in_flow(name: str) -> FlowContext:
    flow = current_flow.get()
    if flow is None:
        place = "a step" if current_step.get() is not None else "plain code"
        raise DefinitionError(f"{name}() was called in {place}; it belongs in the body of a @flow that an engine runs")
    return flow


def now() -> datetime:
    """The time, with zone UTC; in a flow the time of its last recorded event, the same in every replay."""
    if (flow := current_flow.get()) is not None:
        return flow.now()
    if (running := current_step.get()) is not None:
        return running.now()
    return to_datetime(SystemClock().now())


def random() -> _random.Random:
    """A source of random numbers; in a flow its own, which gives the same numbers in every replay."""
    flow = current_flow.get()
    return flow.random() if flow is not None else _random.Random()


def uuid() -> _uuid.UUID:
    """A random UUID; in a flow the same one in every replay."""
    return _uuid.UUID(int=random().getrandbits(128), version=4)


async def sleep(duration: timedelta | float) -> None:
    """Wait. In a flow this survives restarts and costs a row, not memory."""
    length = duration if isinstance(duration, timedelta) else timedelta(seconds=duration)
    if (flow := current_flow.get()) is not None:
        await flow.sleep(length)
    elif (running := current_step.get()) is not None:
        await running.sleep(length)
    else:
        await asyncio.sleep(length.total_seconds())  # noqa: TID251 - plain code has no other clock


async def sleep_until(moment: datetime) -> None:
    """Wait until an instant, which needs a time zone; an instant that has passed does not wait."""
    if moment.tzinfo is None:
        raise DefinitionError(f"sleep_until({moment!r}): say which time zone, for example datetime(..., tzinfo=UTC)")
    if (flow := current_flow.get()) is not None:
        await flow.sleep_until(moment)
    else:
        await sleep(max(moment - now(), timedelta(0)))


async def start(flow: Flow[P, Any], *args: P.args, **kwargs: P.kwargs) -> RunRef:
    """Start a run and do not wait for it; it outlives the flow that started it. Durable once this returns."""
    return await in_flow("start").start_flow(flow, flow.shape.encode(args, kwargs), None, "join")


async def send(run: RunRef | str, topic: str, value: object = None) -> None:
    """Leave a message for a run; it is stored before anyone waits for it."""
    run_id = run.id if isinstance(run, RunRef) else check_id(run)
    stored = Shape(Any, where=f"message {topic!r}").encode(value)
    await in_flow("send").send(run_id, topic, stored)


@overload
async def receive(topic: str) -> Any: ...
@overload
async def receive(topic: str, kind: type[T]) -> T: ...
@overload
async def receive(topic: str, kind: Any) -> Any: ...
async def receive(topic: str, kind: Any = Any) -> Any:
    """Take the oldest message of a topic, waiting for one if there is none yet.

    ``kind`` is the annotation of the message; limit the wait with ``asyncio.timeout``.
    """
    flow = in_flow("receive")
    return await flow.receive(topic, message_shape(topic, kind))


async def publish(
    topic: str,
    data: object = None,
    *,
    subject: str | JobRef | None = None,
    id: str | None = None,
    source: str | None = None,
    time: datetime | None = None,
) -> Published:
    """Append an event to the log; if its subject is a job, the event moves it in the same transaction.

    In a flow this commits with the flow's own record, once however often the flow is replayed. In a step or a handler it is durable when
    it returns, and the same event again in the next attempt. ``subject`` may be left out in a run that works for a job: it is that job.
    An ``id`` that was published before gets the first answer again.
    """
    running: FlowContext | StepContext | None = current_flow.get() or current_step.get()
    if running is None:
        raise DefinitionError("publish() was called in plain code; use app.publish(...) of a running Headrace there")
    return await running.publish(topic, data, subject=subject, event_id=id, source=source, time=time)


async def wait_event(
    topic: str, *, subject: str | JobRef | None = None, timeout: timedelta | float | None = None
) -> Event[Any]:
    """Wait for the next event of a topic (or pattern), of one subject if given, and take it.

    An early event is not missed: the wait begins where the run began, or behind the last event that the run took.
    After ``timeout`` it raises TimeoutError.
    """
    flow = in_flow("wait_event")
    if timeout is None:
        return await flow.wait_event(topic, subject)
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    async with asyncio.timeout(seconds):
        return await flow.wait_event(topic, subject)


def message_shape(topic: str, kind: Any) -> Shape:
    try:
        return _shapes[topic, kind]
    except (KeyError, TypeError):
        shape = Shape(kind, where=f"message {topic!r}")
    try:
        _shapes[topic, kind] = shape
    except TypeError:  # an annotation that cannot be hashed is built each time
        pass
    return shape


_shapes: dict[tuple[str, Any], Shape] = {}


def patched(name: str) -> bool:
    """Whether this run goes the new way: True for runs that get here for the first time, False for those that had passed before."""
    flow = current_flow.get()
    return True if flow is None else flow.patched(name)


def continue_as_new(*args: Any, **kwargs: Any) -> NoReturn:
    """End this run and go on with new arguments, the same id and an empty journal; unread messages are carried over."""
    flow = in_flow("continue_as_new")
    flow.continue_as_new(flow.flow.shape.encode(args, kwargs))


def use(kind: type[T]) -> T:
    """What the pipeline's wiring built for steps, by its type."""
    for item in _borrowed.get():
        if isinstance(item, kind):
            return item
    if (running := current_step.get()) is not None:
        return running.use(kind)
    if current_flow.get() is not None:
        raise DefinitionError(
            f"use({kind.__name__}) was called in a flow; only steps touch the outside world: move it into a @step"
        )
    raise ConfigurationError(
        f"use({kind.__name__}) was called outside a step. In a test of a plain function write: with using(my_{kind.__name__.lower()}): ..."
    )


@contextmanager
def using(*things: object) -> Generator[None]:
    """Let ``use`` find these first, for plain calls of step functions in tests."""
    reset = _borrowed.set((*things, *_borrowed.get()))
    try:
        yield
    finally:
        _borrowed.reset(reset)


def pick(things: tuple[object, ...], kind: type[T], pipeline: str) -> T:
    """The one thing of a type among what a pipeline's wiring built."""
    found = [thing for thing in things if isinstance(thing, kind)]
    if len(found) == 1:
        return found[0]
    built = ", ".join(sorted(type(thing).__name__ for thing in things)) or "nothing"
    trouble = "more than one thing of that type" if found else f"{built}"
    raise ConfigurationError(
        f"use({kind.__name__}): the wiring of pipeline {pipeline!r} built {trouble}; see Pipeline(wire=...)"
    )
