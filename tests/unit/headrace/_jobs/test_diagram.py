from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from headrace import Lifecycle
from headrace._jobs.diagram import as_svg, as_svg_file

ORDER: Lifecycle[Any] = Lifecycle(
    "order",
    moves=[
        ("order.placed", None, "placed"),
        ("order.packed", "placed", "packed"),
        ("order.sent", ("placed", "packed"), "sent"),
        ("order.returned", "packed", "placed"),
        ("order.failed", "*", "failed"),
    ],
    terminal=["sent", "failed"],
    retry=("order.retried", "placed"),
)
SVG = "{http://www.w3.org/2000/svg}"


def test_every_state_and_every_move_is_in_the_drawing() -> None:
    """It is what people look at to learn what a state means."""
    drawing = ElementTree.fromstring(as_svg(ORDER, state="packed"))
    texts = [text.text for text in drawing.iter(f"{SVG}text")]
    topics = ", ".join(title.text or "" for title in drawing.iter(f"{SVG}title"))

    assert {"placed", "packed", "sent", "failed"} <= set(texts)
    assert all(move.topic in topics for move in ORDER.moves)
    assert [group.get("class") for group in drawing.iter(f"{SVG}g") if "current" in str(group.get("class"))] == [
        "state open current"
    ]


def test_no_two_states_lie_on_each_other() -> None:
    """Whatever the lifecycle, the drawing can be read."""
    drawing = ElementTree.fromstring(as_svg(ORDER))
    places = [(box.get("x"), box.get("y")) for box in drawing.iter(f"{SVG}rect")]

    assert len(places) == len(set(places)) == 4


def test_names_cannot_break_the_drawing() -> None:
    """State names are the user's text."""
    odd: Lifecycle[Any] = Lifecycle("odd", moves=[("a", None, '<b>"&'), ("c", '<b>"&', "done")], terminal=["done"])

    assert '<b>"&' in [text.text for text in ElementTree.fromstring(as_svg(odd)).iter(f"{SVG}text")]


def test_a_file_brings_its_own_colours() -> None:
    """Without a page around it, boxes would be black, and so would their names."""
    drawing = ElementTree.fromstring(as_svg_file(ORDER, state="packed"))

    style = drawing.find(f"{SVG}style")
    assert style is not None
    assert all(
        f".{name}" in str(style.text) for name in ("state", "terminal", "current", "way", "tip", "topic", "begin")
    )


def test_the_way_that_was_travelled_is_marked() -> None:
    """Of an arrow from several states only the part that was gone."""
    way = [("order.placed", "", "placed"), ("order.sent", "placed", "sent")]

    drawing = ElementTree.fromstring(as_svg(ORDER, state="sent", way=way))

    passed = [group for group in drawing.iter(f"{SVG}g") if group.get("class") == "move passed"]
    assert [group.find(f"{SVG}text").text for group in passed] == ["order.placed", "order.sent"]  # type: ignore[union-attr]  # each has one
    assert [len([leg for leg in group if leg.get("class") == "gone"]) for group in passed] == [1, 1]
    visited = [group for group in drawing.iter(f"{SVG}g") if "visited" in str(group.get("class"))]
    assert [group.find(f"{SVG}text").text for group in visited] == ["placed", "sent"]  # type: ignore[union-attr]  # each has one
