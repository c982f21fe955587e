from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace_pipelines.subtitles.model import Cue

Film = Callable[[int], tuple[Cue, ...]]

_SAYINGS = (
    "You should have told me about it {}.",
    "<i>Nobody ever asked me {}.</i>",
    "- Where is he, number {}?\n- He has left.",
    "{{\\an8}}Somewhere in the north, {}.",
    "♪ And we sing it again, {}. ♪",
    "Well, {}!",
)


@pytest.fixture(scope="session")
def film() -> Film:
    """So many cues, one every three seconds, no two alike; each ends a sentence."""

    def make(count: int) -> tuple[Cue, ...]:
        return tuple(
            Cue(start=number * 3_000, end=number * 3_000 + 2_000, text=_SAYINGS[number % 6].format(number + 1))
            for number in range(count)
        )

    return make
