from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._events.topic import check_pattern, check_topic, matches
from headrace.errors import ValueRefused

MATCHING = [
    ("goal.confirmed", "goal.confirmed"),
    ("goal.*", "goal.confirmed"),
    ("#", "goal.confirmed"),
    ("goal.#", "goal"),
    ("goal.#", "goal.confirmed"),
    ("goal.#", "goal.confirmed.late"),
    ("#.late", "late"),
    ("#.late", "goal.confirmed.late"),
    ("*.*.late", "goal.confirmed.late"),
    ("goal.#.late", "goal.late"),
    ("goal.#.late", "goal.a.b.late"),
    ("subtitle.#", "subtitle.download.requested"),
    ("#.#", "a"),
    ("*.#", "a"),
]
OTHER = [
    ("goal.confirmed", "goal"),
    ("goal.*", "goal"),
    ("goal.*", "goal.confirmed.late"),
    ("subtitle.*", "subtitle.download.requested"),
    ("*", "a.b"),
    ("goal.#", "goals"),
    ("goal.#", "own.goal"),
    ("#.late", "latest"),
    ("*.late", "late"),
    ("a.b", "aXb"),
]


@pytest.mark.parametrize("pattern, topic", MATCHING)
def test_patterns_mean_what_they_mean_in_amqp(pattern: str, topic: str) -> None:
    """People bring patterns from RabbitMQ, and bindings of the bridge use the same ones."""
    assert matches(pattern, topic)


@pytest.mark.parametrize("pattern, topic", OTHER)
def test_patterns_match_nothing_else(pattern: str, topic: str) -> None:
    """The seed's `subtitle.*` was read as everything below `subtitle`, and is not."""
    assert not matches(pattern, topic)


def _by_definition(pattern: list[str], topic: list[str]) -> bool:
    if not pattern:
        return not topic
    head, rest = pattern[0], pattern[1:]
    if head == "#":
        return any(_by_definition(rest, topic[taken:]) for taken in range(len(topic) + 1))
    return bool(topic) and head in ("*", topic[0]) and _by_definition(rest, topic[1:])


@given(
    st.lists(st.sampled_from(["a", "b", "*", "#"]), min_size=1, max_size=5),
    st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=5),
)
def test_matching_agrees_with_its_definition(pattern: list[str], topic: list[str]) -> None:
    """A regular expression is quick, and easily wrong at the edges of `#`."""
    assert matches(".".join(pattern), ".".join(topic)) == _by_definition(pattern, topic)


@pytest.mark.parametrize("topic", ["", ".", "a.", ".a", "a..b", "a b", "a\n", "goal.*", "#", "a" * 256, "a#b"])
def test_what_is_no_topic_is_refused(topic: str) -> None:
    """A topic that no pattern could name would be lost for its readers."""
    with pytest.raises(ValueRefused):
        check_topic(topic)


@pytest.mark.parametrize("pattern", ["", "a.", "a*", "a.#b", "**"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    """`a*` looks like a prefix, and would never match anything."""
    with pytest.raises(ValueRefused):
        check_pattern(pattern)
