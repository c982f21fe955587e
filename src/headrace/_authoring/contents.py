"""Which steps and flows a flow speaks of, as far as its code names them; for people who want to know what they run."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from headrace._authoring.flow import Flow
from headrace._authoring.step import Step

_NAMES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}


class Contents(NamedTuple):
    steps: tuple[Step[Any, Any], ...]
    flows: tuple[Flow[Any, Any], ...]


def contents_of(flow: Flow[Any, Any]) -> Contents:
    """Each once, in the order in which the code names them; the helpers of its module are read too."""
    found = dict.fromkeys(_named_in(flow.fn, set()))
    return Contents(
        steps=tuple(item for item in found if isinstance(item, Step)),
        flows=tuple(item for item in found if isinstance(item, Flow) and item is not flow),
    )


def _named_in(function: Any, seen: set[types.CodeType]) -> Iterator[Any]:
    if not isinstance(function, types.FunctionType) or function.__code__ in seen:
        return
    names = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for value in _values(function.__code__, names, seen):
        if isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            yield from _named_in(value, seen)
        elif isinstance(value, Step | Flow):
            yield value


def _values(code: types.CodeType, names: dict[str, Any], seen: set[types.CodeType]) -> Iterator[Any]:
    """What the names in some code stand for, in its order; comprehensions are code inside code."""
    seen.add(code)
    held: Any = None
    for instruction in dis.get_instructions(code):
        value = instruction.argval
        if isinstance(value, types.CodeType):
            yield from _values(value, names, seen)
        elif instruction.opname in _NAMES:
            held = names.get(value)
            yield held
        elif instruction.opname in _ATTRIBUTES and isinstance(held, types.ModuleType):
            held = vars(held).get(value)
            yield held
