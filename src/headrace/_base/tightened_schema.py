"""What pydantic would lose in silence is kept by changing its core schema once, before writer and reader are built.

- sets are written in sorted order, dicts with keys that are no text as pairs, bytes as base64, NaN as a constant;
- a member of a union is stored with its name where the JSON alone would not tell which one it was;
- only the strict reading of JSON is left, so that a text never turns into a number.
"""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, cast
from uuid import UUID

from pydantic import PydanticUserError, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic_core import (
    PydanticSerializationUnexpectedValue,
    SchemaError,
    SchemaSerializer,
    SchemaValidator,
    core_schema,
    to_json,
)

from headrace.errors import DefinitionError

__all__ = [
    "CONFIG",
    "Node",
    "TightenedSchema",
    "core_schema_of",
    "exact_types",
    "name_of",
    "serializer_for",
    "to_plain",
    "validator_for",
]

CONFIG: Final = core_schema.CoreConfig(ser_json_inf_nan="constants", ser_json_bytes="base64", val_json_bytes="base64")

Node = dict[str, Any]


_CHILD: Final = (
    "schema",
    "keys_schema",
    "values_schema",
    "return_schema",
    "extras_schema",
    "extras_keys_schema",
    "var_args_schema",
    "var_kwargs_schema",
)
_FIELDS: Final = {
    "model-fields": "fields",
    "typed-dict": "fields",
    "dataclass-args": "fields",
    "named-tuple": "fields",
    "arguments": "arguments_schema",
}
_CHOSEN_BRANCH: Final = {"json-or-python": "json_schema", "lax-or-strict": "strict_schema"}
_UNREADABLE: Final = {
    "callable": "a function cannot be stored; pass a name or an id and look it up in the step",
    "generator": "an iterator can be read only once; use list[...] or Sequence[...]",
    "is-instance": "no JSON becomes an object of this class; annotate it with a dataclass, a model or plain values",
    "is-subclass": "a class cannot be stored; pass its name",
}
_MAPPINGS: Final = ("dict", "ordered-dict", "counter")
_JSON_KINDS: Final[Mapping[str, str]] = {
    "none": "null",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "deque", "named-tuple"), "array"),
    **dict.fromkeys((*_MAPPINGS, "model", "dataclass", "typed-dict"), "object"),
    **dict.fromkeys(
        ("str", "bytes", "date", "time", "datetime", "timedelta", "decimal", "uuid", "fraction", "complex"), "string"
    ),
}
EXACT: Final[Mapping[str, type]] = {
    "none": type(None),
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "bytes": bytes,
    "uuid": UUID,
    "decimal": Decimal,
    "date": date,
    "time": time,
    "datetime": datetime,
    "timedelta": timedelta,
}
_WRAPPED_HERE: Final = ("set", "frozenset", "typed-dict", "named-tuple")
_KEYS: Final = frozenset(EXACT) - {"none"} | {"any"}
_FAITHFUL_MODULES: Final = ("pydantic._internal", "ipaddress", "headrace._base")


