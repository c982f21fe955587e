"""What every reader of a format gives back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from headrace_pipelines.subtitles.model import Cue

# Only what ends a line in a file: `str.splitlines` also breaks at signs that stand inside a text. Programs that
# convert line ends twice leave CR CR LF. The counts are bounded, here and in all readers: files come from strangers, and
# a pattern that looks back and forth takes minutes for a megabyte of the same sign.
_LINE = re.compile(r"[^\r\n]*(?:\r{0,2}\n|\r(?!\r?\n)|\Z)")
_ENDS = re.compile(r"\r{0,2}\n|\r")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")


@dataclass(frozen=True, slots=True)
class Reading:
    cues: tuple[Cue, ...]
    warnings: tuple[str, ...] = ()


def lines_of(text: str) -> list[str]:
    """The lines with their ends, so that joined they are the text."""
    return [line for line in _LINE.findall(text) if line]


def normal_text(text: str) -> str:
    """Line ends as one sign, and no blank line: players take one for the end of the cue."""
    return _BLANK_LINES.sub("\n", plain_ends(text).strip("\n"))


def plain_ends(text: str) -> str:
    return _ENDS.sub("\n", text)


class Oddities:
    """Counts what was odd, so that a file with a thousand faults of one sort gets one warning."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def note(self, what: str, times: int = 1) -> None:
        self._counts[what] += times

    def warnings(self) -> tuple[str, ...]:
        return tuple(self._texts())

    def _texts(self) -> Iterator[str]:
        for what, count in self._counts.items():
            yield what if count == 1 else f"{what} ({count} times)"
