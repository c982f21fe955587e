"""WebVTT. What SRT has, too, is kept: bold, italic, underlined, the top of the screen; voices and classes are not."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from headrace_pipelines.subtitles.model import Cue

from .reading import Oddities, Reading, lines_of, normal_text
from .srt import timestamp

_TIME = r"(?:([0-9]{1,4}):)?([0-9]{1,2}):([0-9]{1,2})[.,]([0-9]{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s+(\S.*?))?\s*")
_LONGEST_TIMING = 300
_TAG = re.compile(r"<(/?)([^<>\s.]{0,20})[^<>]{0,500}>")
_KEPT = {"b", "i", "u"}
_TOP = re.compile(r"\bline:(?:0|[1-4]|[0-9](?:\.[0-9]+)?%|1[0-9](?:\.[0-9]+)?%)(?![0-9.%])")
_SETTING = re.compile(r"\b(?:align|line|position|region|size|vertical):")
_PLACED = re.compile(r"^\{\\an([1-9])\}")
_OVERRIDE = re.compile(r"\{\\[^{}]*\}")


def read(text: str) -> Reading:
    odd = Oddities()
    cues = []
    for block in _blocks(text.lstrip("\ufeff")):
        position = next((number for number, line in enumerate(block[:2]) if _is_timing(line)), None)
        if position is None:
            continue  # the header, a note, a style, a region
        cue = _cue(block[position], "\n".join(block[position + 1 :]))
        if cue.text.strip():
            cues.append(cue)
        else:
            odd.note("a cue without text was left out")
    return Reading(tuple(cues), odd.warnings())


def _blocks(text: str) -> Iterable[list[str]]:
    block: list[str] = []
    for line in lines_of(text):
        if line.strip():
            block.append(line.rstrip("\r\n"))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _is_timing(line: str) -> bool:
    return len(line) < _LONGEST_TIMING and bool(_TIMING.fullmatch(line))


def _cue(timing: str, body: str) -> Cue:
    match = _TIMING.fullmatch(timing)
    if match is None:
        raise AssertionError(f"no times: {timing!r}")
    place = match[9] or ""
    words = normal_text(html.unescape(_TAG.sub(_plain_tag, body)))
    top = "{\\an8}" if _TOP.search(place) else ""
    start, end = _milliseconds(*match.group(1, 2, 3, 4)), _milliseconds(*match.group(5, 6, 7, 8))
    return Cue(start=start, end=end, text=top + words if words.strip() else "", place=place)


def _plain_tag(match: re.Match[str]) -> str:
    name = match[2].lower()
    return f"<{match[1]}{name}>" if name in _KEPT else ""


def _milliseconds(hours: str | None, minutes: str, seconds: str, fraction: str) -> int:
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0"))


def write(cues: Iterable[Cue]) -> str:
    return "WEBVTT\n\n" + "\n".join(
        f"{timestamp(cue.start, '.')} --> {timestamp(cue.end, '.')}{_place(cue)}\n{_escaped(cue.text)}\n"
        for cue in cues
    )


def _place(cue: Cue) -> str:
    if _SETTING.search(cue.place):
        return f" {cue.place}"
    placed = _PLACED.match(cue.text)
    return " line:5%" if placed and placed[1] in "789" else ""


def _escaped(text: str) -> str:
    text = normal_text(_OVERRIDE.sub("", text)).replace("&", "&amp;")
    pieces, end = [], 0
    for tag in _TAG.finditer(text):
        pieces += [_without_brackets(text[end : tag.start()]), _plain_tag(tag)]
        end = tag.end()
    return "".join([*pieces, _without_brackets(text[end:])])


def _without_brackets(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")
