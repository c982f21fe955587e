"""Flows that touch the outside world directly are told so, with the line and the replacement.

Two nets, neither of which patches anything: the code of a flow is read when it is declared (clock and randomness raise no audit events),
and an audit hook refuses files, sockets, processes and threads while a flow runs.
A third, for tests only, profiles calls while a flow runs and finds clock and randomness behind any number of helpers.
"""

from __future__ import annotations

import asyncio
import builtins
import datetime as _datetime
import dis
import functools
import os
import random
import secrets
import sys
import threading
import time
import types
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, Protocol

from headrace.errors import DefinitionError, NotDeterministic

_CLOCK = "use headrace.now()"
_CHANCE = "use headrace.random(), whose numbers are the same in every replay"
_OUTSIDE = "do it in a @step and await that"
_THREAD = "use asyncio.create_task, or a plain (not async) @step, which runs in a thread"

_BANNED_MODULES: dict[str, str] = {"random": _CHANCE, "secrets": _CHANCE}
_BANNED: dict[tuple[int, str], str] = {
    **{
        (id(time), name): _CLOCK
        for name in (
            "time",
            "time_ns",
            "monotonic",
            "monotonic_ns",
            "perf_counter",
            "perf_counter_ns",
            "process_time",
            "process_time_ns",
            "thread_time",
            "thread_time_ns",
        )
    },
    (id(time), "sleep"): "use 'await headrace.sleep(...)'",
    **{(id(_datetime.datetime), name): _CLOCK for name in ("now", "utcnow", "today")},
    (id(_datetime.date), "today"): _CLOCK,
    **{(id(uuid), name): "use headrace.uuid()" for name in ("uuid1", "uuid4", "uuid6", "uuid7")},
    (id(os), "urandom"): _CHANCE,
    **{(id(builtins), name): _OUTSIDE for name in ("open", "input")},
    **{(id(os), name): _OUTSIDE for name in ("system", "popen", "fork")},
    (id(os), "getrandom"): _CHANCE,
    (id(asyncio), "all_tasks"): "its order is an accident; keep the tasks in a list, or use asyncio.TaskGroup",
}
_OWNERS: tuple[object, ...] = (asyncio, time, _datetime.datetime, _datetime.date, uuid, os, builtins)
_BANNED_VALUES: dict[int, str] = {
    id(value): replacement
    for (owner_id, name), replacement in _BANNED.items()
    for owner in _OWNERS
    if id(owner) == owner_id and not isinstance(owner, type)
    for value in (getattr(owner, name, None),)
    if value is not None
}
_BANNED_VALUES |= {
    id(value): _CHANCE
    for module in (random, secrets)
    for name in module.__all__
    if callable(value := getattr(module, name)) and value is not random.Random
}

# Of these, Python raises the first two only since 3.13; until then the code is read for them, and the net for tests finds the rest.
_AUDITED: dict[str, str] = {
    "time.sleep": "use 'await headrace.sleep(...)'",
    "_thread.start_new_thread": _THREAD,
} | dict.fromkeys(
    (
        "open", "socket.__new__", "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname",
        "subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty", "os.spawn", "builtins.input",
        "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "shutil.copyfile", "shutil.move", "shutil.rmtree",
        "sqlite3.connect", "urllib.Request", "tempfile.mkstemp", "tempfile.mkdtemp", "glob.glob",
    ),
    _OUTSIDE,
)  # fmt: skip
# Imports and tracebacks read source files at moments that no flow chooses; log handlers may open their file late.
_HARMLESS = {
    "importlib._bootstrap",
    "importlib._bootstrap_external",
    "zipimport",
    "linecache",
    "tokenize",
    "logging",
    "logging.handlers",
    "traceback",
}

_trusted: set[str] = set()


class Guarded(Protocol):
    violation: NotDeterministic | None


class _Here(threading.local):
    guarded: Guarded | None = None


_here = _Here()
_installed = threading.Lock()
_is_installed = False


def trust(modules: tuple[str, ...]) -> None:
    """Let these modules do as they like when flows call them; their author answers for equal replays."""
    _trusted.update(modules)


def install() -> None:
    """Add the audit hook, once for the process; Python cannot take it away again."""
    global _is_installed
    with _installed:
        if not _is_installed:
            sys.addaudithook(_audit)
            _is_installed = True


