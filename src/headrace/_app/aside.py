"""Runs that need a person: why they are set aside, and what to do about it.

The reason of such a run is a sentence of the engine; here it is taken apart again, so that both commands can be shown side by side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from headrace._app.listing import newest_in
from headrace._app.view import RunView
from headrace._ports.database import Reader
from headrace._runs.model import SET_ASIDE

SHOWN = 50


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One kind of trouble: what it is called, what happened, and what ends it."""

    title: str
    story: str
    remedies: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Aside:
    """A run that does not go on before somebody acts; ``facts`` are the parts of its reason."""

    run: RunView
    cause: Cause
    facts: Mapping[str, str] = field(default_factory=dict)


_DIVERGED = Cause(
    title="The code no longer fits the journal",
    story="A replay of this run asks for something else than what is recorded. Nothing of it is lost.",
    remedies=(
        "Bring the old code back: the run goes on by itself at the next start.",
        "Or keep both ways in the flow with patched(…): old runs take the old one.",
        "Or cancel the run, and start one like it on the new code.",
    ),
)
_IMPURE = Cause(
    title="The flow reached outside",
    story="A flow asked the clock, chance or the outside world directly, so a replay could differ.",
    remedies=("Mend the line as the reason says, and start again: the run goes on by itself.",),
)
_NO_FLOW = Cause(
    title="The flow is not here",
    story="The code that is loaded has no flow of this name.",
    remedies=(
        "Add the flow to its Pipeline(flows=[…]), or bring its old name back with @flow(name=…), and start again.",
        "Or cancel the run by force: no code is needed for that.",
    ),
)
_INPUT = Cause(
    title="The input no longer fits the flow",
    story="The recorded arguments cannot be read by the signature that the flow has now.",
    remedies=(
        "Let the signature accept the old input, for example by a default for what is new, and start again.",
        "Or cancel the run by force, and start one like it.",
    ),
)
_LONG = Cause(
    title="The journal has become too long",
    story="A flow that goes on for ever grows for ever, and a restart has to read all of it.",
    remedies=(
        "Use continue_as_new in the flow.",
        "Or raise HEADRACE_LIMITS__HISTORY, start again, and retry the run.",
    ),
)
_DEADLY = Cause(
    title="A step kills its worker process",
    story="The process of a cpu step died again and again, so the step is not tried any more.",
    remedies=("Mend the step or its input, start again, and retry the run.", "Or cancel the run."),
)
_HOG = Cause(
    title="The flow never yields",
    story="Its code held the event loop for many seconds, which stops everything else.",
    remedies=("Move the long computation into a step, start again, and retry the run.", "Or cancel the run by force."),
)
_OTHER = Cause(
    title="It cannot go on by itself",
    story="The reason says why.",
    remedies=("When the cause is mended, retry the run.", "Or cancel the run."),
)

_PATTERNS: Final[tuple[tuple[re.Pattern[str], Cause], ...]] = (
    (
        re.compile(
            r"at command (?P<position>\d+) the journal has (?P<recorded>.+), the code has (?P<found>.+)\. Bring the old", re.DOTALL
        ),
        _DIVERGED,
    ),
    (re.compile(r"(?P<call>.+) was called in a flow at (?P<line>.+?); (?P<instead>.+)", re.DOTALL), _IMPURE),
    (re.compile(r"there is no flow '(?P<flow>[^']*)' here"), _NO_FLOW),
    (re.compile(r"its recorded input does not fit the flow any more: (?P<mismatch>.+)", re.DOTALL), _INPUT),
    (re.compile(r"its journal has (?P<rows>\d+) rows"), _LONG),
    (re.compile(r"(?P<deaths>\d+) worker processes died of step '(?P<step>[^']*)'"), _DEADLY),
    (re.compile(r"its code did not yield for many seconds"), _HOG),
)  # fmt: skip


def aside_of(run: RunView) -> Aside:
    for pattern, cause in _PATTERNS:
        if match := pattern.search(run.reason):
            return Aside(run=run, cause=cause, facts=match.groupdict())
    return Aside(run=run, cause=_OTHER)


def set_aside(reader: Reader) -> list[Aside]:
    """The newest runs that need a person, the blocked ones first."""
    states = sorted(SET_ASIDE)
    return [aside_of(run) for state in states for run in newest_in(reader, state, SHOWN)]
