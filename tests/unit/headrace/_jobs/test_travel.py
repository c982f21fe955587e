"""The way that a job has come."""

from __future__ import annotations

from typing import Any

from headrace import Lifecycle
from headrace._jobs.travel import Leg, travelled

ORDER: Lifecycle[Any] = Lifecycle(
    "order",
    moves=[
        ("order.placed", None, "placed"),
        ("order.packed", "placed", "packed"),
        ("order.sent", "packed", "sent"),
        ("order.failed", "*", "failed"),
    ],
    terminal=["sent", "failed"],
    notes=["order.seen"],
    retry=("order.again", "placed"),
)


def test_states_follow_from_the_moves() -> None:
    """The log has events, not states; people ask for states."""
    legs = travelled(
        ORDER,
        [
            (1, "order.placed", True),
            (2, "order.sent", False),
            (3, "order.seen", True),
            (4, "order.failed", True),
            (5, "order.again", True),
            (6, "order.packed", True),
        ],
    )

    assert legs == {
        1: Leg("", "placed"),
        2: Leg("placed", "placed"),
        3: Leg("placed", "placed"),
        4: Leg("placed", "failed"),
        5: Leg("failed", "placed"),
        6: Leg("placed", "packed"),
    }


def test_an_event_of_older_code_leaves_the_state() -> None:
    """A lifecycle changes, its history stays."""
    assert travelled(ORDER, [(1, "order.placed", True), (2, "order.gone", True)])[2] == Leg("placed", "placed")