def enter(guarded: Guarded) -> None:
    _here.guarded = guarded


def leave() -> None:
    _here.guarded = None


def _audit(event: str, args: tuple[Any, ...]) -> None:
    guarded = _here.guarded
    if guarded is None or event not in _AUDITED or (event == "open" and _is_time_zone(args[0])):
        return
    _refuse(guarded, event.replace("builtins.", "").replace(".__new__", ""), _AUDITED[event], sys._getframe(1))


def _is_time_zone(path: object) -> bool:
    """Time zones are read once per process, at the first use of each, and say the same to everybody."""
    zones = sys.modules.get("zoneinfo")
    return zones is not None and isinstance(path, str) and path.startswith(tuple(f"{place}/" for place in zones.TZPATH))


def _refuse(guarded: Guarded, what: str, replacement: str, frame: types.FrameType | None) -> None:
    for name, _ in _frames(frame):
        if name in _HARMLESS or name in _trusted or name.partition(".")[0] in _trusted:
            return
    raise blame(guarded, what, replacement, frame)


def blame(guarded: Guarded, what: str, replacement: str, frame: types.FrameType | None = None) -> NotDeterministic:
    """The error to raise; the run is set aside even if the author's code swallows it."""
    line = next((place for name, place in _frames(frame or sys._getframe(1)) if _is_authors(name)), "an unknown line")
    error = NotDeterministic(f"{what} was called in a flow at {line}; {replacement}")
    guarded.violation = guarded.violation or error
    return error


def _is_authors(module: str) -> bool:
    top = module.partition(".")[0]
    return top not in sys.stdlib_module_names and top != "headrace"


def _frames(frame: types.FrameType | None) -> Iterator[tuple[str, str]]:
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("headrace._engine"):
            return
        yield name, f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back


# Reading the code of a flow


def inspect_flow(fn: Callable[..., Any]) -> None:
    """Refuse clock and randomness in the body of a flow and in the helpers of its module that it calls."""
    function = getattr(fn, "__wrapped__", fn)
    if isinstance(function, types.FunctionType):
        _Reading(fn.__qualname__, function.__module__).read(function)


class _Reading:
    """The code of one flow, read instruction by instruction: what lies on top of the stack, and what the names stand for."""

    def __init__(self, flow: str, module: str) -> None:
        self._flow = flow
        self._module = module
        self._seen: set[types.CodeType] = set()

    def read(self, function: types.FunctionType) -> None:
        self._read_code(function.__code__, function.__globals__, _closure(function))

    def _read_code(self, code: types.CodeType, names: dict[str, Any], known: dict[str, object]) -> None:
        if code in self._seen:
            return
        self._seen.add(code)
        line = code.co_firstlineno
        known = dict(known)
        held: Any = None
        module: Any = None
        constant: object = None
        for instruction in dis.get_instructions(code):
            name, value = instruction.opname, instruction.argval
            if instruction.positions is not None and instruction.positions.lineno is not None:
                line = instruction.positions.lineno
            place = f"{code.co_filename}:{line}"
            if name in _PASSIVE:
                continue
            if name in _STORES:
                known[value] = held
                held = None
            elif name == "CALL" and value == 0 and any(held is item for item in _NEED_ARGUMENT):
                self._refuse(f"{held.__name__}()", _NEED_ARGUMENT[held], place)
            elif name in ("LOAD_ATTR", "LOAD_METHOD"):
                if held is not None and (replacement := _banned_attribute(held, value)) is not None:
                    self._refuse(f"{getattr(held, '__name__', held)}.{value}", replacement, place)
                held = getattr(held, value, None) if isinstance(held, types.ModuleType | type) else None
                self._look_at(held, value, place)
            else:
                if name == "IMPORT_NAME":
                    module = held = sys.modules.get(value if constant else value.partition(".")[0])
                elif name == "IMPORT_FROM":
                    held = getattr(module, value, None)
                elif name in ("LOAD_GLOBAL", "LOAD_NAME"):
                    held = names.get(value, getattr(builtins, value, None))
                    if value not in names and (replacement := _BANNED.get((id(builtins), value))) is not None:
                        self._refuse(value, replacement, place)
                else:
                    held = known.get(value) if name in _LOADS else None
                self._look_at(held, value, place)
            constant = value if name == "LOAD_CONST" else None
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._read_code(inner, names, known)

    def _look_at(self, held: object, name: str, place: str) -> None:
        if held is None:
            return
        replacement = _BANNED_VALUES.get(id(held))
        if isinstance(held, type) and f"{held.__module__}.{held.__qualname__}" in _THREADS:
            replacement = _THREAD
        elif (
            replacement is None and isinstance(held, types.BuiltinFunctionType) and (found := _c_call(held)) is not None
        ):
            replacement = found[1]
        if replacement is not None:
            self._refuse(name, replacement, place)
        while isinstance(held, _HELPERS):
            if isinstance(held, types.FunctionType) and held.__module__ == self._module:
                self.read(held)
            held = getattr(held, "__wrapped__", None)

    def _refuse(self, what: str, replacement: str, place: str) -> NoReturn:
        raise DefinitionError(f"flow {self._flow!r} calls {what} at {place}, so a replay would differ; {replacement}")


