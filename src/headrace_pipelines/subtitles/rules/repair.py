"""What to do about a bad answer: the next rung of a ladder, as a value.

Ask again for the bad lines, twice; then in halves, down to single lines; then another model; then keep the original and
say so. An answer that was cut off, or refused, is halved at once: to ask the same again would get the same.
Lines that are accepted are never asked for again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from headrace_pipelines.subtitles.rules.answers import Checked, Problem

REPETITIONS = 2
_MOST_FLAGGED = 100
"""One cue in so many may stay untranslated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is to be asked next."""

    ids: tuple[int, ...]
    model: int = 0
    """0: the usual one; 1: the first of the others; …"""
    repetitions: int = REPETITIONS
    """How often bad lines of this may be asked for again before they are divided."""
    problems: Mapping[int, Problem] = field(default_factory=dict)
    """What was wrong with earlier translations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """How far the translation of a chunk has come; ``pending`` is asked from the front."""

    models: int
    allowance: int | None
    """After so many lost lines the rest is given up; None: never."""
    pending: tuple[Ask, ...]
    accepted: Mapping[int, str] = field(default_factory=dict)
    flagged: Mapping[int, Problem] = field(default_factory=dict)
    asked: int = 0
    """Questions so far."""

    @property
    def next(self) -> Ask | None:
        """None: it is over."""
        return self.pending[0] if self.pending else None


def begin(ids: Sequence[int], *, models: int = 1, allowance: int | None = None) -> Repair:
    pending = (Ask(ids=tuple(ids)),) if ids else ()
    return Repair(models=models, allowance=allowance, pending=pending)


def after_answer(repair: Repair, checked: Checked) -> Repair:
    """Go on after an answer that is complete, whatever it is worth."""
    ask = repair.pending[0]
    repair = replace(repair, accepted={**repair.accepted, **checked.accepted})
    bad = tuple(number for number in ask.ids if number not in checked.accepted)
    problems = {number: checked.problems.get(number, Problem.MISSING) for number in bad}
    if not bad:
        return _then(repair)
    if ask.repetitions > 0:
        return _then(repair, replace(ask, ids=bad, repetitions=ask.repetitions - 1, problems=problems))
    if len(bad) > 1 or bad != ask.ids:
        return _then(repair, *_halves(replace(ask, ids=bad, problems=problems)))
    return _last_resort(repair, ask, problems)


def after_cut(repair: Repair) -> Repair:
    """Go on after an answer that was cut off; nothing of it is used."""
    return _less(repair, Problem.CUT)


def after_refusal(repair: Repair) -> Repair:
    """Go on after the model would not answer; one line of many may be why."""
    return _less(repair, Problem.REFUSED)


def _less(repair: Repair, problem: Problem) -> Repair:
    ask = repair.pending[0]
    if len(ask.ids) > 1:
        return _then(repair, *_halves(ask))
    return _last_resort(repair, ask, dict.fromkeys(ask.ids, problem))


def _halves(ask: Ask) -> tuple[Ask, ...]:
    middle = (len(ask.ids) + 1) // 2
    return tuple(replace(ask, ids=half) for half in (ask.ids[:middle], ask.ids[middle:]) if half)


def _last_resort(repair: Repair, ask: Ask, problems: Mapping[int, Problem]) -> Repair:
    if ask.model + 1 < repair.models:
        return _then(repair, Ask(ids=ask.ids, model=ask.model + 1, repetitions=0, problems=problems))
    repair = _then(replace(repair, flagged={**repair.flagged, **problems}))
    if repair.allowance is None or len(repair.flagged) <= repair.allowance:
        return repair
    # It has failed already; to pay for the rest would not change that.
    rest = [number for left in repair.pending for number in left.ids]
    return replace(repair, pending=(), flagged={**repair.flagged, **dict.fromkeys(rest, Problem.NOT_TRIED)})


def _then(repair: Repair, *asks: Ask) -> Repair:
    return replace(repair, pending=(*asks, *repair.pending[1:]), asked=repair.asked + 1)


class Verdict(StrEnum):
    COMPLETE = "complete"
    WITH_WARNINGS = "with_warnings"
    INCOMPLETE = "translation_incomplete"


def allowed(cues: int) -> int:
    """How many cues of a document may stay untranslated."""
    return cues // _MOST_FLAGGED


def verdict(cues: int, flagged: int) -> Verdict:
    if flagged == 0:
        return Verdict.COMPLETE
    return Verdict.WITH_WARNINGS if flagged <= allowed(cues) else Verdict.INCOMPLETE
