"""SAMI: HTML with moments. A text stays until the next one; a file may hold several languages at once."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.languages import UnknownLanguage, parse_language, primary

from .reading import Oddities, Reading, normal_text

_CLASS = re.compile(r"\.([A-Za-z0-9_]+)\s*\{[^{}]*?lang\s*:\s*([A-Za-z-]+)", re.IGNORECASE)
_TAGS = re.compile(r"</?[a-z][^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([a-z]{1,10})([^<>]{0,300})>", re.IGNORECASE)
_START = re.compile(r"\bstart\s{0,5}=\s{0,5}[\"']?\s{0,5}([0-9]{1,9})", re.IGNORECASE)
_CLASS_GIVEN = re.compile(r"\bclass\s{0,5}=\s{0,5}[\"']?\s{0,5}([\w-]{1,30})", re.IGNORECASE)
_BLANKS = re.compile(r"[ \t\r\n]+")
_LAST = 4000


@dataclass(frozen=True, slots=True)
class _Moment:
    start: int
    name: str
    """Its class, which stands for its language."""
    words: str


def _moments(text: str) -> Iterator[_Moment]:
    """Half of these files close no tag, so that it is told by the next one where something ends."""
    start: int | None = None
    name, words, end = "", list[str](), 0
    for tag in _TAG.finditer(text):
        words.append(html.unescape(_BLANKS.sub(" ", text[end : tag.start()])))
        end = tag.end()
        kind, closes = tag[2].lower(), bool(tag[1])
        if kind in {"sync", "p", "body", "sami"}:
            if start is not None:
                yield _Moment(start, name, _lines("".join(words)))
            words = []
        if kind == "sync" or (closes and kind in {"body", "sami"}):
            begin = _START.search(tag[3])
            start, name = (int(begin[1]) if begin and not closes else None), ""
        elif kind == "p" and not closes:
            given = _CLASS_GIVEN.search(tag[3])
            name = given[1].lower() if given else ""
        elif kind == "br":
            words.append("\n")
        elif kind in {"b", "i", "u"}:
            words.append(f"<{tag[1]}{kind}>")
    if start is not None:
        yield _Moment(start, name, _lines("".join(words) + html.unescape(text[end:])))


def _lines(words: str) -> str:
    return normal_text("\n".join(line.strip() for line in words.split("\n")))


def read(text: str, language: str | None = None) -> Reading:
    """The language decides which class is read, if there are several; without it the one with the most text is."""
    odd = Oddities()
    found = list(_moments(text.lstrip("\ufeff")))
    chosen = _class(text, found, language, odd)
    moments = sorted((moment for moment in found if moment.name == chosen), key=lambda moment: moment.start)
    cues = []
    for number, moment in enumerate(moments):
        # Words that are only a space take the last ones from the screen.
        if moment.words.replace("\u00a0", " ").strip():
            end = next((later.start for later in moments[number + 1 :] if later.start > moment.start), None)
            cues.append(Cue(start=moment.start, end=moment.start + _LAST if end is None else end, text=moment.words))
    return Reading(tuple(cues), odd.warnings())


def _class(text: str, found: list[_Moment], language: str | None, odd: Oddities) -> str:
    sizes: Counter[str] = Counter()
    for moment in found:
        sizes[moment.name] += len(moment.words.strip())
    spoken = [name for name, size in sizes.items() if size]
    if len(spoken) < 2:
        return spoken[0] if spoken else ""
    languages = {name.lower(): tag for name, code in _CLASS.findall(text) if (tag := _tag(code))}
    wanted = [name for name in spoken if language and languages.get(name) == primary(language)]
    chosen = wanted[0] if wanted else sizes.most_common(1)[0][0]
    odd.note(f"the file holds {len(spoken)} texts side by side; {chosen.upper() or 'the one without a class'} was read")
    return chosen


def _tag(code: str) -> str | None:
    try:
        return primary(parse_language(code))
    except UnknownLanguage:
        return None


def write(cues: Iterable[Cue]) -> str:
    rows = ["<SAMI>", '<HEAD><STYLE TYPE="text/css"><!-- P { text-align: center; } --></STYLE></HEAD>', "<BODY>"]
    last = None
    for cue in cues:
        if last is not None and last < cue.start:
            rows.append(f"<SYNC Start={last}><P>&nbsp;</P></SYNC>")
        rows.append(f"<SYNC Start={cue.start}><P>{_escaped(cue.text)}</P></SYNC>")
        last = cue.end
    rows += [f"<SYNC Start={last}><P>&nbsp;</P></SYNC>"] if last is not None else []
    return "\n".join([*rows, "</BODY>", "</SAMI>", ""])


def _escaped(text: str) -> str:
    pieces, end = [], 0
    text = normal_text(text)
    for tag in _TAGS.finditer(text):
        pieces.append(html.escape(text[end : tag.start()], quote=False))
        if re.fullmatch(r"</?[biu]>", tag[0], re.IGNORECASE):
            pieces.append(tag[0].lower())
        end = tag.end()
    return "".join([*pieces, html.escape(text[end:], quote=False)]).replace("\n", "<br>")
