"""``@step``: a function with one outside effect, retried, timed out and recorded."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from headrace._authoring.context import StepContext, current_flow, current_step
from headrace._authoring.retry import NO_RETRY, Retry, Seconds, to_timedelta
from headrace._base.codec import CallShape
from headrace._ports.database import Transaction
from headrace.errors import DefinitionError

P = ParamSpec("P")
R = TypeVar("R")

Mode = Literal["loop", "thread", "process", "transaction"]


class Step(Generic[P, R]):
    """What ``@step`` makes of a function: call and await it; ``fn`` is the plain function."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        name: str | None,
        timeout: Seconds | None,
        retry: Retry | None,
        cpu: bool,
        at_most_once: bool,
        transactional: bool,
    ) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.name = name or fn.__name__
        self.timeout = None if timeout is None else to_timedelta(timeout, what=f"@step(timeout=...) of {self.name}")
        self.retry = retry or NO_RETRY
        self.at_most_once = at_most_once
        self.mode: Mode = _mode(fn, cpu=cpu, transactional=transactional)
        _check(self)
        self.shape = CallShape(fn, where=f"step {self.name}", skip=1 if transactional else 0)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        flow = current_flow.get()
        if flow is not None:
            # Arguments are written down now, so that a later change to them cannot reach the step.
            return _in_flow(flow.call_step, self, self.shape.encode(args, kwargs))
        if (outer := current_step.get()) is not None:
            raise DefinitionError(
                f"step {self.name!r} was called inside step {outer.key!r}; a step is recorded as one thing. "
                f"Call {self.name}.fn(...) for the plain function, or call both steps from the flow"
            )
        if self.mode == "transaction":
            raise DefinitionError(
                f"the transactional step {self.name!r} needs the store of an engine; in tests call {self.name}.fn(tx, ...)"
            )
        return self._plainly(args, kwargs)

    async def _plainly(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        if self.mode == "loop":
            result: R = await self.fn(*args, **kwargs)
            return result
        return await asyncio.to_thread(functools.partial(self.fn, *args, **kwargs))

    def __repr__(self) -> str:
        return f"<step {self.name}>"

    def __get__(self, instance: object, owner: type | None = None) -> Step[P, R]:
        if instance is None:
            return self
        raise DefinitionError(
            f"step {self.name!r} is a method; steps are plain functions: pass what it needs as arguments or get it with use(...)"
        )


async def _in_flow(
    call: Callable[[Step[Any, Any], bytes], Awaitable[Any]], step: Step[Any, Any], arguments: bytes
) -> Any:
    return await call(step, arguments)


def _mode(fn: Callable[..., Any], *, cpu: bool, transactional: bool) -> Mode:
    if transactional:
        return "transaction"
    if cpu:
        return "process"
    return "loop" if inspect.iscoroutinefunction(fn) else "thread"


def _check(step: Step[Any, Any]) -> None:
    fn = step.fn
    where = _where(fn)
    if inspect.isasyncgenfunction(fn) or inspect.isgeneratorfunction(fn):
        raise DefinitionError(f"{where}: a step cannot yield; return a list, or make one step call per item")
    if step.mode in ("process", "transaction") and inspect.iscoroutinefunction(fn):
        option = "cpu" if step.mode == "process" else "transactional"
        raise DefinitionError(f"{where}: @step({option}=True) needs a plain function; write 'def', not 'async def'")
    if step.mode == "process" and "<locals>" in fn.__qualname__:
        raise DefinitionError(
            f"{where}: @step(cpu=True) runs in another process, which must be able to import it; move it to the top of a module"
        )
    if step.mode == "transaction":
        if not inspect.signature(fn).parameters:
            raise DefinitionError(
                f"{where}: @step(transactional=True) gets the transaction first: def {step.name}(tx, ...)"
            )
        if step.timeout is not None or step.at_most_once:
            raise DefinitionError(
                f"{where}: a transactional step is exactly once and short by nature; leave out timeout and at_most_once"
            )
    if step.at_most_once and step.retry.attempts != 1:
        raise DefinitionError(f"{where}: at_most_once=True and retries exclude each other; leave out retry")


def _where(fn: Callable[..., Any]) -> str:
    code = getattr(fn, "__code__", None)
    return f"{fn.__qualname__} ({code.co_filename}:{code.co_firstlineno})" if code else repr(fn)


class _StepDecorator:
    """``@step``, and inside a step what it may know about itself."""

    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> Step[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Step[P, R]: ...
    @overload
    def __call__(
        self, *, transactional: Literal[True], name: str | None = None, retry: Retry | None = None
    ) -> Callable[[Callable[Concatenate[Transaction, P], R]], Step[P, R]]: ...
    @overload
    def __call__(
        self,
        *,
        name: str | None = None,
        timeout: Seconds | None = None,
        retry: Retry | None = None,
        cpu: bool = False,
        at_most_once: bool = False,
    ) -> _MakeStep: ...

    def __call__(  # type: ignore[misc]  # the overloads with options give back a decorator
        self,
        fn: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        timeout: Seconds | None = None,
        retry: Retry | None = None,
        cpu: bool = False,
        at_most_once: bool = False,
        transactional: bool = False,
    ) -> Any:
        def make(function: Callable[..., Any]) -> Step[Any, Any]:
            return Step(
                function,
                name=name,
                timeout=timeout,
                retry=retry,
                cpu=cpu,
                at_most_once=at_most_once,
                transactional=transactional,
            )

        return make if fn is None else make(fn)

    @property
    def key(self) -> str:
        """The idempotency key of the running step: run id and position, the same in every attempt and replay."""
        return _running("key").key

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        return _running("attempt").attempt

    @property
    def run_id(self) -> str:
        return _running("run_id").run_id

    @property
    def cancelled(self) -> bool:
        """Whether somebody waits for this step to stop; thread and process steps look here between pieces of work."""
        return _running("cancelled").cancelled

    def progress(self, value: object) -> None:
        """Say how far the work is; shown to people, and handed to the next attempt after a crash."""
        _running("progress").progress(value)

    def previous_progress(self) -> Any:
        """The last progress that an earlier attempt recorded, or None."""
        return _running("previous_progress").previous_progress()


class _MakeStep:
    """Typing only: what ``@step(...)`` returns takes async and plain functions."""

    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> Step[P, R]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Step[P, R]: ...
    def __call__(self, fn: Callable[..., Any], /) -> Any:
        raise NotImplementedError


def _running(what: str) -> StepContext:
    context = current_step.get()
    if context is None:
        raise DefinitionError(f"step.{what} was read outside a step; only the function of a running @step has one")
    return context


step = _StepDecorator()
