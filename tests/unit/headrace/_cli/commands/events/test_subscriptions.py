"""Subscriptions as the file knows them, and what is refused before anybody is asked."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result

Call = Callable[..., Result]


def test_the_file_knows_how_far_they_are(call: Call) -> None:
    """Whoever looks after a night without an owner sees what is left to do."""
    outcome = call("events", "subscriptions")
    found = {one["name"]: one for one in json.loads(call("events", "subscriptions", "--json").stdout)}

    assert [line.split()[:2] for line in outcome.stdout.splitlines() if "shop.count" in line] == [
        ["paused", "shop.count"]
    ]
    assert "nobody runs" in outcome.stderr.lower()
    assert "headrace deadletters ls" in outcome.stderr
    assert sorted(found) == ["shop.count", "shop.deliver", "shop.tell"]
    assert (found["shop.tell"]["dead"], found["shop.tell"]["behind"]) == (3, 0)
    assert (found["shop.count"]["paused"], found["shop.count"]["declared"]) == (True, False)


def test_a_store_without_readers_says_how_it_gets_one(call_nobody_reads: Call) -> None:
    """An empty table says nothing."""
    outcome = call_nobody_reads("events", "subscriptions")

    assert outcome.exit_code == 0
    assert "Pipeline(triggers=[on(TOPIC, target)])" in outcome.stderr


@pytest.mark.parametrize(
    "words,complaint",
    [
        (("replay", "shop.tell"), "say where to begin"),
        (("replay", "shop.tell", "--after", "0", "--since", "2026-01-31"), "say where to begin"),
        (("replay", "shop.tell", "--since", "yesterday"), "no instant"),
        (("replay", "shop.tell", "--after", "-1"), "-1"),
        (("pause",), "SUBSCRIPTION"),
    ],
)
def test_a_wrong_call_is_told_before_the_owner_is_asked(call: Call, words: tuple[str, ...], complaint: str) -> None:
    """A replay of everything by mistake would be expensive."""
    outcome = call("events", *words)

    assert outcome.exit_code == 2
    assert complaint in outcome.stderr


@pytest.mark.parametrize("words", [("pause", "x"), ("resume", "x"), ("replay", "x", "--after", "0")])
def test_nobody_can_be_asked(call: Call, words: tuple[str, ...]) -> None:
    """Switches are the owner's."""
    outcome = call("events", *words, "--json")

    assert outcome.exit_code == 4
    assert json.loads(outcome.stdout)["error"]["code"] == "no_owner"
