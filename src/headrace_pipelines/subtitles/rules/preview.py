"""Two subtitles side by side, cue by cue."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from headrace_pipelines.subtitles.model import Cue

_MARKS = re.compile(r"\{\\[^{}]*\}|</?[A-Za-z][^<>]*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A moment of the video: what was said, and what was made of it. ``None``: nothing stands there."""

    number: int
    start: int
    """Milliseconds from the beginning of the video."""
    end: int
    original: str | None = None
    translation: str | None = None
    is_flagged: bool = False
    """No translation was good enough, so it kept its source text."""


def alone(cues: Sequence[Cue]) -> tuple[Line, ...]:
    """A subtitle that was found, with nothing beside it."""
    return tuple(
        Line(number=number, start=cue.start, end=cue.end, original=readable(cue.text))
        for number, cue in enumerate(cues, 1)
    )


def side_by_side(
    original: Sequence[Cue], translation: Sequence[Cue], flagged: Collection[int] = ()
) -> tuple[Line, ...]:
    """Paired by when they are shown: a file that somebody has edited since loses a pair, and not all pairs behind it."""
    waiting: dict[int, list[Cue]] = {}
    for cue in translation:
        waiting.setdefault(cue.start, []).append(cue)
    numbers = set(flagged)
    lines = []
    for number, cue in enumerate(original, 1):
        beside = waiting.get(cue.start)
        said = readable(beside.pop(0).text) if beside else None
        lines.append(
            Line(
                number=number, start=cue.start, end=cue.end, original=readable(cue.text), translation=said,
                is_flagged=number in numbers,
            )
        )  # fmt: skip
    left = (cue for cues in waiting.values() for cue in cues)
    return _in_order(lines, left)


def _in_order(lines: list[Line], left: Iterable[Cue]) -> tuple[Line, ...]:
    more = [Line(number=0, start=cue.start, end=cue.end, translation=readable(cue.text)) for cue in left]
    return tuple(sorted([*lines, *more], key=lambda line: line.start)) if more else tuple(lines)


def readable(text: str) -> str:
    """Without what only players understand."""
    return _MARKS.sub("", text).strip()


def having(lines: Sequence[Line], text: str = "", *, flagged: bool = False) -> tuple[Line, ...]:
    """Those with these words, on either side; only flagged ones, if that is asked."""
    words = text.casefold().split()
    return tuple(
        line
        for line in lines
        if (line.is_flagged or not flagged)
        and all(word in f"{line.original or ''}\n{line.translation or ''}".casefold() for word in words)
    )


def timecode(milliseconds: int) -> str:
    """``1:02:03.4``; hours only where there are any."""
    seconds, rest = divmod(max(0, milliseconds), 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{head}:{seconds:02}.{rest // 100}"