class TightenedSchema:
    """A copy of a core schema that loses nothing in silence, and what remains to be checked at each value."""

    def __init__(self, schema: Mapping[str, Any], *, call: bool = False) -> None:
        self.raw = schema
        self.classes: set[type] = set()
        self.runs_foreign_code = False
        self.has_any = False
        self._definitions: Mapping[str, Mapping[str, Any]] = {}
        self.schema = self._node(schema)
        self.fields: Mapping[str, Any] = self._call_fields() if call else {}

    def _call_fields(self) -> Mapping[str, Any]:
        """The parameters of a call: an unknown one is refused when it is read, and cannot occur when it is written."""
        root = self.schema["schema"] if self.schema["type"] == "definitions" else self.schema
        root["extra_behavior"] = "forbid"
        del root["serialization"]
        return cast(Mapping[str, Any], root["fields"])

    def _node(self, schema: Mapping[str, Any]) -> Node:
        kind = schema["type"]
        if kind in _UNREADABLE:
            raise DefinitionError(_UNREADABLE[kind])
        if kind in _CHOSEN_BRANCH:
            return self._branch(schema, _CHOSEN_BRANCH[kind])
        if kind == "definitions":
            self._definitions = {definition["ref"]: definition for definition in schema["definitions"]}
        node = self._with_children(schema)
        self._note_foreign_code(node)
        if "serialization" in node:
            return node
        tighten: Callable[[Node], Node] | None = getattr(self, "_tighten_" + kind.replace("-", "_"), None)
        return node if tighten is None else tighten(node)

    def _branch(self, schema: Mapping[str, Any], key: str) -> Node:
        # JSON is read strictly, always: the other branch would only blur which member of a union fits.
        inherited = {name: schema[name] for name in ("serialization", "ref") if name in schema}
        expected = schema.get("python_schema", {})
        if expected.get("type") == "is-instance" and inherited.get("serialization", {}).get("type") == "function-plain":
            inherited["serialization"] = _checking(inherited["serialization"], expected["cls"])
        return self._node({**schema[key], **inherited})

    def _with_children(self, schema: Mapping[str, Any]) -> Node:
        node: Node = dict(schema)
        for key in _CHILD:
            if key in node:
                node[key] = self._node(node[key])
        if "items_schema" in node:
            items = node["items_schema"]
            node["items_schema"] = [self._node(i) for i in items] if isinstance(items, list) else self._node(items)
        for key in ("steps", "definitions"):
            if key in node:
                node[key] = [step if step["type"] == "is-instance" else self._node(step) for step in node[key]]
        if isinstance(node.get("choices"), dict):
            node["choices"] = {tag: self._node(choice) for tag, choice in node["choices"].items()}
        if (key := _FIELDS.get(node["type"], "")) in node:
            node[key] = self._fields(node[key])
        if "serialization" in node:
            written = node["serialization"]
            node["serialization"] = {
                **written,
                **{key: self._node(written[key]) for key in ("schema", "return_schema") if key in written},
            }
        return node

    def _fields(self, fields: Any) -> Any:
        if isinstance(fields, dict):
            return {name: self._field(field) for name, field in fields.items()}
        return [self._field(field) for field in fields]

    def _field(self, field: Mapping[str, Any]) -> Node:
        # A field that is left out when others see the value belongs to the value all the same.
        kept = {key: part for key, part in field.items() if not key.startswith("serialization_exclude")}
        return {**kept, "schema": self._node(field["schema"])}

    def _note_foreign_code(self, node: Node) -> None:
        functions = [part["function"] for part in (node, node.get("serialization", {})) if "function" in part]
        foreign = any(not _is_faithful(function) for function in functions)
        if foreign or node.get("post_init") or node.get("custom_init"):
            self.runs_foreign_code = True

    def _tighten_model(self, node: Node) -> Node:
        node["config"] = {**node.get("config", {}), **CONFIG}
        self.classes.add(node["cls"])
        return node

    _tighten_dataclass = _tighten_model

    def _tighten_typed_dict(self, node: Node) -> Node:
        if node.get("extra_behavior") != "allow":
            written = core_schema.wrap_serializer_function_ser_schema(_known_keys_writer(frozenset(node["fields"])))
            node["serialization"] = written
        node["config"] = {**node.get("config", {}), **CONFIG}
        return node

    def _tighten_named_tuple(self, node: Node) -> Node:
        node["serialization"] = core_schema.wrap_serializer_function_ser_schema(_instance_writer(node["cls"]))
        return node

    def _tighten_set(self, node: Node) -> Node:
        node.setdefault("items_schema", self._node({"type": "any"}))
        node["serialization"] = core_schema.wrap_serializer_function_ser_schema(_write_set)
        return node

    _tighten_frozenset = _tighten_set

    def _tighten_list(self, node: Node) -> Node:
        node.setdefault("items_schema", self._node({"type": "any"}))
        return node

    _tighten_deque = _tighten_list

    def _tighten_any(self, node: Node) -> Node:
        self.has_any = True
        node["serialization"] = core_schema.plain_serializer_function_ser_schema(_write_any)
        return node

    def _tighten_decimal(self, node: Node) -> Node:
        node.setdefault("allow_inf_nan", True)
        return node

    def _tighten_dict(self, node: Node) -> Node:
        keys = node.setdefault("keys_schema", self._node({"type": "any"}))
        values = node.setdefault("values_schema", self._node({"type": "any"}))
        if _is_key(keys):
            return node
        pairs = core_schema.list_schema(core_schema.tuple_schema([keys, values]))
        written = core_schema.wrap_serializer_function_ser_schema(_write_pairs, schema=pairs)
        kind: Any = {"dict": dict, "ordered-dict": OrderedDict, "counter": Counter}[node["type"]]
        return _plain(
            core_schema.no_info_after_validator_function(
                lambda stored: kind(dict(stored)), pairs, serialization=written, ref=node.get("ref")
            )
        )

    _tighten_ordered_dict = _tighten_counter = _tighten_dict

    def _tighten_enum(self, node: Node) -> Node:
        if all(type(member.value) in (str, int) for member in node["members"]):
            return node
        return _named({member.name: member for member in node["members"]}, node.get("ref"))

    def _tighten_literal(self, node: Node) -> Node:
        if not any(isinstance(value, Enum) for value in node["expected"]):
            return node
        return _named({str(value): value for value in node["expected"]}, node.get("ref"))

    def _tighten_tagged_union(self, node: Node) -> Node:
        if isinstance(node["discriminator"], str) and all(
            self._has_field(choice, node["discriminator"]) for choice in node["choices"].values()
        ):
            return node
        return self._tagged(node, list(node["choices"].values()))

    def _has_field(self, node: Mapping[str, Any], name: str) -> bool:
        if node["type"] == "definition-ref":
            node = self._definitions[node["schema_ref"]]
        if node["type"] in ("model", "dataclass"):
            node = node["schema"]
        fields = node.get("fields", ())
        return name in fields if isinstance(fields, dict) else any(field["name"] == name for field in fields)

    def _tighten_union(self, node: Node) -> Node:
        choices = [self._node(_choice(choice)) for choice in node["choices"]]
        if self._kinds_are_distinct(choices):
            node["choices"] = choices
            return node
        return self._tagged(node, choices)

    def _kinds_are_distinct(self, choices: list[Node]) -> bool:
        seen: set[str] = set()
        for choice in choices:
            kinds = self._json_kinds(choice, frozenset())
            if kinds is None or kinds & seen:
                return False
            seen |= kinds
        return True

    def _json_kinds(self, node: Mapping[str, Any], above: frozenset[str]) -> set[str] | None:
        """The kinds of JSON that a node can be written as; None if that is not known."""
        kind = node["type"]
        if kind == "definition-ref" and node["schema_ref"] not in above:
            ref = node["schema_ref"]
            return self._json_kinds(self._definitions[ref], above | {ref})
        if ("serialization" in node and kind not in _WRAPPED_HERE) or node.get("root_model"):
            return None
        if kind in ("int", "float") and len(node.keys() - {"type", "metadata"}) > 0:
            return {"integer", "number"}
        if kind in ("literal", "enum"):
            values = [getattr(v, "value", v) for v in node.get("expected") or node.get("members") or ()]
            kinds = {_NAMES.get(type(value)) for value in values}
            return None if None in kinds else {_JSON_KINDS[name] for name in kinds if name}
        if kind == "nullable":
            inner = self._json_kinds(node["schema"], above)
            return None if inner is None else inner | {"null"}
        return {_JSON_KINDS[kind]} if kind in _JSON_KINDS else None

    def _tagged(self, node: Node, choices: list[Node]) -> Node:
        """Each member is stored with its name, since the JSON alone would not tell which one it was."""
        names = self._labels(choices)
        members = [
            _tagged_member(name, choice)
            for name, choice in sorted(zip(names, choices, strict=True), key=lambda pair: _generality(pair[1]))
        ]
        # What was stored before the annotation became a union has no name.
        untagged: Node = (
            {**node, "choices": choices} if node["type"] == "union" else {"type": "union", "choices": choices}
        )
        untagged.pop("ref", None)
        untagged["serialization"] = core_schema.plain_serializer_function_ser_schema(_refuse_member)
        return {
            "type": "union",
            "choices": [*members, (untagged, "<untagged>")],
            "mode": "left_to_right",
            **{key: node[key] for key in ("ref",) if key in node},
        }

    def _labels(self, choices: list[Node]) -> list[str]:
        labels: list[str] = []
        for choice in choices:
            label = self._label(choice)
            taken = sum(other.partition("#")[0] == label for other in labels)
            labels.append(f"{label}#{taken + 1}" if taken else label)
        return labels

    def _label(self, node: Mapping[str, Any]) -> str:
        if node["type"] == "definition-ref":
            node = self._definitions[node["schema_ref"]]
        if "cls" in node:
            return str(node["cls"].__name__)
        inner = node.get("items_schema") or node.get("values_schema") or node.get("schema")
        if isinstance(inner, dict):
            return f"{node['type']}[{self._label(inner)}]" if "schema" not in node else self._label(inner)
        return str(node["type"])


