"""A form for the arguments of a flow, made from their JSON schema; what it cannot ask in a better way, it asks as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import PydanticUserError, ValidationError

from headrace._authoring.flow import Flow
from headrace.errors import ValueRefused

Kind = Literal["text", "long", "number", "flag", "choice", "date", "json"]
Schema = Mapping[str, Any]

_FORMATS = {
    "date": "date",
    "date-time": "date and time with zone, for example 2026-11-19T08:30:00Z",
    "time": "time, for example 08:30:00",
    "duration": "duration, for example PT90S or P2D",
    "uuid": "UUID",
    "binary": "bytes as base64",
}
_NAMES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "list",
    "object": "object",
}
_DEPTH = 6


@dataclass(frozen=True, kw_only=True)
class Option:
    value: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Field:
    """One argument: how it is asked for, what stands in the form, and what is wrong with that."""

    name: str
    kind: Kind
    type: str
    is_required: bool
    is_nullable: bool = False
    default: str = ""
    about: str = ""
    options: tuple[Option, ...] = ()
    integral: bool = False
    value: str = ""
    message: str = ""


def fields_of(flow: Flow[Any, Any]) -> tuple[Field, ...]:
    try:
        schema = flow.shape.json_schema()
    except PydanticUserError:  # a type that can be stored and has no JSON schema
        return tuple(Field(name=name, kind="json", type="JSON", is_required=False) for name in flow.shape.names)
    required = schema.get("required", ())
    return tuple(
        _field(name, part, schema.get("$defs", {}), is_required=name in required)
        for name, part in schema.get("properties", {}).items()
    )


def _field(name: str, schema: Schema, known: Mapping[str, Schema], *, is_required: bool) -> Field:
    chosen, is_nullable = _without_null(_resolved(schema, known))
    chosen = _resolved(chosen, known)
    kind, options = _kind(chosen, is_nullable=is_nullable)
    default = _default(schema, kind)
    field = Field(
        name=name,
        kind=kind,
        type=_type(chosen, known),
        is_required=is_required,
        is_nullable=is_nullable,
        default=default,
        about=str(schema.get("description", "")),
        options=options,
        integral=chosen.get("type") == "integer",
    )
    if kind == "flag":
        return replace(field, value="true" if schema.get("default") is True else "")
    if kind == "json" and is_required:
        return replace(field, value=json.dumps(_skeleton(chosen, known), indent=2, ensure_ascii=False))
    return field


def _default(schema: Schema, kind: Kind) -> str:
    default = schema.get("default")
    if kind in ("text", "date") and isinstance(default, str):
        return default
    return json.dumps(default, ensure_ascii=False) if "default" in schema else ""


def _resolved(schema: Schema, known: Mapping[str, Schema]) -> Schema:
    while "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    return schema


def _without_null(schema: Schema) -> tuple[Schema, bool]:
    members = schema.get("anyOf", ())
    others = [member for member in members if member.get("type") != "null"]
    if len(others) == len(members):
        return schema, False
    return (others[0] if len(others) == 1 else {**schema, "anyOf": others}), True


def _kind(schema: Schema, *, is_nullable: bool) -> tuple[Kind, tuple[Option, ...]]:
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return "choice", tuple(Option(value=json.dumps(value), label=str(value)) for value in values)
    kind = schema.get("type")
    if kind == "boolean":
        if is_nullable:
            return "choice", (Option(value="true", label="yes"), Option(value="false", label="no"))
        return "flag", ()
    if kind in ("integer", "number"):
        return "number", ()
    if kind == "string":
        return ("date" if schema.get("format") == "date" else "text"), ()
    return "json", ()


def _type(schema: Schema, known: Mapping[str, Schema]) -> str:
    if "format" in schema:
        return _FORMATS.get(schema["format"], str(schema["format"]))
    if "anyOf" in schema:
        return " or ".join(_type(_resolved(member, known), known) for member in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return "one of these"
    name = _NAMES.get(str(schema.get("type")), "any JSON")
    if name == "list" and "items" in schema:
        return f"list, each {_type(_resolved(schema['items'], known), known)}"
    return _object(schema) if name == "object" else name


def _object(schema: Schema) -> str:
    title, parts = str(schema.get("title", "object")), ", ".join(schema.get("properties", ()))
    return f"{title} with {parts}" if parts else title


def _skeleton(schema: Schema, known: Mapping[str, Schema], depth: int = 0) -> object:
    """The smallest value of the right shape, for people to fill in."""
    schema = _resolved(schema, known)
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _skeleton(schema["anyOf"][0], known, depth)
    if schema.get("type") == "object" and depth < _DEPTH:
        return {name: _skeleton(part, known, depth + 1) for name, part in schema.get("properties", {}).items()}
    empty: dict[str, object] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
    return empty.get(str(schema.get("type")))


# From the form to arguments


def prefilled(fields: tuple[Field, ...], arguments: object) -> tuple[Field, ...]:
    """The form as it would have been filled for recorded arguments."""
    known = arguments if isinstance(arguments, Mapping) else {}
    return tuple(
        replace(field, value=_text(field, known[field.name])) if field.name in known else field for field in fields
    )


def _text(field: Field, value: object) -> str:
    if field.kind == "flag":
        return "true" if value else ""
    if field.kind in ("text", "date") and isinstance(value, str):
        return value
    if value is None and field.kind != "json":
        return ""
    return json.dumps(value, ensure_ascii=False, indent=2 if field.kind == "json" else None)


def filled(fields: tuple[Field, ...], posted: Mapping[str, str]) -> tuple[Field, ...]:
    """The form as it was sent; what is no JSON where JSON is asked for is told at its field."""
    return tuple(_filled(field, posted.get(f"argument.{field.name}", "")) for field in fields)


def _filled(field: Field, text: str) -> Field:
    given = replace(field, value=text)
    if field.kind == "json" and text.strip():
        try:
            json.loads(text)
        except ValueError as error:
            return replace(given, message=f"this is no JSON: {error}")
    return given


def arguments_of(fields: tuple[Field, ...]) -> dict[str, object]:
    """What was filled in, by name; an empty field is left to its default."""
    return {field.name: _value(field) for field in fields if field.value.strip() or not _may_be_left(field)}


def _may_be_left(field: Field) -> bool:
    return not field.is_required and field.kind != "flag"


def _value(field: Field) -> object:
    text = field.value
    if field.kind == "flag":
        return text == "true"
    if not text.strip() and (field.is_nullable or field.kind != "text"):
        return None
    if field.kind in ("text", "date"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text  # the flow's own words about it are better than ours


def with_messages(fields: tuple[Field, ...], refusal: ValueRefused) -> tuple[Field, ...]:
    """Each complaint at the field that it is about; none where the refusal is about something else."""
    complaints = dict(_complaints(refusal))
    return tuple(
        replace(field, message=complaints[field.name]) if field.name in complaints else field for field in fields
    )


def _complaints(refusal: ValueRefused) -> Iterator[tuple[str, str]]:
    cause = refusal.__cause__
    if not isinstance(cause, ValidationError):
        return
    for found in reversed(cause.errors(include_url=False)):
        name, *inside = (str(part) for part in found["loc"])
        yield name, f"at {'.'.join(inside)}: {found['msg']}" if inside else found["msg"]
