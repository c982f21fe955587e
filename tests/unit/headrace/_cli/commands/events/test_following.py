"""`tail` on a file that nobody runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from click.testing import Result

Call = Callable[..., Result]


def topics(outcome: Result) -> list[str]:
    return [json.loads(line)["topic"] for line in outcome.stdout.splitlines()]


def test_the_newest_come_last(call: Call) -> None:
    """As in every log that people read."""
    head, *lines = call("events", "tail", "--limit", "3").stdout.splitlines()
    events = [json.loads(line) for line in call("events", "tail", "--json", "--limit", "3").stdout.splitlines()]

    assert head.split() == ["POSITION", "TIME", "TOPIC", "SUBJECT", "APPLIED", "DATA"]
    assert [line.split()[5] for line in lines] == ["bad-2", "odd", "bad-3"]
    assert [event["subject"] for event in events] == ["bad-2", "odd", "bad-3"]


def test_jobs_are_called_by_their_lifecycle(call: Call) -> None:
    """An order and a customer may have the same id."""
    line = call("events", "tail", "order.packed", "--limit", "1").stdout.splitlines()[1]

    assert line.split()[5:7] == ["order/o-1", "no"]


@pytest.mark.parametrize(
    "pattern,expected",
    [
        ("order.sent", ["order.sent"]),
        ("order.*", ["order.placed", "order.packed", "order.sent", "order.placed", "order.failed", "order.packed"]),
        ("news.#", ["news.came"] * 5),
    ],
)
def test_a_pattern_chooses(call: Call, pattern: str, expected: list[str]) -> None:
    """The words of AMQP."""
    assert topics(call("events", "tail", pattern, "--json")) == expected


def test_what_is_no_pattern_is_wrong_use(call: Call) -> None:
    """It could never fit."""
    outcome = call("events", "tail", "two words")

    assert outcome.exit_code == 2
    assert "cannot be a topic pattern" in outcome.stderr


def test_nothing_that_fits_says_what_there_is(call: Call, call_empty: Call) -> None:
    """A typing mistake in a topic is the usual reason."""
    outcome = call("events", "tail", "orders.#")

    assert (outcome.exit_code, outcome.stdout) == (0, "")
    assert "The log has 5 topics: `headrace events topics`" in outcome.stderr
    assert "There are no events yet" in call_empty("events", "tail").stderr
    assert call_empty("events", "tail", "--json").output == ""


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody presses Ctrl+C as soon as there is nothing to do."""

    def wait(self: threading.Event, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", wait)


def test_following_ends_in_order(call: Call, call_empty: Call, interrupted: None) -> None:
    """Ctrl+C is how one leaves, and no failure."""
    outcome = call("events", "tail", "-f", "--limit", "1")
    empty = call_empty("events", "tail", "-f")

    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (0, 2)
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "nobody runs" in empty.stderr


def test_following_may_begin_with_nothing(call: Call, interrupted: None) -> None:
    """Whoever waits for the next one does not want the past."""
    assert call("events", "tail", "-f", "--json", "--limit", "0").stdout == ""
