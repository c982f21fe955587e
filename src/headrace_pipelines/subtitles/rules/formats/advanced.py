"""SubStation Alpha, in both versions. Positions and plain styles are kept as SRT has them; karaoke and drawings are not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from headrace_pipelines.subtitles.model import Cue, Format
from headrace_pipelines.subtitles.rules.packages import extra
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

from .reading import Oddities, Reading, normal_text

with extra():
    import pysubs2
    from pysubs2.formats.substation import parse_tags

_ALIGNMENT = re.compile(r"\\an([1-9])")
_OLD_ALIGNMENT = re.compile(r"\\a([0-9]{1,2})(?![0-9a-z])")
_BREAK = re.compile(r"\\[Nn]")
_TAG = re.compile(r"</?([a-z]+)[^<>]*>", re.IGNORECASE)
_PLACED = re.compile(r"^\{\\an[1-9]\}")
_STYLES = (("i", "italic"), ("b", "bold"), ("u", "underline"))
_BOTTOM = 2


def read(text: str, format: Format) -> Reading:
    odd = Oddities()
    try:
        subtitles = pysubs2.SSAFile.from_string(text, format_=format.value)
    except (pysubs2.Pysubs2Error, ValueError, KeyError, IndexError) as error:
        raise NotASubtitle(Unfit.DAMAGED, f"it begins as {format.value}, and then: {error}") from error
    cues = []
    for event in subtitles.events:
        if event.is_comment:
            continue
        words = _text(event, subtitles)
        if words.strip():
            cues.append(Cue(start=event.start, end=event.end, text=words))
        else:
            odd.note("a cue without text, or a drawing, was left out")
    # Editors of this format keep events in any order.
    return Reading(tuple(sorted(cues, key=lambda cue: (cue.start, cue.end))), odd.warnings())


def _text(event: pysubs2.SSAEvent, subtitles: pysubs2.SSAFile) -> str:
    base = subtitles.styles.get(event.style, pysubs2.SSAStyle.DEFAULT_STYLE)
    pieces = []
    for fragment, style in parse_tags(event.text, base, subtitles.styles):
        if style.drawing or not fragment:
            continue
        # All lines of a bold style are not stressed, but all lines of an italic one are: it is for voices off.
        tags = [tag for tag, name in _STYLES if getattr(style, name) and (tag == "i" or not getattr(base, name))]
        words = _BREAK.sub("\n", fragment).replace("\\h", "\u00a0")
        pieces.append("".join(f"<{tag}>" for tag in tags) + words + "".join(f"</{tag}>" for tag in reversed(tags)))
    words = normal_text(_joined("".join(pieces)))
    where = _alignment(event.text, int(base.alignment))
    return f"{{\\an{where}}}{words}" if words.strip() and where != _BOTTOM else words


def _joined(text: str) -> str:
    """Without a tag that ends where it begins again."""
    return re.sub(r"</([ibu])>(\s*)<\1>", r"\2", text)


def _alignment(text: str, by_style: int) -> int:
    if match := _ALIGNMENT.search(text):
        return int(match[1])
    if match := _OLD_ALIGNMENT.search(text):
        # 1 to 3 at the bottom, 5 to 7 at the top, 9 to 11 in the middle.
        return {5: 7, 6: 8, 7: 9, 9: 4, 10: 5, 11: 6}.get(
            int(match[1]), int(match[1]) if match[1] in "123" else _BOTTOM
        )
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
