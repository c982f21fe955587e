"""The one codec between values and stored text: JSON by annotation, through pydantic.

An annotation is a promise that is kept in both directions: a value that does not fit it is refused, and what is read
back is what was written. Where pydantic alone would lose something in silence, its schema is tightened once when the
shape is built: sets are written in sorted order, NaN and infinities as constants, bytes as base64, names and not aliases.

Without an annotation (or with ``Any``) a value is written by its own type and read back as plain JSON.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NotRequired, Required

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypedDict

from headrace._base.tightened_schema import (
    TightenedSchema,
    core_schema_of,
    exact_types,
    name_of,
    serializer_for,
    to_plain,
    validator_for,
)
from headrace.errors import DefinitionError, ValueRefused

__all__ = ["MAX_VALUE", "CallShape", "Shape"]

MAX_VALUE: Final = 16 * 2**20


# --- one value ---------------------------------------------------------------------------------------------------------


class Shape:
    """One annotated value. ``where`` names it in messages, as in "result of step fetch"."""

    __slots__ = ("_adapter", "_annotation", "_place", "where")

    def __init__(self, annotation: object, *, where: str) -> None:
        self._start(lambda: annotation, where, where)
        self._resolved()

    @classmethod
    def _later(cls, annotation: Callable[[], object], where: str, place: str) -> Shape:
        shape = cls.__new__(cls)
        shape._start(annotation, where, place)
        return shape

    def _start(self, annotation: Callable[[], object], where: str, place: str) -> None:
        self.where = where
        self._annotation = annotation
        self._place = place
        self._adapter: _Adapter | None = None

    def _resolved(self) -> _Adapter:
        try:
            return self._load()
        except NameError as error:
            raise _not_defined(self._place, error) from error

    def _load(self) -> _Adapter:
        if self._adapter is None:
            self._adapter = _Adapter(_tightened(self._annotation(), self._place), self.where)
        return self._adapter

    def encode(self, value: object) -> bytes:
        """The value as JSON; refused where it does not fit the annotation or would not come back as it is."""
        return (self._adapter or self._resolved()).encode(value)

    def decode(self, stored: bytes) -> Any:
        """The value of the annotated type; refused where the stored JSON does not fit the annotation."""
        return (self._adapter or self._resolved()).decode(stored)

    def to_plain(self, value: object) -> Any:
        """What ``json.loads`` of the encoded value would give."""
        return (self._adapter or self._resolved()).to_plain(value)


class _Adapter:
    """The pair of writer and reader that pydantic builds for one schema."""

    __slots__ = (
        "_checked",
        "_classes",
        "_exact",
        "_raw",
        "_read",
        "_write",
        "call",
        "exact_fields",
        "serializer",
        "where",
    )

    def __init__(self, tightened: TightenedSchema, where: str, *, call: bool = False) -> None:
        self.where = where
        self.call = call
        self._raw = tightened.raw
        self.serializer = serializer_for(tightened.schema)
        self._write = self.serializer.to_json
        self._read = validator_for(tightened.schema).validate_json
        self._checked = tightened.runs_foreign_code and not tightened.has_any
        self._classes = tuple(tightened.classes)
        self._exact = exact_types(tightened.schema)
        self.exact_fields = tuple(exact_types(field["schema"]) for field in tightened.fields.values())

    def encode(self, value: object) -> bytes:
        if type(value) in self._exact:
            return self.encode_exact(value)
        try:
            stored = self._write(value, warnings="error", round_trip=True, by_alias=False)
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise self._refusal(value, error) from error
        if len(stored) > MAX_VALUE:
            raise self._too_large(len(stored))
        if self._checked or (self._classes and _any_subclassed(self._classes)):
            self._check(value, stored)
        return stored

    def encode_exact(self, value: object) -> bytes:
        # Asking pydantic to raise its warnings costs more than writing a small value; an exact type has none.
        try:
            stored = self._write(value)
        except (PydanticSerializationError, ValueError) as error:
            raise self._refusal(value, error) from error
        if len(stored) > MAX_VALUE:
            raise self._too_large(len(stored))
        return stored

    def decode(self, stored: bytes) -> Any:
        try:
            return self._read(stored, strict=True, by_alias=False, by_name=True)
        except ValidationError as error:
            raise ValueRefused(self._mismatch(error)) from error

    def to_plain(self, value: object) -> Any:
        return to_plain(self.serializer, value)

    def _check(self, value: object, stored: bytes) -> None:
        found = _difference(value, self.decode(stored), ())
        if found is not None:
            path, what = found
            raise ValueRefused(f"{self._place(path)} {what}, so it would not come back as it was")

    def _too_large(self, size: int) -> ValueRefused:
        return ValueRefused(
            f"{self.where}: {size} bytes of JSON are more than the {MAX_VALUE} that a value may have; "
            "store the bytes elsewhere and pass a reference to them (a path, a key, a blob)"
        )

    def _refusal(self, value: object, error: Exception) -> ValueRefused:
        try:
            diagnosis = validator_for(_revalidating(self._raw))
            diagnosis.validate_python(value, strict=True, by_alias=False, by_name=True)
        except ValidationError as found:
            return ValueRefused(self._mismatch(found))
        except Exception as found:  # noqa: BLE001 - user code runs in validators; the first error is the one to report
            error.add_note(f"while looking for the place: {found!r}")
        return ValueRefused(f"{self.where}: {_reason(error)}")

    def _mismatch(self, error: ValidationError) -> str:
        # Of a union each member complains; the one that went deepest is the one that was meant.
        found = max(error.errors(include_url=False), key=lambda one: len(one["loc"]))
        place, kind = self._place(found["loc"]), found["type"]
        if self.call and len(found["loc"]) == 1 and kind in _CALL_MISMATCH:
            return f"{place} {_CALL_MISMATCH[kind]}"
        if kind in ("missing", "json_invalid", "extra_forbidden"):
            return f"{place}: {found['msg']}"
        return f"{place}: {found['msg']}, not {name_of(type(found['input']))}"

    def _place(self, path: Sequence[int | str]) -> str:
        if self.call and path:
            return f"argument {path[0]!r} of {self.where}{_inside(path[1:])}"
        return f"{self.where}{_inside(path)}"


_CALL_MISMATCH: Final = {
    "missing": "was not stored, and the parameter has no default",
    "extra_forbidden": "was stored, but the function has no such parameter any more",
}


def _tightened(annotation: object, where: str) -> TightenedSchema:
    try:
        return TightenedSchema(core_schema_of(annotation))
    except DefinitionError as error:
        raise DefinitionError(f"{where}: {error}") from None


def _not_defined(where: str, error: NameError) -> DefinitionError:
    return DefinitionError(f"{where}: an annotation speaks of {error.name!r}, which is not defined")


def _any_subclassed(classes: tuple[type, ...]) -> bool:
    # Pydantic writes an instance of a subclass as if it were one of the class.
    for kind in classes:  # noqa: SIM110 - a generator would cost as much as writing a small value
        if kind.__subclasses__():
            return True
    return False


def _revalidating(schema: Any) -> Any:
    """The schema such that a validator looks into instances too: a slow way to find the path of a mistake."""
    if isinstance(schema, list):
        return [_revalidating(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: part if key in _OPAQUE else _revalidating(part) for key, part in schema.items()}
    if schema.get("type") in ("model", "dataclass"):
        copy["revalidate_instances"] = "always"
    return copy


_OPAQUE: Final = ("cls", "config", "default", "expected", "function", "members", "metadata", "serialization")

_Difference = tuple[tuple[int | str, ...], str]


def _difference(value: Any, back: Any, path: tuple[int | str, ...]) -> _Difference | None:
    """Where two values differ in type or content, and how."""
    if value is back:
        return None
    if type(value) is not type(back):
        return path, f"is a {name_of(type(value))} but is read as a {name_of(type(back))}"
    parts = _parts(value, back)
    if parts is None:
        return None if _same(value, back) else (path, f"is read as something else ({name_of(type(value))})")
    for key, one, other in parts:
        if (found := _difference(one, other, (*path, key))) is not None:
            return found
    return None


def _same(value: Any, back: Any) -> bool:
    if not _has_equality(type(value)):
        return True
    try:
        return bool(value == back or value != value)
    except Exception:  # noqa: BLE001 - arrays and their like compare member by member
        return True


def _has_equality(kind: Any) -> bool:
    return kind.__eq__ is not object.__eq__


def _parts(value: Any, back: Any) -> list[tuple[int | str, Any, Any]] | None:
    if isinstance(value, BaseModel):
        names = [*type(value).model_fields, *(value.__pydantic_extra__ or ())]
        return [(name, getattr(value, name, None), getattr(back, name, None)) for name in names]
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return [(name, getattr(value, name, None), getattr(back, name, None)) for name in names]
    if isinstance(value, dict) and len(value) == len(back):
        return [(str(key), item, back.get(key, _MISSING)) for key, item in value.items()]
    if isinstance(value, (list, tuple)) and len(value) == len(back):
        return [(index, one, other) for index, (one, other) in enumerate(zip(value, back, strict=True))]
    if not _has_equality(type(value)) and hasattr(value, "__dict__"):
        return [(name, item, vars(back).get(name, _MISSING)) for name, item in vars(value).items()]
    return None


_MISSING: Final = object()


# --- the arguments of a function --------------------------------------------------------------------------------------


class CallShape:
    """The arguments and the result of one function.

    Annotations are resolved at once where they can be; those that speak of names defined later, at first use.
    """

    def __init__(self, function: Callable[..., Any], *, where: str, skip: int = 0) -> None:
        """``skip``: that many leading parameters are filled by somebody else and are not stored."""
        self.function = function
        self.where = where
        signature = inspect.signature(function)
        self._signature = signature.replace(parameters=list(signature.parameters.values())[skip:])
        self._read_signature(list(self._signature.parameters.values()))
        self._localns = _enclosing_names(function)
        self._adapter: _Adapter | None = None
        self._annotated: dict[str, Any] = {}
        self._exact: tuple[frozenset[type], ...] = ()
        self.result = Shape._later(self._return_annotation, f"result of {where}", f"result of {self._place()}")
        with suppress(NameError):
            self._load()
            self.result._load()
            self._localns = None

    def _read_signature(self, parameters: list[inspect.Parameter]) -> None:
        by_kind: dict[int, list[str]] = {kind: [] for kind in range(5)}
        for parameter in parameters:
            by_kind[parameter.kind].append(parameter.name)
        only_positional, either, var_args, only_keyword, var_kwargs = by_kind.values()
        self._names = tuple(parameter.name for parameter in parameters)
        self._positional = (*only_positional, *either)
        self._keyword = frozenset((*either, *only_keyword))
        self._var_args = next(iter(var_args), None)
        self._var_kwargs = next(iter(var_kwargs), None)
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._required = frozenset(self._names) - self._defaults.keys() - {*var_args, *var_kwargs}
        self._count = len(parameters) if len(self._positional) == len(parameters) else -1

    def check(self) -> None:
        """Resolve all annotations now; raises ``DefinitionError`` for what cannot be stored or is not defined."""
        self._resolved()
        self.result._resolved()

    def encode(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """A JSON object by parameter name, in the order of the signature: what was passed, without defaults."""
        adapter = self._adapter or self._resolved()
        if kwargs or len(args) != self._count:
            return adapter.encode(self._passed(args, kwargs))
        if not args:
            return b"{}"
        passed = dict(zip(self._positional, args, strict=True))
        for value, exact in zip(args, self._exact, strict=True):
            if type(value) not in exact:
                return adapter.encode(passed)
        return adapter.encode_exact(passed)

    def decode(self, stored: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments for ``fn(*args, **kwargs)``; defaults are left to Python."""
        adapter = self._adapter or self._resolved()
        if stored == b"{}" and not self._required:
            return (), {}
        values = adapter.decode(stored)
        if len(values) == self._count:
            return tuple(values.values()), {}
        return self._spread(values)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Parameter name -> value, with defaults; in the order of the signature."""
        if not kwargs and len(args) == self._count:
            return dict(zip(self._positional, args, strict=True))
        bound = {**self._defaults, **self._passed(args, kwargs)}
        if self._var_args is not None:
            bound.setdefault(self._var_args, ())
        if self._var_kwargs is not None:
            bound.setdefault(self._var_kwargs, {})
        return {name: bound[name] for name in self._names}

    def _passed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        passed = dict(zip(self._positional, args, strict=False))
        if len(args) > len(self._positional):
            if self._var_args is None:
                raise self._wrong_call(f"takes {len(self._positional)} positional arguments, {len(args)} were given")
            passed[self._var_args] = args[len(self._positional) :]
        if kwargs:
            passed = self._with_keywords(passed, kwargs)
        if not self._required <= passed.keys():
            missing = [repr(name) for name in self._names if name in self._required and name not in passed]
            raise self._wrong_call(f"is called without {', '.join(missing)}")
        return passed

    def _with_keywords(self, passed: dict[str, Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        more: dict[str, Any] = {}
        for name, value in kwargs.items():
            if name not in self._keyword:
                more[name] = value
            elif name in passed:
                raise self._wrong_call(f"got two values for {name!r}")
            else:
                passed[name] = value
        if more:
            if self._var_kwargs is None:
                raise self._wrong_call(f"has no parameter {next(iter(more))!r} that is given by name")
            passed[self._var_kwargs] = more
        return {name: passed[name] for name in self._names if name in passed}

    def _spread(self, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        more = values.pop(self._var_args, ()) if self._var_args is not None else ()
        kwargs = values.pop(self._var_kwargs, {}) if self._var_kwargs is not None else {}
        # A parameter added before *args since the call was stored must not take one of them.
        known = {**self._defaults, **values} if more else values
        args: list[Any] = []
        for name in self._positional:
            if name not in known:
                break
            args.append(known[name])
            values.pop(name, None)
        return (*args, *more), {**values, **kwargs}

    def _wrong_call(self, what: str) -> DefinitionError:
        return DefinitionError(f"{self.where} {what}; its signature is {self._signature}")

    def _resolved(self) -> _Adapter:
        try:
            return self._load()
        except NameError as error:
            raise _not_defined(self._place(), error) from error

    def _load(self) -> _Adapter:
        if self._adapter is None:
            self._adapter = adapter = _Adapter(self._arguments(), self.where, call=True)
            self._exact = adapter.exact_fields
        return self._adapter

    @property
    def signature(self) -> str:
        """The parameters and the result as they stand in the code."""
        plain = self._signature
        parameters = [one.replace(annotation=_as_written(one.annotation)) for one in plain.parameters.values()]
        return str(plain.replace(parameters=parameters, return_annotation=_as_written(plain.return_annotation)))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters by name, in the order of the code."""
        return self._names

    def json_schema(self) -> dict[str, Any]:
        """The arguments by name, with their defaults, as a JSON schema; for forms and documents."""
        self._resolved()
        schema = TypeAdapter(self._as_typed_dict(self._annotated)).json_schema()
        for name, default in self._defaults.items():
            schema["properties"][name] = {
                **schema["properties"][name],
                "default": to_jsonable_python(default, fallback=str),
            }
        return schema

    def _annotations(self) -> dict[str, Any]:
        hints = self._hints()
        return {
            name: _annotation(parameter, hints.get(name, Any)) for name, parameter in self._signature.parameters.items()
        }

    def _as_typed_dict(self, annotations: dict[str, Any]) -> Any:
        # One schema for all of them: two parameters may speak of the same definitions.
        fields: dict[str, Any] = {
            name: Required[annotation] if name in self._required else NotRequired[annotation]
            for name, annotation in annotations.items()
        }
        return TypedDict(self.where, fields)  # type: ignore[operator]

    def _arguments(self) -> TightenedSchema:
        self._annotated = annotations = self._annotations()
        try:
            return TightenedSchema(core_schema_of(self._as_typed_dict(annotations)), call=True)
        except DefinitionError as error:
            refused = error
        for name, annotation in annotations.items():
            _tightened(annotation, f"argument {name!r} of {self._place()}")
        raise refused

    def _return_annotation(self) -> object:
        return self._hints().get("return", Any)

    def _hints(self) -> dict[str, Any]:
        try:
            return typing.get_type_hints(self.function, localns=self._localns, include_extras=True)
        except (TypeError, SyntaxError, AttributeError) as error:
            raise DefinitionError(f"{self._place()} has an annotation that is no type: {error}") from error

    def _place(self) -> str:
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        return self.where if code is None else f"{self.where} ({code.co_filename}:{code.co_firstlineno})"


