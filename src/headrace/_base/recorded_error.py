"""Errors as JSON, and back.

A flow sees the recorded form of an error already the first time, so that a replay cannot differ. An error becomes an
instance of its own class again, without its ``__init__`` being called: constructors may ask for what was not recorded.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import traceback
import types
from asyncio import CancelledError
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from uuid import UUID

from headrace.errors import RemoteError

__all__ = ["ErrorView", "decode_error", "describe", "encode_error"]

_MESSAGE_LIMIT: Final = 64 * 1024
_TRACEBACK_LIMIT: Final = 8 * 1024
_REPR_LIMIT: Final = 1024
_STATE_LIMIT: Final = 256 * 1024
_CAUSES: Final = 5
_MEMBERS: Final = 50
_NESTING: Final = 20
_INT_BITS: Final = 10_000

_PACKAGE: Final = str(Path(__file__).parent.parent)
_MICROSECOND: Final = timedelta(microseconds=1)
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")

_Recorded = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ErrorView:
    """A recorded error as text; no class of the user is needed to read it."""

    type_name: str
    message: str
    traceback: str
    causes: tuple[ErrorView, ...] = ()
    members: tuple[ErrorView, ...] = ()
    notes: tuple[str, ...] = ()


def encode_error(error: BaseException) -> bytes:
    """The error as JSON; never raises, whatever the error's own methods do."""
    try:
        return _dump(_record(error, _CAUSES))
    except Exception:  # noqa: BLE001
        # Nothing can be asked of this error; that it happened, and what it was, must still be recorded.
        return _dump({"type": _type_name(error), "message": "", "args": [], "lossy": True})


def decode_error(stored: bytes) -> BaseException:
    """An error of the recorded class, or ``RemoteError`` where that class cannot be made here.

    The chain of ``__cause__`` is restored; the text of the traceback is in ``recorded_traceback``.
    """
    return _restore(json.loads(stored))


def describe(stored: bytes) -> ErrorView:
    """What to show of a recorded error, without importing anything."""
    return _view(json.loads(stored))


# --- writing -----------------------------------------------------------------------------------------------------------


def _dump(recorded: _Recorded) -> bytes:
    # ASCII: a lone surrogate in an argument survives as an escape.
    return json.dumps(recorded, separators=(",", ":")).encode("ascii")


def _record(error: BaseException, causes: int) -> _Recorded:
    writer = _ValueWriter()
    recorded: _Recorded = {"type": _type_name(error), "message": _message(error)}
    if isinstance(error, BaseExceptionGroup):
        _record_members(recorded, error, causes)
    else:
        recorded["args"] = [writer.write(value) for value in error.args]
    state = {name: writer.write(value) for name, value in _state(error).items()}
    notes = [_clean(_cut(note, _MESSAGE_LIMIT)) for note in getattr(error, "__notes__", ()) if isinstance(note, str)]
    cause = error.__cause__
    optional = {
        "state": state,
        "notes": notes,
        "traceback": _traceback_text(error),
        "cause": _record(cause, causes - 1) if cause is not None and causes > 0 else None,
        "lossy": writer.lossy,
    }
    return {**recorded, **{name: part for name, part in optional.items() if part}}


def _record_members(recorded: _Recorded, group: BaseExceptionGroup[BaseException], causes: int) -> None:
    recorded["group"] = _clean(_cut(group.message, _MESSAGE_LIMIT))
    kept = group.exceptions[:_MEMBERS] if causes > 0 else ()
    recorded["members"] = [_record(member, causes - 1) for member in kept]


def _type_name(error: BaseException) -> str:
    return f"{type(error).__module__}:{type(error).__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return _clean(_cut(str(error), _MESSAGE_LIMIT))
    except Exception as broken:  # noqa: BLE001 - it is the user's code
        return f"<{type(error).__qualname__} has no text: its __str__ raised {type(broken).__qualname__}>"


def _state(error: BaseException) -> dict[str, Any]:
    """Attributes, also those in slots and in the C parts of built-in errors (``errno``, ``filename``, ``name``)."""
    state: dict[str, Any] = {}
    for cls in reversed(type(error).__mro__):
        if cls in _WITHOUT_STATE:
            continue
        for name, part in vars(cls).items():
            if isinstance(part, _FIELDS) and not name.startswith("__") and name not in _NOT_STATE:
                value = getattr(error, name, None)
                if value is not None:
                    state[name] = value
    own = {name: value for name, value in vars(error).items() if name not in _NOT_STATE and type(name) is str}
    return state | own