_THREADS = {
    "threading.Thread", "threading.Timer", "concurrent.futures.thread.ThreadPoolExecutor", "concurrent.futures.process.ProcessPoolExecutor",
    "multiprocessing.context.Process",
}  # fmt: skip
_PASSIVE = {"PRECALL", "CACHE", "PUSH_NULL", "RESUME", "NOP"}
_STORES = {"STORE_FAST", "STORE_DEREF", "STORE_NAME"}
_LOADS = {"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_HELPERS = (types.FunctionType, functools._lru_cache_wrapper)
# These are as good as what the flow gives them.
_NEED_ARGUMENT: dict[object, str] = {
    random.Random: _CHANCE,
    time.gmtime: _CLOCK,
    time.localtime: _CLOCK,
    time.ctime: _CLOCK,
}


def _closure(function: types.FunctionType) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    return found


def _banned_attribute(owner: object, name: str) -> str | None:
    if isinstance(owner, types.ModuleType) and owner.__name__ in _BANNED_MODULES:
        # The class Random with a seed of the flow's own choosing is as good as ours.
        return None if name in ("Random", "__name__") else _BANNED_MODULES[owner.__name__]
    if isinstance(owner, type) and issubclass(owner, _datetime.date):
        owner = _datetime.datetime if issubclass(owner, _datetime.datetime) else _datetime.date
    return _BANNED.get((id(owner), name))


# The net for tests

_C_CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "urandom"}
_SEEDS = random.Random.seed.__code__
_CALLERS_EXEMPT = {"logging", "asyncio", "threading", "headrace", "hypothesis", "pydantic", "_pytest", "coverage"}


@contextmanager
def profiled(guarded: Guarded) -> Generator[None]:
    """Find clock and randomness behind helpers too; slow, so for tests."""

    def look(frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and (found := _c_call(argument)) is not None:
            caller = frame.f_globals.get("__name__", "").partition(".")[0]
            if caller not in _CALLERS_EXEMPT or found[1] is _THREAD:
                _refuse(guarded, found[0], found[1], frame)
        elif event == "call" and frame.f_code is _SEEDS and frame.f_locals["a"] is None:
            _refuse(guarded, "random.Random() without a seed", _CHANCE, frame)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


def _c_call(function: Any) -> tuple[str, str] | None:
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if name in _C_CLOCKS and owner is not None and getattr(owner, "__name__", "") in ("time", "posix"):
        return f"{owner.__name__}.{name}", _CHANCE if name == "urandom" else _CLOCK
    if name == "sleep" and getattr(owner, "__name__", "") == "time":
        return "time.sleep", "use 'await headrace.sleep(...)'"
    if name == "start_new_thread" and getattr(owner, "__name__", "") == "_thread":
        return "_thread.start_new_thread", _THREAD
    if name in ("now", "utcnow", "today") and isinstance(owner, type) and issubclass(owner, _datetime.date):
        return f"{owner.__name__}.{name}", _CLOCK
    if name in ("random", "getrandbits") and owner is getattr(random, "_inst", None):
        return f"random.{name}", _CHANCE
    return None
