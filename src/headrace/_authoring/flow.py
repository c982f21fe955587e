"""``@flow``: an async function that tells the story; its progress is durable."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, TypeVar, overload

from headrace._authoring.context import current_flow, current_step
from headrace._authoring.guard import inspect_flow
from headrace._authoring.identity import IdTemplate
from headrace._authoring.retry import Seconds, to_timedelta
from headrace._base.codec import CallShape
from headrace.errors import DefinitionError

P = ParamSpec("P")
R = TypeVar("R")


class Flow(Generic[P, R]):
    """What ``@flow`` makes of a function; inside a flow, calling it runs a child and waits for it."""

    def __init__(self, fn: Callable[..., Any], *, id: str | None, name: str | None, timeout: Seconds | None) -> None:
        functools.update_wrapper(self, fn)
        where = (
            f"{fn.__qualname__} ({fn.__code__.co_filename}:{fn.__code__.co_firstlineno})"
            if hasattr(fn, "__code__")
            else repr(fn)
        )
        if not inspect.iscoroutinefunction(fn):
            raise DefinitionError(f"{where}: a flow is an 'async def' function; plain functions can be steps")
        self.fn = fn
        self.name = name or fn.__name__
        self.timeout = None if timeout is None else to_timedelta(timeout, what=f"@flow(timeout=...) of {self.name}")
        self.shape = CallShape(fn, where=f"flow {self.name}")
        self.parameters = tuple(inspect.signature(fn).parameters)
        self.id_template = None if id is None else IdTemplate(id, self.parameters, where=where)
        inspect_flow(fn)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        running = current_flow.get()
        if running is not None:
            return _as_child(self, self.shape.encode(args, kwargs))
        if (outer := current_step.get()) is not None:
            raise DefinitionError(
                f"flow {self.name!r} was called inside step {outer.key!r}; call it from the flow, or start it there"
            )
        result: Coroutine[Any, Any, R] = self.fn(*args, **kwargs)
        return result

    def run_id_for(self, arguments: bytes) -> str | None:
        """The id that the template gives for recorded arguments; None when the flow has no template."""
        if self.id_template is None:
            return None
        args, kwargs = self.shape.decode(arguments)
        return self.id_template.render(self.shape.bind(args, kwargs))

    def __repr__(self) -> str:
        return f"<flow {self.name}>"


async def _as_child(flow: Flow[Any, Any], arguments: bytes) -> Any:
    context = current_flow.get()
    assert context is not None
    return await context.call_flow(flow, arguments, None)


@overload
def flow(fn: Callable[P, Coroutine[Any, Any, R]], /) -> Flow[P, R]: ...
@overload
def flow(
    *, id: str | None = None, name: str | None = None, timeout: Seconds | None = None
) -> Callable[[Callable[P, Coroutine[Any, Any, R]]], Flow[P, R]]: ...
def flow(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    id: str | None = None,
    name: str | None = None,
    timeout: Seconds | None = None,
) -> Any:
    """Make an async function durable.

    ``id`` is a template over the arguments, for example ``"ingest-{day:%d_%m_%Y}"``; without one each run gets a new id.
    """

    def make(function: Callable[..., Any]) -> Flow[Any, Any]:
        return Flow(function, id=id, name=name, timeout=timeout)

    return make if fn is None else make(fn)
