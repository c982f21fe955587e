"""Right-to-left text. It is stored in the order in which it is read; players that cannot cope get a profile.

``marks`` is for players that order each line from left to right: the line is embedded as right-to-left.
``kodi`` is for those that ignore such marks: what ends a line is moved to its front, where they will show it at the end.
Both may be applied to what they have been applied to already.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST_LINE = 1000
_EMBED, _POP, _RIGHT = "\u202b", "\u202c", "\u200f"
_ENDS = ".!?,:;…؟،؛)]»\"'"

_TAG = r"(?:<[^<>]*>|\{[^{}]*\})"
_LINE = re.compile(rf"^((?:\s*{_TAG})*\s*)(.*?)(\s*(?:{_TAG}\s*)*)$", re.DOTALL)
_STOP, _QUOTE = r"[.!?,:;…؟،؛]", '["”“]'
_MOVED_BEFORE = re.compile(rf"^{_QUOTE}*{_STOP}")
_ELLIPSIS = re.compile(r"^(?:\.{2,}|…)")
_PARTS = re.compile(rf"^((?:[-–—]+\s*)?(?:\.\.\.|…)?{_QUOTE}*)(.*?)((?:{_QUOTE}*{_STOP})*{_QUOTE}*)$", re.DOTALL)  # noqa: RUF001 - dashes of subtitles


class Profile(StrEnum):
    NONE = "none"
    MARKS = "marks"
    KODI = "kodi"


def strip_marks(text: str) -> str:
    """Without the invisible signs that order text; they stand in the way of translation, search and comparison."""
    return _MARKS.sub("", text)


def apply_profile(text: str, profile: Profile) -> str:
    """Make the right-to-left lines of a cue ready for a player; other lines are left as they are."""
    plain = strip_marks(text)
    if profile is Profile.NONE:
        return plain
    change = _embed if profile is Profile.MARKS else _move_punctuation
    return "\n".join(change(line) if _is_right_to_left(line) else line for line in plain.split("\n"))


def _is_right_to_left(line: str) -> bool:
    # The patterns below look back and forth; no line of a subtitle is that long.
    return len(line) < _LONGEST_LINE and any(unicodedata.bidirectional(sign) in {"R", "AL"} for sign in line)


def _embed(line: str) -> str:
    before, core, after = _split(line)
    return f"{before}{_EMBED}{core}{_RIGHT if core[-1:] in _ENDS else ''}{_POP}{after}"


def _move_punctuation(line: str) -> str:
    before, core, after = _split(line)
    moved = _moved(core)
    # A line that reads either way would change with every pass; it stays as it is.
    return before + (moved if _moved(moved) == moved else core) + after


def _moved(core: str) -> str:
    if _MOVED_BEFORE.match(core) and not _ELLIPSIS.match(core):
        return core
    found = _PARTS.match(core)
    if found is None or not found[2]:
        return core
    first, middle, last = found.groups()
    if last and not re.search(_STOP, last):
        return core
    if not last and _ELLIPSIS.match(first):
        return core
    dash = first.strip()
    gap = " " if first != first.rstrip() else ""
    return f"{last}{middle}{gap}{dash}"


def _split(line: str) -> tuple[str, str, str]:
    found = _LINE.match(line)
    return (found[1], found[2], found[3]) if found else ("", line, "")
