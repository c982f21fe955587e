"""Whether an answer is a translation of what was asked.

Lines are told apart by their ids alone, and an id is a place in the document: what stands in a text, and in which order
the lines come back, decides nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from headrace_pipelines.services.language_model.fence import without_fence
from headrace_pipelines.subtitles.rules.marks import cells, has_words, lines, marks, visible
from headrace_pipelines.subtitles.rules.writing import scripts_of, share_in_scripts

SHORTEST, LONGEST = 0.25, 3.5
LEAST_IN_SCRIPT = 0.5
MOST_LINES = 2

_JUDGED_FROM = 24
"""Narrower texts may grow by more: a "No." has no shorter translation in some languages."""
_WORDS_OF_A_SENTENCE = 4
_WORDS_THAT_ARE_NO_NAMES = 2
_WORDS_OF_A_REPETITION = 3
_LONGEST_ACRONYM = 5
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_BLANK_LINES = re.compile(r"\s*\n\s*")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class Problem(StrEnum):
    """Why a translation is not taken."""

    UNREADABLE = "the answer is not the JSON that was asked for"
    STRANGERS = "the answer has ids that were not asked for, so lines may have moved"
    MISSING = "it was left out"
    TWICE = "it was answered twice"
    EMPTY = "it is empty"
    BESIDE = "a line beside it was left out, so the two may have been put into one"
    REPEATED = "two different lines have the same translation"
    MARKS = "tags, positions, notes or dashes are not those of the original"
    LINES = "it has too many rows"
    LENGTH = "it is far too short or far too long"
    SCRIPT = "it is not in the letters of the language"
    UNTRANSLATED = "it is the original"
    CHARACTERS = "it has characters that no subtitle has"
    CUT = "the answer was cut off"
    REFUSED = "the model refused"
    NOT_TRIED = "too many other lines had failed already"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """Every id that was asked for is in one of the two."""

    accepted: Mapping[int, str]
    problems: Mapping[int, Problem]


def check(text: str, asked: Mapping[int, str], *, source: str, target: str) -> Checked:
    """Judge the answer to the lines ``asked``, which are originals by their ids."""
    answered = _items(text)
    if answered is None:
        return Checked(accepted={}, problems=dict.fromkeys(asked, Problem.UNREADABLE))
    if any(number not in asked for number, _ in answered):
        return Checked(accepted={}, problems=dict.fromkeys(asked, Problem.STRANGERS))
    count = Counter(number for number, _ in answered)
    said = {number: _tidied(text, asked[number]) for number, text in answered}
    problems = {number: _problem(asked[number], said.get(number), count[number], source, target) for number in asked}
    found = {number: problem for number, problem in problems.items() if problem is not None}
    if not _same_language(source, target):
        found |= _echoed(asked, said, found)
    found |= _repeated(asked, said, found)
    found |= _beside(asked, found)
    accepted = {number: said[number] for number in asked if number not in found}
    return Checked(accepted=accepted, problems={number: found[number] for number in asked if number in found})


def _items(text: str) -> list[tuple[int, str]] | None:
    """The ids and texts of an answer; None: that is not what was asked for."""
    try:
        answer = json.loads(without_fence(_THOUGHTS.sub("", text)))
    except (ValueError, RecursionError):
        return None
    items = answer.get("items") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        return None
    read = [_item(item) for item in items]
    good = [item for item in read if item is not None]
    return good if len(good) == len(read) else None


def _item(item: object) -> tuple[int, str] | None:
    if not isinstance(item, dict):
        return None
    number, text = item.get("id"), item.get("text")
    if isinstance(number, str) and re.fullmatch(r"[0-9]{1,9}", number):
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or not isinstance(text, str):
        return None
    return number, text


def _tidied(text: str, original: str) -> str:
    """Without blank rows, which would end a cue in the file, and without line feeds spelled out."""
    if "\\n" not in original:
        text = text.replace("\\r", "").replace("\\n", "\n")
    return _BLANK_LINES.sub("\n", text.replace("\r", "")).strip()


# --- one line ----------------------------------------------------------------------------------------------------------


def _problem(original: str, said: str | None, count: int, source: str, target: str) -> Problem | None:
    if said is None:
        return Problem.MISSING
    if count > 1:
        return Problem.TWICE
    if visible(original) and not visible(said):
        return Problem.EMPTY
    if _CONTROLS.search(said) or ("-->" in said and "-->" not in original):
        return Problem.CHARACTERS
    return _misshapen(original, said) or _untranslated(original, said, source, target)


def _misshapen(original: str, said: str) -> Problem | None:
    if marks(said) != marks(original):
        return Problem.MARKS
    if lines(said) > max(MOST_LINES, lines(original)):
        return Problem.LINES
    before, after = cells(original), cells(said)
    if max(before, after) >= _JUDGED_FROM and not SHORTEST * before <= after <= LONGEST * before:
        return Problem.LENGTH
    return None


def _untranslated(original: str, said: str, source: str, target: str) -> Problem | None:
    if not has_words(original):
        return None
    shown = _without_acronyms(visible(said), visible(original))
    share = share_in_scripts(shown, scripts_of(target))
    if share is not None and share < LEAST_IN_SCRIPT:
        return Problem.SCRIPT
    if not _same_language(source, target) and _is_echo(original, said) and _is_sentence(visible(original)):
        return Problem.UNTRANSLATED
    return None


def _without_acronyms(said: str, original: str) -> str:
    """FBI is FBI in every language, whatever its letters."""
    kept = {
        word
        for word in re.findall(r"\w+", original)
        if word.isupper() and word.isascii() and len(word) <= _LONGEST_ACRONYM
    }
    return re.sub(r"\w+", lambda word: "" if word[0] in kept else word[0], said)


def _same_language(source: str, target: str) -> bool:
    return source.split("-")[0] == target.split("-")[0]


def _is_echo(original: str, said: str) -> bool:
    return has_words(original) and visible(original).casefold() == visible(said).casefold()


def _is_sentence(text: str) -> bool:
    """Names, titles and short cries may be the same in two languages; sentences are not."""
    words = text.split()
    small = [word for word in words if word[0].islower()]
    return len(words) >= _WORDS_OF_A_SENTENCE or len(small) >= _WORDS_THAT_ARE_NO_NAMES


# --- several lines ----------------------------------------------------------------------------------------------------


def _echoed(asked: Mapping[int, str], said: Mapping[int, str], found: Mapping[int, Problem]) -> dict[int, Problem]:
    """One line may be the same in two languages; most lines of an answer are not."""
    echoes = [number for number in asked if number not in found and _is_echo(asked[number], said[number])]
    most = 2 * len(echoes) > sum(has_words(text) for text in asked.values())
    return dict.fromkeys(echoes, Problem.UNTRANSLATED) if most and len(echoes) > 1 else {}


def _repeated(asked: Mapping[int, str], said: Mapping[int, str], found: Mapping[int, Problem]) -> dict[int, Problem]:
    """Of lines that were put into one, models like to repeat the whole under both ids."""
    repeated: dict[int, Problem] = {}
    for number in asked:
        pair = (number, number + 1)
        if any(each not in said or each in found for each in pair):
            continue
        one, other = (visible(said[each]) for each in pair)
        same = one == other and len(one.split()) >= _WORDS_OF_A_REPETITION
        if same and visible(asked[pair[0]]).casefold() != visible(asked[pair[1]]).casefold():
            repeated |= dict.fromkeys(pair, Problem.REPEATED)
    return repeated


def _beside(asked: Mapping[int, str], found: Mapping[int, Problem]) -> dict[int, Problem]:
    gaps = {Problem.MISSING, Problem.EMPTY, Problem.TWICE}
    beside = {near for number, problem in found.items() if problem in gaps for near in (number - 1, number + 1)}
    return {number: Problem.BESIDE for number in asked if number in beside and number not in found}