_NAMES: Final = {kind: name for name, kind in EXACT.items()}


def _plain(schema: core_schema.CoreSchema) -> Node:
    return cast(Node, schema)


def _choice(choice: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], choice[0] if isinstance(choice, tuple) else choice)


def _is_faithful(function: Any) -> bool:
    function = function["function"] if isinstance(function, dict) else function
    function = function.func if isinstance(function, functools.partial) else function
    return str(getattr(function, "__module__", "")).startswith(_FAITHFUL_MODULES)


def _is_key(node: Mapping[str, Any]) -> bool:
    """Whether pydantic reads such a key back from the text that it writes for it."""
    if node["type"] == "enum":
        return all(isinstance(member.value, str) for member in node["members"])
    if node["type"] == "literal":
        return all(type(value) is str for value in node["expected"])
    return node["type"] in _KEYS


def _named(values: Mapping[str, Any], ref: str | None) -> Node:
    """A choice of values of which some are no plain JSON: each is stored by its name."""
    names = {(type(value), value): name for name, value in values.items()}

    def write(value: Any) -> str:
        name = names.get((type(value), value))
        if name is None:
            raise PydanticSerializationUnexpectedValue(f"a {name_of(type(value))} is none of {', '.join(values)}")
        return name

    written = core_schema.plain_serializer_function_ser_schema(write)
    literal = core_schema.literal_schema(list(values))
    return _plain(
        core_schema.no_info_after_validator_function(values.__getitem__, literal, serialization=written, ref=ref)
    )