_WITHOUT_STATE: Final = (object, BaseException, Exception, BaseExceptionGroup, ExceptionGroup)
_FIELDS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)
_NOT_STATE: Final = frozenset({"__notes__", "recorded_traceback", "obj", "print_file_and_line"})


class _ValueWriter:
    """Values as JSON, the usual ones exactly; anything else as its repr, which is noted."""

    def __init__(self) -> None:
        self.lossy = False
        self._left = _STATE_LIMIT

    def write(self, value: Any, depth: int = 0) -> Any:
        kind = type(value)
        if value is None or kind in (bool, float):
            self._left -= 8
            return value
        if kind is int and value.bit_length() <= _INT_BITS:
            self._left -= value.bit_length() // 3
            return value
        if kind is str and len(value) <= self._left:
            self._left -= len(value) + 8
            return value
        if self._left < 0 or depth > _NESTING:
            return self._as_text(value)
        if kind in (list, tuple, set, frozenset, dict):
            return self._write_container(value, depth + 1)
        return self._write_scalar(value)

    def _write_container(self, value: Any, depth: int) -> Any:
        self._left -= 8
        kind = type(value)
        if kind is dict and all(type(key) is str and key != "$" for key in value):
            return dict(self._write_pairs(value, depth))
        if kind is dict:
            return {"$": "dict", "v": [[self.write(key, depth), item] for key, item in self._write_pairs(value, depth)]}
        items = []
        for item in value:
            if self._is_full():
                break
            items.append(self.write(item, depth))
        if kind is list:
            return items
        return {"$": kind.__name__, "v": items if kind is tuple else sorted(items, key=json.dumps)}

    def _write_pairs(self, value: dict[Any, Any], depth: int) -> Iterator[tuple[Any, Any]]:
        for key, item in value.items():
            if self._is_full():
                break
            yield key, self.write(item, depth)

    def _is_full(self) -> bool:
        if self._left < 0:
            self.lossy = True
        return self._left < 0

    def _write_scalar(self, value: Any) -> Any:
        if isinstance(value, Path):
            return {"$": "Path", "v": str(value)}
        write = _SCALARS.get(type(value))
        if write is None:
            return self._as_text(value)
        written = write(value)
        if len(str(written)) > self._left:
            return self._as_text(value)
        self._left -= len(str(written)) + 16
        return {"$": type(value).__name__, "v": written}

    def _as_text(self, value: Any) -> str:
        self.lossy = True
        if isinstance(value, str):
            text = _cut(str.__str__(value), max(_REPR_LIMIT, self._left))
            self._left -= len(text)
            return text
        try:
            text = repr(value)
        except Exception:  # noqa: BLE001 - it is the user's code
            text = f"<{type(value).__qualname__}>"
        self._left -= _REPR_LIMIT
        # Where an object lay in memory means nothing to a later process.
        return _cut(_ADDRESS.sub("", text[: 2 * _REPR_LIMIT]), _REPR_LIMIT)


_SCALARS: Final[dict[type, Any]] = {
    bytes: lambda value: value.hex(),
    complex: lambda value: [value.real, value.imag],
    date: date.isoformat,
    datetime: datetime.isoformat,
    time: time.isoformat,
    timedelta: lambda value: value // _MICROSECOND,
    Decimal: str,
    UUID: str,
}


def _traceback_text(error: BaseException) -> str:
    earlier = getattr(error, "recorded_traceback", "")
    earlier = earlier if isinstance(earlier, str) else ""
    # A recorded error that is raised again has its cause in the first traceback, not in the second.
    later = "" if error.__traceback__ is None else _format_frames(error.__traceback__, _TRACEBACK_LIMIT - len(earlier))
    return _clean(_cut(f"{earlier}\n{later}" if earlier and later else earlier or later, _TRACEBACK_LIMIT))


