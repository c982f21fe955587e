"""The way that a job has come: from which state each of its events has led to which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from headrace._jobs.lifecycle import Lifecycle


class Leg(NamedTuple):
    """One event of a job; where it moved nothing, both states are the same. Empty: there was no job, or nobody can tell."""

    before: str
    after: str


def travelled(lifecycle: Lifecycle[Any], events: Iterable[tuple[int, str, bool]]) -> Mapping[int, Leg]:
    """From (sequence, topic, applied) in order, by sequence. Pure: the states are not in the log, they follow from the moves."""
    state, legs = "", {}
    for sequence, topic, applied in events:
        after = _after(lifecycle, state, topic) if applied else state
        legs[sequence] = Leg(state, after)
        state = after
    return legs


def _after(lifecycle: Lifecycle[Any], state: str, topic: str) -> str:
    for move in lifecycle.moves:
        if move.topic == topic and (state in move.sources or (move.opens and not state)):
            return move.target
    return state
