"""MicroDVD counts frames, so that its times are known only with the frame rate of the video for which it was made."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

from .reading import Oddities, Reading, lines_of, normal_text

_LINE = re.compile(r"\s*\{\s*([0-9]{1,9})\s*\}\s*\{\s*([0-9]{0,9})\s*\}(.*)[\r\n]*")
_CODE = re.compile(r"\{[A-Za-z]:[^{}]*\}")
_ITALIC = re.compile(r"^\{([Yy]):[^{}]*i[^{}]*\}")
_TAGS = re.compile(r"</?[a-z][^<>]*>|\{\\[^{}]*\}", re.IGNORECASE)
_LONGEST_WITHOUT_END = 4000


def read(text: str, fps: float | None = None) -> Reading:
    """A rate that the file declares in its first line, ``{1}{1}23.976``, goes before the one given."""
    odd = Oddities()
    rows = [match.groups() for line in lines_of(text.lstrip("\ufeff")) if (match := _LINE.fullmatch(line))]
    declared = _declared(rows)
    rate = declared or fps
    if rate is None or not 1 <= rate <= 1000:
        raise NotASubtitle(
            Unfit.NO_FRAME_RATE, "MicroDVD counts frames, and neither the file nor the caller tells the rate"
        )
    cues = []
    for number, (start, end, words) in enumerate(rows[1:] if declared else rows):
        begin = round(int(start) * 1000 / rate)
        finish = round(int(end) * 1000 / rate) if end else _end_before(rows, number + bool(declared), begin, rate)
        text_of_cue = _plain(words)
        if text_of_cue.strip():
            cues.append(Cue(start=begin, end=finish, text=text_of_cue))
        else:
            odd.note("a cue without text was left out")
    return Reading(tuple(cues), odd.warnings())


def _declared(rows: list[tuple[str, ...]]) -> float | None:
    if not rows or rows[0][0] not in {"0", "1"} or rows[0][1] not in {"0", "1"}:
        return None
    try:
        return float(rows[0][2].replace(",", "."))
    except ValueError:
        return None


def _end_before(rows: list[tuple[str, ...]], number: int, begin: int, rate: float) -> int:
    longest = begin + _LONGEST_WITHOUT_END
    if number + 1 == len(rows):
        return longest
    return min(longest, round(int(rows[number + 1][0]) * 1000 / rate))


def _plain(words: str) -> str:
    lines = []
    for line in words.split("|"):
        italic = _ITALIC.match(line)
        plain = _CODE.sub("", line).strip()
        # A lower-case code is for its line, an upper-case one for all that follow; a slash is how others write italics.
        if plain.startswith("/") and len(plain) > 1:
            plain, italic = plain.strip("/"), _ITALIC.match("{y:i}")
        lines.append((plain, italic[1] if italic else ""))
    everything = bool(lines) and lines[0][1] == "Y"
    if everything:
        return f"<i>{normal_text(chr(10).join(line for line, _ in lines))}</i>"
    return normal_text("\n".join(f"<i>{line}</i>" if code and line else line for line, code in lines))


def write(cues: Iterable[Cue], fps: float | None) -> str:
    if not fps:
        raise ValueError("MicroDVD counts frames: it can be written only with the frame rate of the video, `fps`")
    rows = [f"{{1}}{{1}}{fps:g}"]
    for cue in cues:
        lines = normal_text(cue.text).split("\n")
        marked = "|".join(_marked(line) for line in lines)
        rows.append(f"{{{round(cue.start * fps / 1000)}}}{{{round(cue.end * fps / 1000)}}}{_whole(cue.text, marked)}")
    return "\n".join(rows) + "\n"


def _marked(line: str) -> str:
    plain = _TAGS.sub("", line).replace("|", "/")
    return f"{{y:i}}{plain}" if re.fullmatch(r"(?:\{\\[^{}]*\})*<i>.*</i>", line) else plain


def _whole(text: str, marked: str) -> str:
    """Italic from the first line to the last is one code, not one for each line."""
    is_whole = re.fullmatch(r"(?:\{\\[^{}]*\})*<i>(?:(?!</?i>).)*</i>", text, re.DOTALL) and "{y:i}" not in marked
    return f"{{Y:i}}{marked}" if is_whole else marked
