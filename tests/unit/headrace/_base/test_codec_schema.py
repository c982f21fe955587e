"""What the codec tells about a function: its arguments for forms, its signature for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from headrace._base.codec import CallShape


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0


async def draw(at: Point, day: date = date(2026, 1, 1), *more: int, loud: bool = False, **words: str) -> list[Point]:
    return []


SHAPE = CallShape(draw, where="flow draw")


def test_schema_has_what_a_form_needs() -> None:
    """Types, what is required, and the defaults."""
    schema = SHAPE.json_schema()

    assert schema["required"] == ["at"]
    assert schema["$defs"]["Point"]["required"] == ["x"]
    assert schema["properties"]["day"] == {"format": "date", "title": "Day", "type": "string", "default": "2026-01-01"}
    assert schema["properties"]["more"]["type"] == "array"
    assert schema["properties"]["words"]["type"] == "object"


def test_schema_of_a_local_type_is_known_later_too() -> None:
    """The names around a nested function are gone when somebody asks."""

    @dataclass(frozen=True)
    class Local:
        name: str

    async def nested(one: Local) -> None: ...

    shape = CallShape(nested, where="flow nested")
    shape.check()

    assert "Local" in shape.json_schema()["$defs"]


def test_a_default_that_is_no_json_is_shown_as_text() -> None:
    """A form shows the default; it need not be able to send it."""

    async def odd(one: int = 1, two: object = object) -> None: ...

    assert "object" in str(CallShape(odd, where="flow odd").json_schema()["properties"]["two"]["default"])


def test_signature_reads_as_it_was_written() -> None:
    """Annotations that are kept as text would otherwise stand in quotes."""
    assert SHAPE.signature == (
        "(at: Point, day: date = datetime.date(2026, 1, 1), *more: int, loud: bool = False, **words: str) -> list[Point]"
    )
    assert SHAPE.names == ("at", "day", "more", "loud", "words")
