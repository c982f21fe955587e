"""What an endpoint may be."""

from __future__ import annotations

import re

from headrace._endpoints.model import NewEndpoint
from headrace._events.filter import compile_filter
from headrace._events.topic import check_pattern
from headrace.errors import ValueRefused

NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
_MARK = "webhook:"
"""Before the name of an endpoint in that of its subscription; no pipeline is called so."""
MOST_TOPICS = 50


def check(new: NewEndpoint) -> NewEndpoint:
    """Raises ``ValueRefused`` with the reason; what the address may be is for those to say who send."""
    if not re.fullmatch(NAME, new.name):
        raise ValueRefused(
            f"{new.name[:80]!r} cannot be the name of an endpoint: it has up to 64 lower-case letters, digits, dashes and underscores"
        )
    if not 1 <= len(new.topics) <= MOST_TOPICS:
        raise ValueRefused(f"an endpoint has 1 to {MOST_TOPICS} topics; '#' stands for all of them")
    for pattern in new.topics:
        check_pattern(pattern)
    if new.filter:
        compile_filter(new.filter)
    return new


def subscription_of(name: str) -> str:
    return _MARK + name