def _generality(choice: Mapping[str, Any]) -> int:
    # Pydantic writes a StrEnum where a str is expected, so the enum has to be asked first.
    return {"enum": 0, "literal": 2, "str": 3, "int": 3, "float": 3, "any": 4}.get(choice["type"], 1)


def _tagged_member(name: str, choice: Node) -> tuple[core_schema.CoreSchema, str]:
    member = cast("core_schema.CoreSchema", choice)
    pair = core_schema.tuple_schema([core_schema.literal_schema([name]), member])

    def write(value: Any, write_member: Callable[[Any], Any]) -> Any:
        return [name, write_member(value)]

    written = core_schema.wrap_serializer_function_ser_schema(write, schema=member)
    return core_schema.no_info_after_validator_function(_second, pair, serialization=written), f"<{name}>"


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _refuse_member(value: Any) -> Any:
    raise PydanticSerializationUnexpectedValue(f"a {name_of(type(value))} is no member of the union")


def _write_pairs(value: Any, write: Callable[[Any], Any]) -> Any:
    if not isinstance(value, Mapping):
        raise PydanticSerializationUnexpectedValue(f"a mapping is expected, not a {name_of(type(value))}")
    return write(list(value.items()))


def _write_set(value: Any, write: Callable[[Any], Any]) -> Any:
    # The order of a set depends on the hash seed of the process.
    members = write(value)
    if not isinstance(members, list):
        return members
    members.sort(key=None if all(type(member) is str for member in members) else _member_order)
    return members


def _member_order(member: object) -> bytes:
    return to_json(member, inf_nan_mode="constants")


def _checking(serialization: Mapping[str, Any], cls: type) -> Node:
    """The same plain serialiser, asked only for what it is meant for: pydantic's own take anything."""
    write = serialization["function"]

    def write_instance(value: Any, *info: Any) -> Any:
        if not isinstance(value, cls):
            raise _unexpected(cls, value)
        return write(value, *info)

    def write_instance_with_info(value: Any, info: Any) -> Any:
        return write_instance(value, info)

    checked = write_instance_with_info if serialization.get("info_arg") else write_instance
    if not _is_faithful(write):
        checked.__module__ = str(getattr(write, "__module__", ""))
    return {**serialization, "function": checked}