def _format_frames(tb: TracebackType, limit: int) -> str:
    frames = list(traceback.walk_tb(tb))
    foreign = [(frame, line) for frame, line in frames if not frame.f_code.co_filename.startswith(_PACKAGE)]
    frames = foreign or frames
    # The first frames say where it began, the last ones where it broke; a recursion has a thousand between them.
    cut = len(frames) > 30
    kept = [*frames[:8], *frames[-20:]] if cut else frames
    try:
        texts = traceback.StackSummary.extract(iter(kept)).format()
    except Exception:  # noqa: BLE001 - a source file that cannot be read must not hide the error
        return ""
    if cut:
        texts.insert(
            8 if len(texts) == len(kept) else len(texts) // 3, f"  ... {len(frames) - 28} frames left out ...\n"
        )
    while len(texts) > 1 and sum(map(len, texts)) > limit:
        del texts[len(texts) // 3]
    return "".join(texts)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 20]}... ({len(text)} in all)"[:limit]


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# --- reading -----------------------------------------------------------------------------------------------------------


def _restore(recorded: _Recorded) -> BaseException:
    error = _instance(recorded)
    if recorded.get("cause"):
        # Past the class's own __setattr__, here and below: a frozen dataclass may be an error, too.
        object.__setattr__(error, "__cause__", _restore(recorded["cause"]))
    if recorded.get("notes"):
        object.__setattr__(error, "__notes__", list(recorded["notes"]))
    object.__setattr__(error, "recorded_traceback", recorded.get("traceback", ""))
    return error


def _instance(recorded: _Recorded) -> BaseException:
    cls = _find_class(recorded["type"])
    if cls is not None:
        try:
            return _rebuild(cls, recorded)
        except Exception:  # noqa: BLE001
            # The class refuses to be made this way, or cannot say its text: then it is as good as absent.
            return RemoteError(recorded["type"], recorded["message"])
    return RemoteError(recorded["type"], recorded["message"])


def _rebuild(cls: type[BaseException], recorded: _Recorded) -> BaseException:
    args = _arguments(cls, recorded)
    error = cls.__new__(cls, *args)
    if type(error) is not cls and not isinstance(error, BaseExceptionGroup):
        raise TypeError(f"{cls.__qualname__} made a {type(error).__qualname__}")
    object.__setattr__(error, "args", args)
    for name, value in recorded.get("state", {}).items():
        _set(error, name, _read(value))
    str(error)
    return error


def _arguments(cls: type[BaseException], recorded: _Recorded) -> tuple[Any, ...]:
    if issubclass(cls, BaseExceptionGroup):
        return recorded["group"], [_restore(member) for member in recorded["members"]]
    return tuple(_read(value) for value in recorded["args"])


def _set(error: BaseException, name: str, value: Any) -> None:
    for cls in type(error).__mro__:
        if isinstance(vars(cls).get(name), _FIELDS):
            object.__setattr__(error, name, value)
            return
    error.__dict__[name] = value


def _find_class(type_name: str) -> type[BaseException] | None:
    module_name, _, qualname = type_name.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), *qualname.split("."))):
        return None
    found: Any = _module(module_name)
    for part in qualname.split("."):
        found = vars(found).get(part) if found is not None and hasattr(found, "__dict__") else None
    if not isinstance(found, type) or (found.__module__, found.__qualname__) != (module_name, qualname):
        return None
    return found if issubclass(found, (Exception, CancelledError, BaseExceptionGroup)) else None


def _module(name: str) -> types.ModuleType | None:
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except Exception:  # noqa: BLE001
        # A module that cannot be imported any more is the ordinary case for an old record.
        return None


def _read(written: Any) -> Any:
    if isinstance(written, list):
        return [_read(item) for item in written]
    if not isinstance(written, dict):
        return written
    if "$" in written:
        return _READERS[written["$"]](written["v"])
    return {key: _read(item) for key, item in written.items()}


_READERS: Final[dict[str, Any]] = {
    "dict": lambda pairs: {_read(key): _read(item) for key, item in pairs},
    "tuple": lambda items: tuple(_read(item) for item in items),
    "set": lambda items: {_read(item) for item in items},
    "frozenset": lambda items: frozenset(_read(item) for item in items),
    "bytes": bytes.fromhex,
    "complex": lambda parts: complex(*parts),
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda micros: timedelta(microseconds=micros),
    "Decimal": Decimal,
    "UUID": UUID,
    "Path": Path,
}


def _view(recorded: _Recorded) -> ErrorView:
    causes: list[ErrorView] = []
    if recorded.get("cause"):
        first = _view(recorded["cause"])
        causes = [first, *first.causes]
    return ErrorView(
        type_name=recorded["type"],
        message=recorded["message"],
        traceback=recorded.get("traceback", ""),
        causes=tuple(causes),
        members=tuple(_view(member) for member in recorded.get("members", ())),
        notes=tuple(recorded.get("notes", ())),
    )
