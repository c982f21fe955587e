"""TTML, of which DFXP is the elder name. Times may be clocks, offsets, frames or ticks, and count from their parents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

from .reading import Oddities, Reading, normal_text
from .srt import timestamp

_CLOCK = re.compile(r"([0-9]{1,4}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]+)|:([0-9]+)(?:\.[0-9]+)?)?")
_OFFSET = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)(h|ms|m|s|f|t)")
_TAGS = re.compile(r"</?([a-z]{1,10})[^<>]{0,200}>|\{\\(?:an([1-9]))?[^{}]*\}", re.IGNORECASE)
_NAMESPACE = "http://www.w3.org/ns/ttml"


@dataclass(frozen=True, slots=True)
class _Rates:
    frames: float
    ticks: float


@dataclass(frozen=True, slots=True)
class _Looks:
    italic: frozenset[str]
    """The styles that slant."""
    top: frozenset[str]
    """The regions at the top of the picture."""


def read(text: str) -> Reading:
    odd = Oddities()
    # Entities of a document's own can grow into gigabytes, and no subtitle needs any.
    if re.search(r"<!(?:DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise NotASubtitle(Unfit.DAMAGED, "the TTML declares a document type or entities, which no subtitle needs")
    try:
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text.lstrip("\ufeff")))
    except ElementTree.ParseError as error:
        raise NotASubtitle(Unfit.DAMAGED, f"the TTML is no XML: {error}") from error
    rates = _rates(root)
    looks = _Looks(_italic_styles(root), _top_regions(root))
    cues: list[Cue] = []
    for body in root:
        if _name(body.tag) == "body":
            try:
                _collect(body, 0, rates, looks, cues, odd)
            except RecursionError as error:
                raise NotASubtitle(Unfit.DAMAGED, "the TTML is nested as no subtitle is") from error
    return Reading(tuple(cues), odd.warnings())


def _collect(
    element: ElementTree.Element, offset: int, rates: _Rates, looks: _Looks, cues: list[Cue], odd: Oddities
) -> None:
    begin = offset + (_milliseconds(element.get("begin", ""), rates) or 0)
    if _name(element.tag) == "p":
        cue = _cue(element, offset, rates, looks)
        if cue is None:
            odd.note("a paragraph without text or without times was left out")
        else:
            cues.append(cue)
        return
    for child in element:
        _collect(child, begin, rates, looks, cues, odd)


def _cue(paragraph: ElementTree.Element, offset: int, rates: _Rates, looks: _Looks) -> Cue | None:
    begin = _milliseconds(paragraph.get("begin", ""), rates)
    end = _milliseconds(paragraph.get("end", ""), rates)
    duration = _milliseconds(paragraph.get("dur", "") or paragraph.get("duration", ""), rates)
    words = normal_text("\n".join(line.strip() for line in _words(paragraph, looks.italic).split("\n")))
    if begin is None or (end is None and duration is None) or not re.sub(r"</?i>", "", words).strip():
        return None
    finish = end if end is not None else begin + (duration or 0)
    top = "{\\an8}" if paragraph.get("region", "") in looks.top else ""
    return Cue(start=offset + begin, end=offset + finish, text=top + words)


def _words(element: ElementTree.Element, italic: frozenset[str]) -> str:
    pieces = [re.sub(r"\s+", " ", element.text or "")]
    for child in element:
        name = _name(child.tag)
        if name == "br":
            pieces.append("\n")
        elif name == "span":
            pieces.append(_words(child, italic))
        pieces.append(re.sub(r"\s+", " ", child.tail or ""))
    words = "".join(pieces)
    slanted = _attribute(element, "fontStyle") == "italic" or element.get("style", "") in italic
    return f"<i>{words.strip()}</i>" if slanted and words.strip() else words


def _italic_styles(root: ElementTree.Element) -> frozenset[str]:
    return frozenset(
        _attribute(element, "id")
        for element in root.iter()
        if _name(element.tag) == "style" and _attribute(element, "fontStyle") == "italic"
    )


def _top_regions(root: ElementTree.Element) -> frozenset[str]:
    return frozenset(
        _attribute(element, "id")
        for element in root.iter()
        if _name(element.tag) == "region" and any(map(_is_at_top, element.iter()))
    )


def _is_at_top(element: ElementTree.Element) -> bool:
    """By the height at which a region begins, or by what it is lined up with."""
    origin = re.fullmatch(r"\S{1,20}\s+([0-9]{1,2})(?:\.[0-9]{1,9})?%", _attribute(element, "origin").strip())
    if origin:
        return int(origin[1]) < 30 and _attribute(element, "displayAlign") != "after"
    return _attribute(element, "displayAlign") == "before"


def _rates(root: ElementTree.Element) -> _Rates:
    frames = _rate(_attribute(root, "frameRate"), 30)
    multiplier = _attribute(root, "frameRateMultiplier").split()
    if len(multiplier) == 2:
        frames *= _rate(multiplier[0], 1) / _rate(multiplier[1], 1)
    return _Rates(frames, _rate(_attribute(root, "tickRate"), frames))


def _rate(text: str, otherwise: float) -> float:
    return float(text) if re.fullmatch(r"[1-9][0-9]{0,9}", text) else otherwise


def _milliseconds(expression: str, rates: _Rates) -> int | None:
    expression = expression.strip()
    if match := _CLOCK.fullmatch(expression):
        whole = ((int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])) * 1000
        part = float(f"0.{match[4] or 0}") * 1000 + int(match[5] or 0) * 1000 / rates.frames
        return whole + round(part)
    if match := _OFFSET.fullmatch(expression):
        seconds = {"h": 3600, "m": 60, "s": 1, "ms": 0.001, "f": 1 / rates.frames, "t": 1 / rates.ticks}[match[2]]
        return round(float(match[1]) * seconds * 1000)
    return None


def _name(tag: str) -> str:
    return tag.rpartition("}")[2]


def _attribute(element: ElementTree.Element, name: str) -> str:
    """By its local name: a dozen namespaces are in use for the same attributes."""
    return next((value for key, value in element.attrib.items() if _name(key) == name), "")


def write(cues: Iterable[Cue]) -> str:
    rows = [
        f'      <p begin="{timestamp(cue.start, ".")}" end="{timestamp(cue.end, ".")}"{_region(cue.text)}>{_marked(cue.text)}</p>'
        for cue in cues
    ]
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<tt xmlns="{_NAMESPACE}" xmlns:tts="{_NAMESPACE}#styling">',
            "  <head><layout>",
            '    <region xml:id="top" tts:origin="0% 5%" tts:extent="100% 20%" tts:textAlign="center"/>',
            "  </layout></head>",
            "  <body>",
            "    <div>",
            *rows,
            "    </div>",
            "  </body>",
            "</tt>",
            "",
        ]
    )


def _region(text: str) -> str:
    return ' region="top"' if re.match(r"\{\\an[789]\}", text) else ""


def _marked(text: str) -> str:
    text, pieces, end, is_open = normal_text(text), [], 0, False
    for tag in _TAGS.finditer(text):
        pieces.append(escape(text[end : tag.start()]))
        end = tag.end()
        opens = (tag[1] or "").lower() == "i" and not tag[0].startswith("</")
        closes = (tag[1] or "").lower() == "i" and tag[0].startswith("</")
        if opens and not is_open:
            pieces.append('<span tts:fontStyle="italic">')
            is_open = True
        elif closes and is_open:
            pieces.append("</span>")
            is_open = False
    pieces += [escape(text[end:]), "</span>" if is_open else ""]
    # Signs that XML cannot hold.
    return re.sub("[\x00-\x08\x0b-\x1f\ufffe\uffff]", "", "".join(pieces)).replace("\n", "<br/>")