class _Written:
    """An annotation that is text shows without the quotes that Python would put around it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _as_written(annotation: Any) -> Any:
    return _Written(annotation) if isinstance(annotation, str) else annotation


def _annotation(parameter: inspect.Parameter, annotation: Any) -> Any:
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return tuple[annotation, ...]
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return dict[str, annotation]
    return annotation


def _enclosing_names(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The local names around a nested function: its annotations may be text that speaks of them."""
    outer, nested, _ = getattr(function, "__qualname__", "").rpartition(".<locals>.")
    frame = sys._getframe(1) if nested else None
    while frame is not None:
        if frame.f_code.co_qualname == outer:
            return dict(frame.f_locals)
        frame = frame.f_back
    return None


# --- words for messages ------------------------------------------------------------------------------------------------


def _inside(path: Sequence[int | str]) -> str:
    # A member of a union is stored as a pair, of which the name comes first: `<Goal>`, 1 is the goal itself.
    pairs = zip(("", *path), path, strict=False)
    parts = [str(part).strip("<>") for before, part in pairs if not (_is_member(before) and part == 1)]
    if len(parts) > 20:
        parts = [*parts[:10], "...", *parts[-5:]]
    return ", at " + ".".join(parts) if parts else ""


def _is_member(part: int | str) -> bool:
    return isinstance(part, str) and part.startswith("<") and part.endswith(">")


def _reason(error: Exception) -> str:
    if "surrogates not allowed" in str(error):
        return "text with a lone surrogate is not valid Unicode and cannot be stored; clean it, or pass bytes"
    text = str(error).removeprefix("Pydantic serializer warnings:").strip()
    return text.replace("PydanticSerializationUnexpectedValue", "").strip()
