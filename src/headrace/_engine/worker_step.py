"""One step in a worker process: found by name, given its arguments, answered with its result or its error."""

from __future__ import annotations

import asyncio
import functools
import importlib
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from multiprocessing import process
from types import ModuleType
from typing import Any, NoReturn, Protocol, TypeVar

from headrace._authoring.context import current_step
from headrace._authoring.step import Step
from headrace._base.clock import SystemClock, to_datetime, to_micros
from headrace._base.codec import Shape
from headrace._base.recorded_error import encode_error
from headrace.errors import ConfigurationError, DefinitionError

T = TypeVar("T")

_PROGRESS = Shape(Any, where="step.progress")


class Owner(Protocol):
    """What a running step may tell and ask the process that gave it the work."""

    @property
    def cancelled(self) -> bool: ...
    def report(self, progress: bytes) -> None: ...


class WorkerStepContext:
    """What a step in a worker process may know about itself."""

    def __init__(
        self, owner: Owner, *, step_name: str, run_id: str, key: str, attempt: int, previous_progress: bytes | None
    ) -> None:
        self._owner = owner
        self._step_name = step_name
        self._previous_progress = previous_progress
        self.run_id = run_id
        self.key = key
        self.attempt = attempt

    @property
    def cancelled(self) -> bool:
        return self._owner.cancelled

    def now(self) -> datetime:
        return to_datetime(SystemClock().now())

    async def sleep(self, duration: timedelta) -> None:
        clock = SystemClock()
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = clock.call_at(clock.now() + to_micros(duration), functools.partial(over.set_result, None))
        try:
            await over
        finally:
            timer.cancel()

    def progress(self, value: object) -> None:
        self._owner.report(_PROGRESS.encode(value))

    def previous_progress(self) -> Any:
        return None if self._previous_progress is None else _PROGRESS.decode(self._previous_progress)

    async def publish(self, topic: str, data: object, **_: object) -> NoReturn:
        raise DefinitionError(
            f"publish({topic!r}) was called in the cpu step {self._step_name!r}; let it return the data, and publish in the flow"
        )

    def use(self, kind: type[T]) -> NoReturn:
        raise ConfigurationError(
            f"use({kind.__name__}) was called in the cpu step {self._step_name!r}; cpu steps run in a process of their own, "
            f"where nothing is wired: pass what it needs as arguments, or leave out cpu=True"
        )


def perform(
    owner: Owner,
    *,
    main_name: str | None,
    module: str,
    qualname: str,
    main_path: str | None,
    step_name: str,
    run_id: str,
    key: str,
    attempt: int,
    arguments: bytes,
    previous_progress: bytes | None,
) -> tuple[bool, bytes]:
    """Run a step to its end; True and its result, or False and its error, both encoded."""
    context = WorkerStepContext(
        owner, step_name=step_name, run_id=run_id, key=key, attempt=attempt, previous_progress=previous_progress
    )
    try:
        step = find_step(_import(module, main_name=main_name, main_path=main_path), qualname, step_name)
        token = current_step.set(context)
        try:
            args, kwargs = step.shape.decode(arguments)
            return True, step.shape.result.encode(step.fn(*args, **kwargs))
        finally:
            current_step.reset(token)
    except BaseException as error:  # noqa: BLE001 - the step runner: an import may fail, a step may call sys.exit()
        return False, encode_error(error)


def _import(module: str, *, main_name: str | None, main_path: str | None) -> ModuleType:
    with _importing():
        return _import_main(main_name, main_path) if module == "__main__" else importlib.import_module(module)


@contextmanager
def _importing() -> Iterator[None]:
    """Mark the process as multiprocessing does, so that a script without ``if __name__ == "__main__"`` is stopped when it starts itself again."""
    process.current_process()._inheriting = True  # type: ignore[attr-defined]  # the flag that multiprocessing itself looks at
    try:
        yield
    finally:
        del process.current_process()._inheriting  # type: ignore[attr-defined]  # see above


@functools.cache
def _import_main(name: str | None, path: str | None) -> ModuleType:
    """The owner's main program under the name that multiprocessing gives it, so that its start under ``if __name__ == "__main__"`` is left out."""
    if name is not None:
        content = runpy.run_module(name, run_name="__mp_main__", alter_sys=True)
    elif path is not None:
        content = runpy.run_path(path, run_name="__mp_main__")
    else:
        raise DefinitionError(
            "a cpu step typed into an interactive session cannot be imported by another process; write it into a module"
        )
    main = sys.modules["__main__"] = sys.modules["__mp_main__"] = ModuleType("__mp_main__")
    vars(main).update(content)
    for value in content.values():
        # Recorded errors name their class, and the owner knows the program's classes by this name.
        if isinstance(value, type) and value.__module__ == "__mp_main__":
            value.__module__ = "__main__"
    return main


def find_step(module: ModuleType, qualname: str, name: str) -> Step[Any, Any]:
    """The step at ``qualname``, else one of the module that was made of the function of that name: ``small = step(cpu=True)(shrink)``."""
    found: Any = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    for candidate in (found, *vars(module).values()):
        if isinstance(candidate, Step) and candidate.name == name and candidate.fn.__qualname__ == qualname:
            return candidate
    raise DefinitionError(
        f"a worker process found no step {name!r} made of {qualname} in {module.__name__}; define cpu steps at the top of a module"
    )
