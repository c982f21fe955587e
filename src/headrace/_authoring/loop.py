"""The deterministic event loop of one run.

It has no selector, no threads and no clock of its own: callbacks run in the order in which they were asked for, time is that of the last
completion that entered the flow, and timers are commands of the run. So whatever plain asyncio code does on it is decided by the
order of completions alone, and that order is in the journal.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import warnings
import zlib
from asyncio import events
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, NoReturn, Protocol, TypeVarTuple, Unpack

from headrace._authoring import guard
from headrace.errors import NotDeterministic

Ts = TypeVarTuple("Ts")

_CHECK_BUDGET_EVERY = 64  # callbacks between two looks at the clock
_PATIENCE = 5_000_000  # callbacks between two completions; nothing but a loop around sleep(0) needs seconds of them


class FlowEvicted(BaseException):
    """An idle run leaves memory; ``except Exception`` cannot swallow it."""


class LoopHost(guard.Guarded, Protocol):
    def timer_set(self, handle: asyncio.TimerHandle) -> None: ...
    def timer_cancelled(self, handle: asyncio.TimerHandle) -> None: ...


class FlowFuture(asyncio.Future[Any]):
    """A future whose place in a set is the same in every replay."""

    __slots__ = ("_order",)

    def __init__(self, *, loop: FlowLoop) -> None:
        self._order = loop.next_order()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._order


class FlowTask(asyncio.Task[Any]):
    """A task whose place in a set is the same in every replay: asyncio.wait, TaskGroup and as_completed iterate sets."""

    def __init__(self, coro: Coroutine[Any, Any, Any], *, loop: FlowLoop, **options: Any) -> None:
        self._order = loop.next_order()
        self.home: Context = options["context"]
        super().__init__(coro, loop=loop, **options)

    def __hash__(self) -> int:
        return self._order


class FlowGathering(asyncio.tasks._GatheringFuture):  # type: ignore[name-defined, misc]
    """What asyncio.gather returns, with a place in sets that is the same in every replay."""

    _order = 0

    def __hash__(self) -> int:
        return self._order


class FlowHandle(asyncio.Handle):
    """A callback in line; it does not ask the loop about debugging, which costs as much as all the rest."""

    __slots__ = ()

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], loop: FlowLoop, context: Context | None
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._repr = None
        self._source_traceback = None


MAKES_GATHERING = asyncio.tasks._GatheringFuture.__init__.__code__  # type: ignore[attr-defined]


class FlowLoop(asyncio.AbstractEventLoop):
    def __init__(self, run_id: str, host: LoopHost) -> None:
        self._host = host
        self._ready: deque[asyncio.Handle] = deque()
        self._seconds = 0.0
        # Low bits count, so that small sets iterate in the order of creation; high bits keep the tasks of many runs apart
        # in the one set of all tasks that asyncio keeps for the process.
        self._order = zlib.crc32(run_id.encode()) << 20
        self._tasks_made = 0
        self._early: dict[int, asyncio.Task[Any]] = {}
        self.tasks: dict[int, FlowTask] = {}
        self.dead = False
        self.patience = _PATIENCE
        self._callbacks = 0
        self.complaints: list[dict[str, Any]] = []

    def next_order(self) -> int:
        self._order += 1
        return self._order

    # Running

    def run_ready(self, budget: float | None) -> bool:
        """Run callbacks until none is left (True) or ``budget`` seconds are over (False)."""
        ready = self._ready
        if not ready:
            return True
        before = events._get_running_loop()
        hooks = sys.get_asyncgen_hooks()
        until = None if budget is None else time.perf_counter() + budget
        # What the garbage collector finds, and when, differs from process to process; it may look between slices.
        collecting = gc.isenabled()
        gc.disable()
        events._set_running_loop(self)
        sys.set_asyncgen_hooks(firstiter=_ignore, finalizer=self._close_generator)
        try:
            count = 0
            while ready:
                handle = ready.popleft()
                if not handle._cancelled:
                    try:
                        handle._run()
                    except SystemExit:  # it is the outcome of the task by now; the process is not the flow's to end
                        pass
                count += 1
                if count % _CHECK_BUDGET_EVERY == 0:
                    if self._callbacks + count > self.patience:
                        self._give_up()
                        return True
                    if until is not None and time.perf_counter() > until:
                        return not ready
            return True
        finally:
            self._callbacks += count
            events._set_running_loop(before)
            sys.set_asyncgen_hooks(*hooks)
            if collecting:
                gc.enable()

    def news(self) -> None:
        """A completion comes in."""
        self._callbacks = 0

    def _give_up(self) -> None:
        # A completion enters when the flow is quiescent, since only that moment is the same in every replay.
        self._host.violation = self._host.violation or NotDeterministic(
            f"the flow ran {self.patience} callbacks without waiting for anything; instead of a loop around asyncio.sleep(0), "
            "await an asyncio.Event, a task or headrace.sleep(...)"
        )

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        # A generator that a flow dropped is closed in its loop; one found by the garbage collector is not, since nobody can say when.
        if not self.dead and events._get_running_loop() is self:
            self.call_soon(self.create_task, generator.aclose())

    def advance(self, seconds: float) -> None:
        self._seconds = seconds

    def kill(self) -> None:
        """Close all that is still running; nothing it does on the way out can be recorded."""
        if self.dead:
            return
        self.dead = True
        before = events._get_running_loop()
        events._set_running_loop(self)
        try:
            if self.tasks:
                self._close_tasks()
        finally:
            events._set_running_loop(before)
        self.tasks.clear()
        self._ready.clear()

    def _close_tasks(self) -> None:
        with warnings.catch_warnings():
            # Clean-up that wants to await several things leaves coroutines behind of which none can run any more.
            warnings.simplefilter("ignore", RuntimeWarning)
            for task in list(self.tasks.values()):
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                # In its own context, so that what it calls on the way out is known to be called by a flow that leaves.
                task.home.run(_close, task.get_coro())

    # What asyncio asks of a loop

    def time(self) -> float:
        return self._seconds

    def get_debug(self) -> bool:
        # asyncio.gather makes its future itself, and this question in its constructor is the only moment to give it a place.
        frame = sys._getframe(1)
        if frame.f_code is MAKES_GATHERING:
            gathering = frame.f_locals["self"]
            gathering.__class__ = FlowGathering
            gathering._order = self.next_order()
        return False

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def is_closed(self) -> bool:
        return self.dead

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = FlowHandle(callback, args, self, context)
        if not self.dead:
            self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._seconds + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if self.dead:
            return handle
        if when <= self._seconds:
            self._ready.append(handle)
        else:
            handle._scheduled = True  # type: ignore[attr-defined]
            self._host.timer_set(handle)
        return handle

    def fire(self, handle: asyncio.TimerHandle) -> None:
        handle._scheduled = False  # type: ignore[attr-defined]
        self._ready.append(handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        self._host.timer_cancelled(handle)

    def create_future(self) -> asyncio.Future[Any]:
        return FlowFuture(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None, **_: Any
    ) -> asyncio.Task[Any]:
        if self.dead:
            _close(coro)
            raise FlowEvicted
        early = self._early.pop(id(coro), None) or self._in_list_order(coro)
        return early if early is not None else self._task(coro, name, context)

    def _task(self, coro: Coroutine[Any, Any, Any], name: str | None, context: Context | None) -> asyncio.Task[Any]:
        self._tasks_made += 1
        number = self._tasks_made
        task = FlowTask(coro, loop=self, name=name or f"task-{number}", context=context or copy_context())
        self.tasks[number] = task
        task.add_done_callback(lambda _, number=number: self.tasks.pop(number, None))  # type: ignore[misc]
        return task

    def _in_list_order(self, coro: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        """asyncio.as_completed makes its tasks in the order of a set of coroutines, which is that of their addresses: make them in list order."""
        given = _given_to_as_completed()
        if given is None:
            return None
        if not isinstance(given, list | tuple):
            raise NotDeterministic(
                "asyncio.as_completed in a flow needs a list or a tuple, so that its order is known; write as_completed(list(...))"
            )
        for item in given:
            if not asyncio.iscoroutine(item) and not asyncio.isfuture(item):
                raise NotDeterministic(
                    f"asyncio.as_completed in a flow takes coroutines and tasks, not {type(item).__name__}; write asyncio.ensure_future(...) around it"
                )
        for item in given:
            if asyncio.iscoroutine(item) and id(item) not in self._early:
                self._early[id(item)] = self._task(item, None, None)
        return self._early.pop(id(coro), None)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.dead:
            self.complaints.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    async def shutdown_asyncgens(self) -> None:
        """Nothing to do: generators that a flow drops are closed at once."""


def _ignore(generator: AsyncGenerator[Any, Any]) -> None:
    """The host's loop must not adopt the generators of flows."""


