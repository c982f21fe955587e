"""Topics and the patterns that match them, with the meaning that they have in AMQP.

A topic is words split by dots. In a pattern ``*`` stands for one word and ``#`` for any number of words, none included:
``subtitle.*`` matches ``subtitle.ready`` and not ``subtitle.download.requested``; ``subtitle.#`` matches both, and ``subtitle``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headrace.errors import ValueRefused

MAX_TOPIC = 255
_WORD = r"""[!"$-)+,\-/-~]+"""  # printable ASCII without dots, stars and hashes
TOPIC = rf"^{_WORD}(\.{_WORD})*$"
PATTERN = rf"^({_WORD}|\*|#)(\.({_WORD}|\*|#))*$"
_WILD = {"*": r"\.[^.]+", "#": r"(?:\.[^.]+)*"}


def check_topic(topic: str) -> str:
    """A topic that events may have; raises ValueRefused with the reason."""
    return _checked_topic(topic)


@lru_cache(maxsize=1_024)
def _checked_topic(topic: str) -> str:
    if any(wild in topic for wild in "*#"):
        raise ValueRefused(f"{topic!r} is a pattern; an event needs one topic, without * and #")
    _check(topic, TOPIC, "topic")
    return topic


def check_pattern(pattern: str) -> str:
    """A pattern that a subscription may have; raises ValueRefused with the reason."""
    _check(pattern, PATTERN, "topic pattern")
    return pattern


def is_pattern(text: str) -> bool:
    return "*" in text or "#" in text


def matches(pattern: str, topic: str) -> bool:
    return pattern == topic or (is_pattern(pattern) and _compiled(pattern).fullmatch("." + topic) is not None)


def matches_any(patterns: tuple[str, ...], topic: str) -> bool:
    return any(matches(pattern, topic) for pattern in patterns)


@lru_cache(maxsize=1_024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("".join(_WILD.get(word) or r"\." + re.escape(word) for word in pattern.split(".")))


def _check(text: str, form: str, what: str) -> None:
    if len(text) > MAX_TOPIC or re.fullmatch(form, text) is None:
        raise ValueRefused(
            f"{text[:80]!r} cannot be a {what}: use words of ASCII letters, digits and signs split by dots, for example "
            f"'goal.confirmed', at most {MAX_TOPIC} characters"
        )
