"""`redrive` and `dismiss`: what is refused before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

Call = Callable[..., Result]


@pytest.mark.parametrize(
    "words,complaint",
    [
        (("redrive",), "an ID, or --all"),
        (("redrive", "1", "--all"), "an ID, or --all"),
        (("redrive", "1", "--subscription", "x"), "goes with --all"),
        (("redrive", "one"), "one"),
        (("dismiss",), "ID"),
    ],
)
def test_a_wrong_call_is_told_before_the_owner_is_asked(call: Call, words: tuple[str, ...], complaint: str) -> None:
    """All of them by mistake would be a flood."""
    outcome = call("deadletters", *words)

    assert outcome.exit_code == 2
    assert complaint in outcome.stderr


@pytest.mark.parametrize("words", [("redrive", "1"), ("redrive", "--all"), ("dismiss", "1")])
def test_nobody_can_be_asked(call: Call, words: tuple[str, ...]) -> None:
    """Handlers run in the owner."""
    outcome = call("deadletters", *words, "--json")

    assert outcome.exit_code == 4
    assert json.loads(outcome.stdout)["error"]["code"] == "no_owner"
