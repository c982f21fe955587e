"""`publish`: what is refused before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

from headrace._cli.commands.events.changing import _said

Call = Callable[..., Result]


@pytest.mark.parametrize(
    "words,complaint",
    [
        (("news.came",), "--subject"),
        (("news.came", "--subject", "a", "--data", "{"), "--data is no JSON"),
        (("news.came", "--subject", "a", "--data", "1", "--data-file", "-"), "one of them is enough"),
        (("news.came", "--subject", "a", "--data-file", "nope.json"), "nope.json cannot be read"),
    ],
)
def test_a_wrong_call_is_told_before_the_owner_is_asked(call: Call, words: tuple[str, ...], complaint: str) -> None:
    """Exit code 2: nothing was tried."""
    outcome = call("events", "publish", *words)

    assert outcome.exit_code == 2
    assert complaint in outcome.stderr


def test_standard_input_has_to_be_json(call: Call) -> None:
    """A pipe that broke gives half of it."""
    outcome = call("events", "publish", "news.came", "--subject", "a", "--data-file", "-", text='{"half"')

    assert outcome.exit_code == 2


def test_nobody_can_be_asked(call: Call) -> None:
    """Only the owner writes, and there is none."""
    outcome = call("events", "publish", "news.came", "--subject", "a", "--json")

    assert outcome.exit_code == 4
    assert json.loads(outcome.stdout)["error"]["code"] == "no_owner"


ANSWER = {"id": "n-1", "topic": "order.sent", "subject": "7", "position": 4, "job": "", "generation": None}


@pytest.mark.parametrize(
    "more,text",
    [
        ({}, "order.sent about 7: position 4, id n-1"),
        ({"duplicate": True}, "order.sent about 7: position 4, id n-1; it had been published before, and nothing was done"),
        ({"job": "order", "applied": True}, "order.sent about order/7: position 4, id n-1; the job has moved"),
        (
            {"job": "order", "applied": False, "reason": "it came too late"},
            "order.sent about order/7: position 4, id n-1; the job has not moved: it came too late",
        ),
    ],
)  # fmt: skip
def test_the_answer_says_what_became_of_it(more: dict[str, object], text: str) -> None:
    """Being in the log and having moved something are two things."""
    assert _said(ANSWER | {"applied": None, "duplicate": False, "reason": ""} | more) == text