def _close(coro: Any) -> None:
    try:
        coro.close()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever the author's clean-up raises here, the run is on disk and only its copy in memory ends
        pass


def _given_to_as_completed() -> object | None:
    """The argument of the asyncio.as_completed that is creating its tasks right now."""
    frame = sys._getframe(3)
    for _ in range(4):
        name = frame.f_code.co_name
        if frame.f_globals is asyncio.tasks.__dict__:
            if name == "as_completed":
                return frame.f_locals.get("fs")
            if name == "__init__" and "aws" in frame.f_locals:  # a class since Python 3.13
                aws: object = frame.f_locals["aws"]
                return aws
        else:
            return None
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(self: FlowLoop, *args: Any, **kwargs: Any) -> NoReturn:
        raise guard.blame(
            self._host,
            f"{name}() of the event loop",
            "it reaches outside: do it in a @step and await that (plain 'def' steps run in a thread)",
        )

    refuse.__name__ = name
    return refuse


for _name in (
    "run_in_executor call_soon_threadsafe getaddrinfo getnameinfo create_connection create_server sendfile start_tls create_unix_connection "
    "create_unix_server connect_accepted_socket create_datagram_endpoint connect_read_pipe connect_write_pipe subprocess_shell subprocess_exec "
    "add_reader remove_reader add_writer remove_writer sock_recv sock_recv_into sock_recvfrom sock_recvfrom_into sock_sendall sock_sendto "
    "sock_connect sock_accept sock_sendfile add_signal_handler remove_signal_handler run_forever run_until_complete"
).split():
    setattr(FlowLoop, _name, _refusal(_name))
