"""`retry` and `cancel` without an owner."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

Call = Callable[..., Result]


@pytest.mark.parametrize("verb", ["retry", "cancel"])
def test_nobody_can_be_asked(call: Call, verb: str) -> None:
    """A job is moved by events, and only the owner publishes."""
    outcome = call("jobs", verb, "order", "o-1", "--json")

    assert outcome.exit_code == 4
    assert json.loads(outcome.stdout)["error"]["code"] == "no_owner"
