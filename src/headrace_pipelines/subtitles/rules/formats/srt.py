"""SubRip. Files in the wild leave out indexes, write points for commas, put blank lines into cues, and end anywhere.

The text is taken apart into blocks that joined are the text again, byte for byte, so that one can change what is said
and nothing else: `with_texts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace_pipelines.subtitles.model import Cue

from .reading import Oddities, Reading, lines_of, normal_text, plain_ends

_TIME = r"(-?)(?:([0-9]{1,4})\s?:\s?)?([0-9]{1,2})\s?:\s?([0-9]{1,2})(?:\s?[.,:;]\s?([0-9]{1,3})[0-9]*)?"
_TIMING = re.compile(rf"\s*{_TIME}\s*-{{1,3}}>\s*{_TIME}(?:\s+(\S.*?))?\s*")
_INDEX = re.compile(r"\s*([0-9]{1,6})\s*")
_HALF_A_TIMING = re.compile(r"\s*[0-9]{1,4}:[0-9:.,]*\s*(?:-{0,2}>?\s*[0-9:.,]*)\s*")
_COORDINATES = re.compile(r"X1:\s*[0-9]", re.IGNORECASE)
_LONGEST_TIMING = 300
_IGNORABLE = "\ufeff\u200b"


@dataclass(frozen=True, slots=True)
class Block:
    """One cue as it stands in the file; the parts joined are what was read."""

    head: str
    """The index, or whatever else stands before the times."""
    timing: str
    body: str
    tail: str
    """The blank lines behind, or a last cue that breaks off."""

    @property
    def raw(self) -> str:
        return self.head + self.timing + self.body + self.tail


def blocks(text: str) -> tuple[Block, ...]:
    """Take a text apart; without a single pair of times there is no block."""
    lines = lines_of(text)
    timings = [position for position, line in enumerate(lines) if _timing(line)]
    if not timings:
        return ()
    heads = _heads(lines, timings)
    found = []
    for timing, head, end in zip(timings, heads, [*heads[1:], len(lines)], strict=True):
        is_last = end == len(lines)
        body_end = _body_end(lines, timing + 1, end, _index_at(lines, head, timing) if is_last else None, is_last)
        parts = (lines[head:timing], lines[timing : timing + 1], lines[timing + 1 : body_end], lines[body_end:end])
        found.append(Block(*("".join(part) for part in parts)))
    return tuple(found)


def _heads(lines: list[str], timings: list[int]) -> list[int]:
    """Where each block begins. The first one takes all that stands before it."""
    heads: list[int] = []
    expected: int | None = None
    for timing in timings:
        after = timings[len(heads) - 1] + 1 if heads else 0
        index = _index_line(lines, after, timing, expected)
        number = _number(lines[index]) if index is not None else None
        expected = number + 1 if number is not None else None
        heads.append(0 if not heads else timing if index is None else index)
    return heads


def _index_line(lines: list[str], after: int, timing: int, expected: int | None) -> int | None:
    position = timing - 1
    while position >= after and not lines[position].strip(_IGNORABLE + " \t\r\n"):
        position -= 1
    number = _number(lines[position]) if position >= after else None
    if number is None:
        return None
    # A number alone may be what is said: next to the times it is an index, further off only if it counts on.
    adjacent = position == timing - 1 and (position > after or number == expected or expected is None)
    return position if adjacent or number == expected or after == 0 else None


def _body_end(lines: list[str], start: int, end: int, number: int | None, is_last: bool) -> int:
    if is_last:
        end = _before_broken_cue(lines, start, end, number)
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _before_broken_cue(lines: list[str], start: int, end: int, number: int | None) -> int:
    """Where a last cue begins of which not even the times are whole; the end, if there is none."""
    last = end
    while last > start and not lines[last - 1].strip():
        last -= 1
    if last == start:
        return end
    half = len(lines[last - 1]) < _LONGEST_TIMING and bool(_HALF_A_TIMING.fullmatch(lines[last - 1]))
    index = last - 2 if half else last - 1
    if index > start and not lines[index - 1].strip() and _begins(lines[index], number, whole=half):
        return index
    blank_before = last - 1 > start and not lines[last - 2].strip()
    return last - 1 if half and blank_before and number is None else end


def _begins(line: str, number: int | None, *, whole: bool) -> bool:
    """Whether it is the index of the cue after this one, or the beginning of that index."""
    digits = line.strip()
    if number is None or not _INDEX.fullmatch(line):
        return False
    return int(digits) == number + 1 if whole else str(number + 1).startswith(digits)


def _index_at(lines: list[str], head: int, timing: int) -> int | None:
    return next((number for line in lines[head:timing] if (number := _number(line)) is not None), None)


def _number(line: str) -> int | None:
    match = _INDEX.fullmatch(line.strip(_IGNORABLE))
    return int(match[1]) if match else None


def _timing(line: str) -> re.Match[str] | None:
    return _TIMING.fullmatch(line.strip(_IGNORABLE)) if ">" in line and len(line) < _LONGEST_TIMING else None


def _milliseconds(sign: str, hours: str | None, minutes: str, seconds: str, fraction: str | None) -> int:
    if sign:
        return 0
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1000 + int((fraction or "0").ljust(3, "0"))


def read(text: str) -> Reading:
    """The cues in the order of the file; what was odd is told, and nothing is guessed but times before the beginning."""
    odd = Oddities()
    cues = []
    found = blocks(text)
    for block in found:
        cue = _cue(block, odd)
        if cue.text.strip():
            cues.append(cue)
        elif block is found[-1]:
            odd.note("the last cue broke off before its text; it was left out")
        else:
            odd.note("a cue without text was left out")
    if found and found[-1].tail.strip():
        odd.note("the last cue broke off within its times; it was left out")
    if found and len(found[0].head.split()) > 1:
        odd.note("text before the first cue was left out")
    return Reading(tuple(cues), odd.warnings())


def _cue(block: Block, odd: Oddities) -> Cue:
    match = _timing(block.timing)
    if match is None:
        raise AssertionError(f"a block without times: {block!r}")
    if not block.head.strip():
        odd.note("a cue without index")
    if match[1] or match[6]:
        odd.note("a time before the beginning was set to zero")
    text = normal_text(block.body)
    if text.count("\n") < plain_ends(block.body).strip("\n").count("\n"):
        odd.note("a blank line inside a cue was taken out")
    start, end = _milliseconds(*match.group(1, 2, 3, 4, 5)), _milliseconds(*match.group(6, 7, 8, 9, 10))
    return Cue(start=start, end=end, text=text, place=match[11] or "")


def with_texts(text: str, texts: Sequence[str]) -> str:
    """The same file with other words: indexes, times, places and blank lines stay as they are, byte for byte."""
    found = blocks(text)
    if len(found) != len(texts):
        raise ValueError(f"the file has {len(found)} cues, and {len(texts)} texts were given; each cue needs its own")
    changed = []
    for block, new in zip(found, texts, strict=True):
        end = "\r\n" if "\r\n" in block.timing else "\n"
        first = "" if block.timing.endswith(("\r", "\n")) else end
        last = block.body[len(block.body.rstrip("\r\n")) :] or (end if block.tail or block is not found[-1] else "")
        changed.append(block.head + block.timing + first + _written_text(new).replace("\n", end) + last + block.tail)
    return "".join(changed)


def write(cues: Iterable[Cue]) -> str:
    return "\n".join(
        f"{number}\n{timestamp(cue.start)} --> {timestamp(cue.end)}{_place(cue)}\n{_written_text(cue.text)}\n"
        for number, cue in enumerate(cues, 1)
    )


def _place(cue: Cue) -> str:
    return f"  {cue.place}" if _COORDINATES.match(cue.place) else ""


def _written_text(text: str) -> str:
    # A line that reads like times would begin a cue of its own, and shift all that follow.
    return "\n".join(re.sub("-+>", "-", line) if _timing(line) else line for line in normal_text(text).split("\n"))


def timestamp(milliseconds: int, point: str = ",") -> str:
    seconds, rest = divmod(max(0, milliseconds), 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{point}{rest:03d}"
