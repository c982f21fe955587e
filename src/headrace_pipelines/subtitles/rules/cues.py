"""What is right and wrong about the cues of a subtitle: what is mended, what is only told, and what is no subtitle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from itertools import pairwise

from headrace_pipelines.subtitles.model import Cue, Document

from .encoding import spoken
from .function_words import likely_language
from .unfit import NotASubtitle, Unfit
from .writing import scripts_of, share_in_scripts

DAY = 24 * 60 * 60 * 1000
SHORTEST, LONGEST = 830, 7000
MOST_LINES, WIDEST_LINE, FASTEST = 2, 42, 20
FEWEST_CUES, SMALLEST, LARGEST, LEAST_COVERAGE = 3, 1000, 5_000_000, 0.4
_ENOUGH_TO_JUDGE = 50
_SURE = 0.9

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
# What stands alone in place of a subtitle that a provider does not give away.
_REFUSAL = re.compile(
    r"(?:become|need to be|upgrade to|are not|only for)\b.{0,40}\bvip\b|vip (?:member|only)|"
    r"please (?:upgrade|update|use) .{0,40}(?:api|client|player)|api .{0,40}(?:is|was) (?:closed|discontinued|disabled)|"
    r"subtitles? (?:is|are) (?:not available|blocked)|opensubtitles\.com/(?:news|vip|support)",
    re.IGNORECASE | re.DOTALL,
)
# What stands before the first and after the last word of the film.
_ADVERT = re.compile(
    r"opensubtitles|osdb\.link|addic7ed|subscene|podnapisi|yify|\byts\b|tvsubtitles|subdivx|legendas\.?tv|napiprojekt|"
    r"titlovi\.com|titulky\.com|feliratok\.info|subdl\.com|sub(?:title)?s? ?source\.(?:com|net)|americascardroom|"
    r"advertise your product|support us and become|remove all ads|please rate this subtitle|help other users to choose|"
    r"watch (?:any video|movies?|tv series|online).{0,40}(?:online|free|subtitles)|"
    r"\b(?:https?://|www\.)\S+",
    re.IGNORECASE | re.DOTALL,
)
_CREDIT = re.compile(
    r"^[\W_]*(?:sync(?:ed|hronized)?|re-?sync(?:ed)?|corrected|corrections?|ripped|encoded|transcript|downloaded|subtitles?|"
    r"subtitled|captions?|captioned|translat(?:ed|ion))\b[^\n]{0,30}?\b(?:by|from)\b",
    re.IGNORECASE | re.MULTILINE,
)
_LOOKED_AT, _AT_ENDS = 5, 90_000


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Fault(StrEnum):
    """The value is the word that events and tables carry."""

    NO_CUE = "no_cue"
    ENDS_BEFORE_START = "ends_before_start"
    OUT_OF_ORDER = "out_of_order"
    BEYOND_A_DAY = "beyond_a_day"
    CONTROL_SIGNS = "control_signs"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    OVERLAP = "overlap"
    TOO_MANY_LINES = "too_many_lines"
    LINE_TOO_WIDE = "line_too_wide"
    TOO_FAST = "too_fast"


_ERRORS = {Fault.NO_CUE, Fault.ENDS_BEFORE_START, Fault.OUT_OF_ORDER, Fault.BEYOND_A_DAY, Fault.CONTROL_SIGNS}


@dataclass(frozen=True, slots=True)
class Finding:
    fault: Fault
    cue: int
    """Its number, from 1; 0 for the whole file."""
    details: str

    @property
    def severity(self) -> Severity:
        return Severity.ERROR if self.fault in _ERRORS else Severity.WARNING

    def __str__(self) -> str:
        return f"cue {self.cue}: {self.details}" if self.cue else self.details


# --- looking -----------------------------------------------------------------------------------------------------------


def examine(cues: Sequence[Cue]) -> tuple[Finding, ...]:
    """Everything that is wrong (errors, which `repair` mends) or hard to read (warnings)."""
    if not cues:
        return (Finding(Fault.NO_CUE, 0, "there is no cue in it"),)
    found = [finding for number, cue in enumerate(cues, 1) for finding in _about_one(number, cue)]
    for number, (one, following) in enumerate(pairwise(cues), 2):
        if following.start < one.start:
            found.append(Finding(Fault.OUT_OF_ORDER, number, "it begins before the cue in front of it"))
        elif following.start < one.end:
            overlap = one.end - following.start
            found.append(Finding(Fault.OVERLAP, number, f"it begins {overlap} ms before the one in front of it ends"))
    return tuple(sorted(found, key=lambda finding: finding.cue))


def _about_one(number: int, cue: Cue) -> list[Finding]:
    found = []
    length = cue.end - cue.start
    if length <= 0:
        found.append(Finding(Fault.ENDS_BEFORE_START, number, f"it ends {-length} ms before it begins"))
    elif length < SHORTEST:
        found.append(Finding(Fault.TOO_SHORT, number, f"it is shown for {length} ms; {SHORTEST} can be read"))
    elif length > LONGEST:
        found.append(Finding(Fault.TOO_LONG, number, f"it is shown for {length / 1000:.1f} s"))
    if max(cue.start, cue.end) > DAY:
        found.append(Finding(Fault.BEYOND_A_DAY, number, "it lies beyond the 24th hour"))
    if _CONTROL.search(cue.text):
        found.append(Finding(Fault.CONTROL_SIGNS, number, "it holds control characters"))
    lines = plain_text(cue).split("\n")
    if len(lines) > MOST_LINES:
        found.append(Finding(Fault.TOO_MANY_LINES, number, f"it has {len(lines)} lines"))
    widest = max(map(len, lines))
    if widest > WIDEST_LINE:
        found.append(Finding(Fault.LINE_TOO_WIDE, number, f"a line has {widest} characters"))
    speed = sum(map(len, lines)) * 1000 / length if length > 0 else 0
    if speed > FASTEST:
        found.append(Finding(Fault.TOO_FAST, number, f"{speed:.0f} characters have to be read in a second"))
    return found


def plain_text(cue: Cue) -> str:
    """What is seen: the text without tags and positions."""
    return _MARKUP.sub("", cue.text)


# --- mending -----------------------------------------------------------------------------------------------------------


def repair(document: Document) -> Document:
    """Mend every error that `examine` can find; what was done is added to the warnings. Mending twice changes nothing."""
    notes: list[str] = []
    cues = [cue for cue in document.cues if max(cue.start, cue.end) <= DAY]
    _note(notes, len(document.cues) - len(cues), "beyond the 24th hour, left out")
    clean = [replace(cue, text=_CONTROL.sub("", cue.text)) for cue in cues]
    _note(notes, sum(one != other for one, other in zip(cues, clean, strict=True)), "with control characters, removed")
    spoken_cues = [cue for cue in clean if plain_text(cue).strip()]
    _note(notes, len(clean) - len(spoken_cues), "without text, left out")
    ordered = sorted(spoken_cues, key=lambda cue: cue.start)
    moved = sum(following.start < one.start for one, following in pairwise(spoken_cues))
    _note(notes, moved, "that began before the one in front of it, sorted")
    mended = tuple(_with_an_end(ordered))
    _note(
        notes, sum(one != other for one, other in zip(ordered, mended, strict=True)), "without a valid end, given one"
    )
    return replace(document, cues=mended, warnings=document.warnings + tuple(notes))


def _note(notes: list[str], count: int, what: str) -> None:
    if count:
        notes.append(f"{count} cue{'s' if count > 1 else ''} {what}")


def _with_an_end(cues: Sequence[Cue]) -> list[Cue]:
    """An end that is missing comes when the text can have been read, or when the next one begins."""
    starts = sorted({cue.start for cue in cues})
    after = dict(pairwise(starts))
    mended = []
    for cue in cues:
        if cue.end <= cue.start:
            needed = max(SHORTEST, len(plain_text(cue)) * 1000 // FASTEST)
            cue = replace(cue, end=min(cue.start + needed, after.get(cue.start, DAY), max(DAY, cue.start + 1)))
        mended.append(cue)
    return mended


# --- refusing ----------------------------------------------------------------------------------------------------------


def refuse_unfit(
    document: Document, *, size: int, language: str, duration: timedelta | None = None, forced: bool = False
) -> None:
    """Raise `NotASubtitle` for what a provider gave instead of one; forced subtitles may be as short as they like."""
    cues = document.cues
    if size > LARGEST:
        raise NotASubtitle(Unfit.TOO_LARGE, f"it has {size:,} bytes, and {LARGEST:,} is the limit")
    if _is_refusal(cues):
        raise NotASubtitle(Unfit.ADVERT, f"the provider tells something instead: {cues[0].text[:80]!r}")
    if not cues:
        raise NotASubtitle(Unfit.TOO_FEW_CUES, "there is no cue in it")
    if not forced:
        _refuse_scraps(cues, size, duration)
    _refuse_other_language(cues, language)


def _is_refusal(cues: Sequence[Cue]) -> bool:
    text = "\n".join(plain_text(cue) for cue in cues)
    return len(cues) <= _LOOKED_AT and bool(_REFUSAL.search(text) or (cues and all(map(_is_advert, cues))))


def _refuse_scraps(cues: Sequence[Cue], size: int, duration: timedelta | None) -> None:
    if len(cues) < FEWEST_CUES:
        raise NotASubtitle(Unfit.TOO_FEW_CUES, f"it has {len(cues)} cues; {FEWEST_CUES} are the least")
    if size < SMALLEST:
        raise NotASubtitle(Unfit.TOO_SMALL, f"it has {size} bytes; {SMALLEST} are the least")
    if duration and (share := coverage(cues, duration)) < LEAST_COVERAGE:
        raise NotASubtitle(
            Unfit.TOO_SHORT,
            f"from its first cue to its last it covers {share:.0%} of the video; {LEAST_COVERAGE:.0%} is the least",
        )


def coverage(cues: Sequence[Cue], duration: timedelta) -> float:
    """From the beginning of the first cue to the end of the last one, as a share of the video."""
    length = duration / timedelta(milliseconds=1)
    if not cues or length <= 0:
        return 0.0
    return (max(cue.end for cue in cues) - min(cue.start for cue in cues)) / length


def _refuse_other_language(cues: Sequence[Cue], language: str) -> None:
    if len(cues) <= _ENOUGH_TO_JUDGE:
        return
    text = spoken("\n".join(plain_text(cue) for cue in cues))
    share = share_in_scripts(text, scripts_of(language))
    if share is not None and share < 1 - _SURE:
        raise NotASubtitle(Unfit.WRONG_LANGUAGE, f"{share:.0%} of its letters are those of {language!r}")
    guess = likely_language(text, language)
    if guess is not None and guess.confidence > _SURE:
        raise NotASubtitle(Unfit.WRONG_LANGUAGE, f"{language!r} was wanted, and it reads like {guess.language!r}")


# --- adverts -----------------------------------------------------------------------------------------------------------


def without_adverts(cues: Sequence[Cue]) -> tuple[Cue, ...]:
    """Without what sites put before the first and after the last word of a film; what stands in between is never touched."""
    if not cues:
        return ()
    first, last = cues[0].start, cues[-1].end
    head = [position for position in range(min(_LOOKED_AT, len(cues))) if cues[position].start - first < _AT_ENDS]
    tail = [
        position
        for position in range(max(0, len(cues) - _LOOKED_AT), len(cues))
        if last - cues[position].end < _AT_ENDS
    ]
    gone = {position for position in (*head, *tail) if _is_advert(cues[position])}
    return tuple(cue for position, cue in enumerate(cues) if position not in gone)


def _is_advert(cue: Cue) -> bool:
    text = plain_text(cue)
    return bool(_ADVERT.search(text) or _CREDIT.search(text))
