"""A form from a signature, whatever the signature is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

import pytest

from headrace import flow
from headrace._authoring.flow import Flow
from headrace._web.pages.fields import arguments_of, fields_of, filled


def declared(annotation: object, default: object = ...) -> Flow[Any, Any]:
    async def taking(thing: Any = default) -> None: ...

    if default is ...:
        taking.__defaults__ = None
    taking.__annotations__ = {"thing": annotation, "return": None}
    made: Callable[[Callable[..., Coroutine[Any, Any, None]]], Flow[Any, Any]] = flow
    return made(taking)


@pytest.mark.parametrize(
    "annotation,text,value",
    [
        (int, "7", 7),
        (float, "1e3", 1000.0),
        (str, "7", "7"),
        (str, "", ""),
        (bool, "true", True),
        (bool, "", False),
        (bool | None, "false", False),
        (bool | None, "", None),
        (int | None, "", None),
        (str | None, "x", "x"),
        (Literal["a", 1], "1", 1),
        (datetime, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        (timedelta, "PT1H", "PT1H"),
        (Decimal, "1.10", 1.1),
        (list[int], "[1, 2]", [1, 2]),
        (dict[str, int] | None, "", None),
        (int | str, '"7"', "7"),
        (Any, '{"a": null}', {"a": None}),
    ],
    ids=str,
)
def test_text_becomes_the_value_that_was_meant(annotation: object, text: str, value: object) -> None:
    """A form knows only text."""
    fields = fields_of(declared(annotation))

    assert arguments_of(filled(fields, {"argument.thing": text})) == {"thing": value}


@pytest.mark.parametrize("annotation,default", [(int, 5), (str, "x"), (list[int], None), (Literal["a", "b"], "a")])
def test_what_is_left_empty_is_left_to_the_default(annotation: object, default: object) -> None:
    """The default may change with the code; the form must not freeze it."""
    fields = fields_of(declared(annotation, default))

    assert arguments_of(filled(fields, {})) == {}
    assert fields[0].default in (str(default), f'"{default}"', "null")


def test_types_without_a_json_schema_are_asked_for_as_json() -> None:
    """What can be stored can be started, even if no form fits."""
    fields = fields_of(declared(complex))

    assert [(field.name, field.kind) for field in fields] == [("thing", "json")] or fields[0].kind == "text"


def test_nested_objects_are_offered_as_a_skeleton() -> None:
    """An empty box does not say what belongs in it."""
    (field,) = fields_of(declared(dict[str, list[int]]))

    assert (field.kind, field.value) == ("json", "{}")
