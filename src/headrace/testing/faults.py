"""Ways for things to go wrong, on purpose and at a chosen moment."""

from __future__ import annotations

import functools
import inspect
import os
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headrace._base import faultpoints
from headrace.errors import ServiceUnavailable

if TYPE_CHECKING:
    from headrace._authoring.step import Step

__all__ = [
    "FAULT_POINTS",
    "Crash",
    "Fault",
    "Flaky",
    "arm_from_environment",
    "crash_at",
    "kill_at",
    "kill_environment",
]

T = TypeVar("T")

FAULT_POINTS: Mapping[str, str] = MappingProxyType(
    {
        "start.before": "a start was asked for and nothing of it is written",
        "start.after": "the run is on disk; neither the caller nor the engine knows it",
        "step.before": "an attempt of a step is about to run",
        "step.after": "an attempt has returned, so its effect has happened; nothing of it is written",
        "record.before": "a completion is about to be handed to the writer",
        "delivery.before": "a completion is on disk and the flow has not seen it",
        "retry.before": "an attempt has failed and that is not written",
        "retry.after": "a failed attempt is on disk and the next one is not planned in memory",
        "publish.before": "an event is about to be published",
        "publish.after": "an event is on disk, and nobody was told of it",
        "handler.before": "an event is about to be handled",
        "handler.after": "an event is handled, and nothing of that is on disk unless the handler is transactional",
        "timer.due": "a timer has fallen due and that is not written",
        "child.before": "a flow calls another one and nothing of that is written",
        "child.after": "a child run is on disk and the engine has not taken it up",
        "message.before": "a message was sent and is not written",
        "message.after": "a message is on disk; neither its sender nor its receiver knows",
        "cancel.before": "a run is to be cancelled and its flow has not been told",
        "run.before_end": "a flow has ended and its outcome is not written",
        "run.after_end": "the outcome of a run is on disk and those who wait for it do not know",
        "run.before_continue": "a flow continues as a new run and that is not written",
        "eviction.before": "an idle run is about to leave memory",
        "replay.after": "a run was rebuilt from its journal and does nothing yet",
        "store.before_commit": "a transaction is complete and not committed (in the writer's thread)",
        "store.after_commit": "a transaction is on disk and nobody has been told (in the writer's thread)",
    }
)
"""Where a process can be made to die, and what is true at that moment."""

_KILL_AT = "FAULT_POINT_TO_DIE_AT"


class Crash(BaseException):
    """The process is dead from here on, as far as the engine under test is concerned."""

    def __init__(self, point: str) -> None:
        super().__init__(point)
        self.point = point


class Fault:
    """Strikes when a fault point is passed for the ``nth`` time, of a certain step if one is given; once."""

    def __init__(self, point: str, *, step: Step[Any, Any] | None = None, nth: int = 1) -> None:
        if point not in FAULT_POINTS:
            raise ValueError(f"there is no fault point {point!r}; known are {', '.join(FAULT_POINTS)}")
        if nth < 1:
            raise ValueError(f"nth={nth}: the first time is 1")
        self.point = point
        self.step = step
        self.nth = nth
        self._left = nth

    def meets(self, point: str, about: object) -> bool:
        if self._left <= 0 or point != self.point or (self.step is not None and about is not self.step):
            return False
        self._left -= 1
        return self._left == 0

    @property
    def has_struck(self) -> bool:
        return self._left <= 0

    def __repr__(self) -> str:
        step = "" if self.step is None else f" of step {self.step.name!r}"
        return f"<fault at {self.point}{step}, time {self.nth}>"


_watchers: list[Callable[[str, object], None]] = []


def watch(strike: Callable[[str, object], None]) -> None:
    """Call ``strike(point, about)`` at every fault point of this process."""
    _watchers.append(strike)
    faultpoints.watch(_tell)


def unwatch(strike: Callable[[str, object], None]) -> None:
    _watchers.remove(strike)
    if not _watchers:
        faultpoints.watch(None)


def _tell(point: str, about: object) -> None:
    for strike in tuple(_watchers):
        strike(point, about)


@contextmanager
def _struck(point: str, nth: int, action: Callable[[], None]) -> Iterator[Fault]:
    fault = Fault(point, nth=nth)

    def strike(point: str, about: object) -> None:
        if fault.meets(point, about):
            action()

    watch(strike)
    try:
        yield fault
    finally:
        unwatch(strike)


@contextmanager
def crash_at(point: str, nth: int = 1) -> Iterator[Fault]:
    """Raise ``Crash`` at a fault point, for tests of parts below the engine; with a harness use ``crash_once(at=...)``."""

    def crash() -> None:
        raise Crash(point)

    with _struck(point, nth, crash) as fault:
        yield fault


@contextmanager
def kill_at(point: str, nth: int = 1) -> Iterator[Fault]:
    """End this very process with SIGKILL at a fault point; for child processes that a test has started."""
    with _struck(point, nth, functools.partial(os.kill, os.getpid(), signal.SIGKILL)) as fault:
        yield fault


def kill_environment(point: str, nth: int = 1) -> dict[str, str]:
    """What to add to the environment of a child process that calls ``arm_from_environment``."""
    return {_KILL_AT: f"{Fault(point, nth=nth).point}:{nth}"}


@contextmanager
def arm_from_environment() -> Iterator[Fault | None]:
    """``kill_at`` what the environment says, if anything; the runtime itself never looks there."""
    wanted = os.environ.get(_KILL_AT)
    if not wanted:
        yield None
        return
    point, _, nth = wanted.partition(":")
    with kill_at(point, int(nth)) as fault:
        yield fault


class _Failing:
    """Stands before a service and fails the first calls."""

    def __init__(
        self, service: object, times: int, error: Callable[[], Exception], calls: Collection[str] | None
    ) -> None:
        self._service = service
        self._left = times
        self._error = error
        self._calls = calls

    @property  # type: ignore[misc]  # isinstance asks for the class, and `use` asks isinstance
    def __class__(self) -> type:
        return type(self._service)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._service, name)
        if not callable(found) or name.startswith("_") or (self._calls is not None and name not in self._calls):
            return found
        return self._asynchronous(found) if inspect.iscoroutinefunction(found) else self._plain(found)

    def _fail(self) -> None:
        if self._left > 0:
            self._left -= 1
            raise self._error()

    def _plain(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def failing(*args: Any, **kwargs: Any) -> Any:
            self._fail()
            return call(*args, **kwargs)

        return failing

    def _asynchronous(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        async def failing(*args: Any, **kwargs: Any) -> Any:
            self._fail()
            return await call(*args, **kwargs)

        return failing


def Flaky(  # noqa: N802  it stands for the service that it returns
    service: T,
    *,
    times: int = 1,
    error: Callable[[], Exception] = ServiceUnavailable,
    calls: Collection[str] | None = None,
) -> T:
    """The service, whose first ``times`` calls raise ``error()``; of the named methods only, if ``calls`` is given."""
    return cast(T, _Failing(service, times, error, calls))
