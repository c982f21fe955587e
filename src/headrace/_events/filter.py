"""Filters on events as text: a small, safe part of Python's expressions, such as ``data.language == "he" and data.tries < 3``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

from headrace._events.model import Event
from headrace.errors import ValueRefused

Predicate = Callable[[Event[Any]], bool]

MAX_LENGTH: Final = 1_000
_FIELDS: Final = frozenset(
    {
        "id",
        "topic",
        "subject",
        "data",
        "source",
        "time",
        "version",
        "position",
        "sequence",
        "job",
        "generation",
        "applied",
        "reason",
    }
)
_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}


class _Absent:
    """What a name leads to that the data does not have: equal to nothing, smaller than nothing, in nothing."""

    def __bool__(self) -> bool:
        return False


_ABSENT: Final = _Absent()


def compile_filter(text: str) -> Predicate:
    """A predicate for a filter text; raises ValueRefused with the place of the mistake."""
    if len(text) > MAX_LENGTH:
        raise ValueRefused(f"a filter may have {MAX_LENGTH} characters; this one has {len(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueRefused(f"the filter {text!r} cannot be read: {error}") from None
    _check(tree, text)
    return lambda event: bool(_value(tree, event))


def _check(node: ast.expr, text: str) -> None:
    if isinstance(node, ast.Name):
        if node.id not in _FIELDS:
            raise ValueRefused(f"the filter {text!r} speaks of {node.id!r}; an event has {', '.join(sorted(_FIELDS))}")
        return
    if isinstance(node, ast.Constant):
        return
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, (ast.Not, ast.USub)):
        raise _not_allowed(node, text)
    if isinstance(node, ast.Compare) and not all(type(op) in _COMPARE for op in node.ops):
        raise _not_allowed(node, text)
    if not isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Attribute, ast.Subscript, ast.List, ast.Tuple)):
        raise _not_allowed(node, text)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            _check(child, text)


def _not_allowed(node: ast.expr, text: str) -> ValueRefused:
    part = ast.get_source_segment(text.strip(), node) or text
    return ValueRefused(
        f"the filter {text!r} has {part!r}; allowed are names, fields, constants, lists, comparisons, 'in', 'and', 'or' and 'not'"
    )


def _value(node: ast.expr, event: Event[Any]) -> Any:
    match node:
        case ast.Name():
            return getattr(event, node.id)
        case ast.Constant():
            return node.value
        case ast.Attribute():
            return _member(_value(node.value, event), node.attr)
        case ast.Subscript():
            return _member(_value(node.value, event), _value(node.slice, event))
        case ast.List() | ast.Tuple():
            return [_value(item, event) for item in node.elts]
        case ast.BoolOp():
            values = (_value(item, event) for item in node.values)
            return all(values) if isinstance(node.op, ast.And) else any(values)
        case ast.UnaryOp():
            value = _value(node.operand, event)
            return not value if isinstance(node.op, ast.Not) else _negative(value)
        case ast.Compare():
            return _compare(node, event)
        case _:  # pragma: no cover - refused when the filter was read
            raise AssertionError(node)


def _compare(node: ast.Compare, event: Event[Any]) -> bool:
    left = _value(node.left, event)
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = _value(right_node, event)
        negated = isinstance(op, (ast.NotEq, ast.NotIn))
        if left is _ABSENT or right is _ABSENT:
            if not negated:
                return False
        else:
            try:
                if not _COMPARE[type(op)](left, right):
                    return False
            except TypeError:  # a text is not smaller than a number
                return False
        left = right
    return True


def _member(value: Any, key: Any) -> Any:
    """A field of a value, by name or by index; what is not there is absent, not an error."""
    if isinstance(value, dict):
        return value.get(key, _ABSENT)
    if isinstance(value, (list, tuple)) and isinstance(key, int):
        return value[key] if -len(value) <= key < len(value) else _ABSENT
    if isinstance(key, str) and not key.startswith("_") and hasattr(type(value), "__dict__"):
        found = getattr(value, key, _ABSENT)
        return _ABSENT if callable(found) else found
    return _ABSENT


def _negative(value: Any) -> Any:
    return -value if isinstance(value, (int, float)) else _ABSENT
