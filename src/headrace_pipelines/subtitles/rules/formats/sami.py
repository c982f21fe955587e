"""SAMI: HTML with moments. A text stays until the next one; a file may hold several languages at once."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable
from html.parser import HTMLParser

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.languages import UnknownLanguage, parse_language, primary

from .reading import Oddities, Reading, normal_text

_CLASS = re.compile(r"\.([A-Za-z0-9_]+)\s*\{[^{}]*?lang\s*:\s*([A-Za-z-]+)", re.IGNORECASE)
_TAGS = re.compile(r"</?[a-z][^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)
_LAST = 4000
_KEPT = {"b", "i", "u"}


class _Moments(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[int, str, str]] = []
        self._start: int | None = None
        self._class = ""
        self._words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "sync":
            self._flush()
            digits = re.match(r"\s*([0-9]{1,9})", given.get("start") or "")
            self._start, self._class = (int(digits[1]) if digits else None), ""
        elif tag == "p":
            self._flush()
            self._class = (given.get("class") or "").lower()
        elif tag == "br":
            self._words.append("\n")
        elif tag in _KEPT:
            self._words.append(f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"body", "sami"}:
            self._flush()
        elif tag in _KEPT:
            self._words.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._words.append(re.sub(r"[ \t\r\n]+", " ", data))

    def close(self) -> None:
        super().close()
        self._flush()

    def _flush(self) -> None:
        if self._start is not None and self._words:
            lines = "".join(self._words).split("\n")
            self.found.append((self._start, self._class, normal_text("\n".join(line.strip() for line in lines))))
        self._words = []


def read(text: str, language: str | None = None) -> Reading:
    """The language decides which class is read, if there are several; without it the one with the most text is."""
    odd = Oddities()
    parser = _Moments()
    parser.feed(text.lstrip("\ufeff"))
    parser.close()
    chosen = _class(text, parser.found, language, odd)
    moments = [(start, words) for start, name, words in parser.found if name == chosen]
    moments.sort(key=lambda moment: moment[0])
    cues = []
    for number, (start, words) in enumerate(moments):
        # Words that are only a space take the last ones from the screen.
        if words.replace("\u00a0", " ").strip():
            end = moments[number + 1][0] if number + 1 < len(moments) else start + _LAST
            cues.append(Cue(start=start, end=end, text=words))
    return Reading(tuple(cues), odd.warnings())


def _class(text: str, found: list[tuple[int, str, str]], language: str | None, odd: Oddities) -> str:
    sizes: Counter[str] = Counter()
    for _, name, words in found:
        sizes[name] += len(words.strip())
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