def _instance_writer(cls: type) -> Callable[[Any, Callable[[Any], Any]], Any]:
    def write(value: Any, write_fields: Callable[[Any], Any]) -> Any:
        if type(value) is not cls:
            raise _unexpected(cls, value)
        return write_fields(value)

    return write


def _unexpected(cls: type, value: object) -> PydanticSerializationUnexpectedValue:
    return PydanticSerializationUnexpectedValue(f"a {name_of(cls)} is expected, not a {name_of(type(value))}")


def _known_keys_writer(known: frozenset[str]) -> Callable[[Any, Callable[[Any], Any]], Any]:
    def write(value: Any, write_fields: Callable[[Any], Any]) -> Any:
        # Pydantic leaves out what the annotation does not know.
        if isinstance(value, dict) and not value.keys() <= known:
            unknown = ", ".join(sorted(repr(key) for key in value.keys() - known))
            raise PydanticSerializationUnexpectedValue(f"the TypedDict has no key {unknown}")
        return write_fields(value)

    return write


def _write_any(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if kind in (list, tuple):
        return [_write_any(item) for item in value]
    if kind is dict:
        return _write_any_dict(value)
    if kind in (set, frozenset):
        return sorted((_write_any(item) for item in value), key=_member_order)
    return to_plain(_serializer_of(kind), value)


def _write_any_dict(value: dict[Any, Any]) -> dict[str, Any]:
    written = {_any_key(key): _write_any(item) for key, item in value.items()}
    if len(written) != len(value):
        raise PydanticSerializationUnexpectedValue("two keys of a dict would be written as the same text")
    return written


def _any_key(key: Any) -> str:
    plain = _write_any(key)
    return plain if isinstance(plain, str) else to_json(plain, inf_nan_mode="constants").decode()


_serializers: dict[type, SchemaSerializer] = {}


def _serializer_of(kind: type) -> SchemaSerializer:
    serializer = _serializers.get(kind)
    if serializer is None:
        try:
            schema = TightenedSchema(core_schema_of(kind)).schema
            if schema["type"] == "any":
                raise DefinitionError("nothing is known about it")
        except (DefinitionError, NameError) as error:
            raise ValueError(f"there is no way to write a {name_of(kind)} as JSON") from error
        serializer = _serializers[kind] = serializer_for(schema)
    return serializer


def serializer_for(schema: Node) -> SchemaSerializer:
    # Models carry serialisers of their own, built without our changes; they must not be reused.
    return SchemaSerializer(cast("core_schema.CoreSchema", schema), CONFIG, _use_prebuilt=False)


def validator_for(schema: Node) -> SchemaValidator:
    return SchemaValidator(cast("core_schema.CoreSchema", schema), CONFIG, _use_prebuilt=False)


def to_plain(serializer: SchemaSerializer, value: object) -> Any:
    return serializer.to_python(value, mode="json", warnings="error", round_trip=True, by_alias=False)


def exact_types(node: Mapping[str, Any]) -> frozenset[type]:
    """The types whose very instances pydantic writes without any doubt."""
    kind = node["type"]
    if "serialization" in node:
        return frozenset()
    if kind == "nullable":
        inner = exact_types(node["schema"])
        return inner | {type(None)} if inner else inner
    if kind == "default":
        return exact_types(node["schema"])
    if kind == "union":
        members = [exact_types(_choice(choice)) for choice in node["choices"]]
        return frozenset().union(*members) if all(members) else frozenset()
    return frozenset({EXACT[kind]}) if kind in EXACT else frozenset()


def core_schema_of(annotation: object) -> Mapping[str, Any]:
    """The schema as pydantic makes it; NameError while the annotation speaks of names that do not exist yet."""
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(cast(Any, annotation))
        if not adapter.pydantic_complete:
            adapter.rebuild()
        return adapter.core_schema
    except PydanticUndefinedAnnotation as error:
        raise NameError(str(error).partition("\n")[0], name=error.name) from error
    except (PydanticUserError, SchemaError, TypeError) as error:
        reason = str(error).partition(". Set `arbitrary")[0].partition("\n")[0]
        display = name_of(annotation) if isinstance(annotation, type) else str(annotation)
        raise DefinitionError(
            f"{display} cannot be stored as JSON ({reason}). Annotate it with something that pydantic can read and "
            "write (a dataclass, a model, plain values), or pass an id and look the object up in the step"
        ) from error


def name_of(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
