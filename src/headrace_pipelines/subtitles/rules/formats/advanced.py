"""SubStation Alpha, in both versions. Positions and plain styles are kept as SRT has them; karaoke and drawings are not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace_pipelines.subtitles.model import Cue, Format
from headrace_pipelines.subtitles.rules.packages import extra

from .reading import Oddities, Reading, lines_of, normal_text

with extra():
    import pysubs2

_ALIGNMENT = re.compile(r"\\an([1-9])")
_OLD_ALIGNMENT = re.compile(r"\\a([0-9]{1,2})(?![0-9a-z])")
_BREAK = re.compile(r"\\[Nn]")
_TAG = re.compile(r"</?([a-z]{1,10})[^<>]{0,200}>", re.IGNORECASE)
_PLACED = re.compile(r"^\{\\an[1-9]\}")
_BLOCK = re.compile(r"\{[^{}]{0,2000}\}")
_SWITCH = re.compile(r"\\([ibupr])([0-9]{0,3})(?![a-z])")
_TIME = re.compile(r"([0-9]{1,4}):([0-9]{1,2}):([0-9]{1,2})(?:[.,:]([0-9]{1,9}))?")
# In files of the older version: 1 to 3 at the bottom, 5 to 7 at the top, 9 to 11 in the middle.
_OLD_PLACES = {1: 1, 2: 2, 3: 3, 5: 7, 6: 8, 7: 9, 9: 4, 10: 5, 11: 6}
# For files that do not name their fields.
_FIELDS = {
    "Dialogue": "layer start end style name marginl marginr marginv effect text".split(),
    "Style": ["name"],
}
_BOTTOM = 2
_LONGEST_TEXT = 10_000


@dataclass(frozen=True, slots=True)
class _Style:
    italic: bool = False
    bold: bool = False
    underline: bool = False
    alignment: int = _BOTTOM


def read(text: str, format: Format) -> Reading:
    odd = Oddities()
    styles = {row["name"].strip().lstrip("*"): _style(row, format) for row in _rows(text, "Style") if "name" in row}
    cues = []
    for row in _rows(text, "Dialogue"):
        times = _milliseconds(row.get("start", "")), _milliseconds(row.get("end", ""))
        if times[0] is None or times[1] is None:
            odd.note("a cue without valid times was left out")
            continue
        said = row.get("text", "")
        if len(said) > _LONGEST_TEXT:
            odd.note(f"a cue with more than {_LONGEST_TEXT} characters was left out")
            continue
        words = _text(said, styles.get(row.get("style", "").strip().lstrip("*"), _Style()))
        if words.strip():
            cues.append(Cue(start=times[0], end=times[1], text=words))
        else:
            odd.note("a cue without text, or a drawing, was left out")
    # Editors of this format keep events in any order.
    return Reading(tuple(sorted(cues, key=lambda cue: (cue.start, cue.end))), odd.warnings())


def _rows(text: str, kind: str) -> Iterator[dict[str, str]]:
    """The lines of one kind, by the names that the line `Format` above them gives to their fields."""
    fields = _FIELDS[kind]
    section = ""
    for line in lines_of(text):
        line = line.strip("\r\n\ufeff")
        if line.lstrip().startswith("["):
            section = line.strip().lower()
        key, colon, rest = line.partition(":")
        if not colon:
            continue
        key = key.strip().lower()
        if key == "format" and ("events" in section) == (kind == "Dialogue"):
            fields = [name.strip().lower() for name in rest.split(",")]
        elif key == kind.lower():
            # The last field may hold commas.
            yield dict(zip(fields, rest.split(",", len(fields) - 1), strict=False))


def _style(row: dict[str, str], format: Format) -> _Style:
    def is_on(name: str) -> bool:
        return row.get(name, "0").strip() not in {"", "0"}

    number = row.get("alignment", "").strip()
    alignment = int(number) if number.isascii() and number.isdigit() and len(number) < 3 else _BOTTOM
    if format is Format.SSA:
        alignment = _OLD_PLACES.get(alignment, _BOTTOM)
    return _Style(is_on("italic"), is_on("bold"), is_on("underline"), alignment if 1 <= alignment <= 9 else _BOTTOM)


def _milliseconds(text: str) -> int | None:
    match = _TIME.fullmatch(text.strip()) if len(text) < 40 else None
    if match is None:
        return None
    whole = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    return whole * 1000 + int((match[4] or "0").ljust(3, "0")[:3])


def _text(said: str, style: _Style) -> str:
    pieces = []
    # All lines of a bold style are not stressed, but all lines of an italic one are: it is for voices off.
    marks, is_drawing, end = {"i": style.italic, "b": False, "u": False}, False, 0
    for block in _BLOCK.finditer(said):
        pieces.append(_marked_up(said[end : block.start()], marks, is_drawing))
        end = block.end()
        for name, value in _SWITCH.findall(block[0]):
            if name == "r":
                marks = {"i": style.italic, "b": False, "u": False}
            elif name == "p":
                is_drawing = value not in {"", "0"}
            elif name in marks:
                marks[name] = (
                    value not in {"", "0"}
                    and not (name == "b" and style.bold)
                    and not (name == "u" and style.underline)
                )
    pieces.append(_marked_up(said[end:], marks, is_drawing))
    words = normal_text(_joined("".join(pieces)))
    where = _alignment(said, style.alignment)
    return f"{{\\an{where}}}{words}" if words.strip() and where != _BOTTOM else words


def _marked_up(said: str, marks: dict[str, bool], is_drawing: bool) -> str:
    words = _BREAK.sub("\n", said).replace("\\h", "\u00a0")
    if is_drawing or not words:
        return ""
    tags = [tag for tag, is_on in marks.items() if is_on]
    return "".join(f"<{tag}>" for tag in tags) + words + "".join(f"</{tag}>" for tag in reversed(tags))


def _joined(text: str) -> str:
    """Without a tag that ends where it begins again."""
    return re.sub(r"</([ibu])>(\s{0,20})<\1>", r"\2", text)


def _alignment(said: str, by_style: int) -> int:
    if match := _ALIGNMENT.search(said):
        return int(match[1])
    if match := _OLD_ALIGNMENT.search(said):
        return _OLD_PLACES.get(int(match[1]), _BOTTOM)
    return by_style


def write(cues: Iterable[Cue], format: Format) -> str:
    subtitles = pysubs2.SSAFile()
    subtitles.events = [pysubs2.SSAEvent(start=cue.start, end=cue.end, text=_marked(cue.text)) for cue in cues]
    return subtitles.to_string(format.value)


def _marked(text: str) -> str:
    placed = _PLACED.match(text)
    rest = text[placed.end() :] if placed else text
    # A brace would begin a command.
    rest = rest.replace("{", "(").replace("}", ")")
    return (placed[0] if placed else "") + _TAG.sub(_command, normal_text(rest)).replace("\n", "\\N")


def _command(match: re.Match[str]) -> str:
    name = match[1].lower()
    if name not in {"i", "b", "u", "s"}:
        return ""
    return f"{{\\{name}{0 if match[0].startswith('</') else 1}}}"


def declared_versions(text: str) -> Iterator[str]:
    """The versions that a file says it is in; one without any is of the newer one."""
    for match in re.finditer(r"^ScriptType:\s*(\S+)", text, re.MULTILINE | re.IGNORECASE):
        yield match[1].lower()
