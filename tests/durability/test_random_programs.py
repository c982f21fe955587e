"""T1: random asyncio programs see the same live, in every replay, and on plain asyncio."""

from __future__ import annotations

import os

import pytest

from tests.durability.random_programs import OtherProcess, search

TRIES = int(os.environ.get("TRIES", "300"))
FIRST = int(os.environ.get("FIRST", "0"))


@pytest.mark.slow
@pytest.mark.allow_blocking
def test_programs_see_the_same_in_every_replay() -> None:
    """The sharpest promise: without it a restart could change what a flow does, silently."""
    with OtherProcess(hash_seed=FIRST % 1_000 + 1) as other:
        failures = search(range(FIRST, FIRST + TRIES), prefixes_every=10, other=other)

    assert not failures, "\n".join(failures)


@pytest.mark.slow
@pytest.mark.allow_blocking
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # coroutines that clean-up makes after the end
def test_programs_see_what_plain_asyncio_would_show_them() -> None:
    """Ordinary asyncio would mean something else in a flow, though consistently so."""
    failures = search(range(FIRST, FIRST + TRIES), plain=True)

    assert not failures, "\n".join(failures)
