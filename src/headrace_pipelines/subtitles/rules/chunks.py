"""Which cues are translated together.

A chunk ends where the film takes a breath, because a sentence that is cut in two is translated twice wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headrace_pipelines.services.language_model.tokens import estimated_tokens
from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.marks import visible
from headrace_pipelines.subtitles.rules.writing import scripts_of

MOST_CUES = 100
SCENE_GAP = 2_500
"""Milliseconds without a word."""
MOST_TOKENS = 8_000
SHARE_OF_LIMIT = 0.8
BEFORE = 6
AFTER = 3

_PER_LINE = 12
"""Tokens of the JSON around a text."""
_OVERHEAD = 900
"""Tokens of what is said besides the lines: instructions, glossary, context."""
_SHORTEST = 0.6
"""A chunk is not cut shorter than this share of what would fit, however good the place is."""
_SENTENCE_END = re.compile(r"[.!?…。！？؟।][\"'”’»)\]♪\s]*\Z")  # noqa: RUF001 - sentences end so in Chinese


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A cue as the translator sees it; when it is shown is nobody else's business."""

    id: int
    """The place of the cue in its document, from 1; the same in every chunk, prompt, answer and checkpoint."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    number: int
    """From 1."""
    lines: tuple[Line, ...]
    before: tuple[Line, ...] = ()
    """What was said just before, for the context."""
    after: tuple[Line, ...] = ()


def token_budget(model_limit: int | None) -> int:
    """How many tokens question and answer may take together."""
    return MOST_TOKENS if model_limit is None else min(int(model_limit * SHARE_OF_LIMIT), MOST_TOKENS)


def answer_tokens(lines: Sequence[Line], target: str) -> int:
    """About what the translation of these lines takes."""
    return sum(_PER_LINE + _translated(line.text, target) for line in lines)


def divide(
    cues: Sequence[Cue],
    *,
    target: str,
    model_limit: int | None = None,
    most_cues: int = MOST_CUES,
    overhead: int = _OVERHEAD,
) -> tuple[Chunk, ...]:
    """All cues, each in one chunk, in their order. A cue that alone is over the budget is a chunk alone."""
    room = max(token_budget(model_limit) - overhead, 1)
    lines = [Line(id=place, text=cue.text) for place, cue in enumerate(cues, 1)]
    sizes = [estimated_tokens(line.text) + answer_tokens([line], target) + _PER_LINE for line in lines]
    chunks: list[Chunk] = []
    start = 0
    while start < len(lines):
        end = _end(cues, start, _fitting(sizes, start, room, most_cues))
        chunks.append(
            Chunk(
                number=len(chunks) + 1,
                lines=tuple(lines[start:end]),
                before=tuple(lines[max(0, start - BEFORE) : start]),
                after=tuple(lines[end : end + AFTER]),
            )
        )
        start = end
    return tuple(chunks)


def _fitting(sizes: Sequence[int], start: int, room: int, most: int) -> int:
    end, used = start, 0
    while end < len(sizes) and end - start < most and (end == start or used + sizes[end] <= room):
        used += sizes[end]
        end += 1
    return end


def _end(cues: Sequence[Cue], start: int, limit: int) -> int:
    """The best place to stop at or shortly before the limit: between scenes, else after a sentence."""
    if limit >= len(cues):
        return limit
    shortest = start + max(1, int((limit - start) * _SHORTEST))
    places = range(limit, shortest - 1, -1)
    between_scenes = (place for place in places if cues[place].start - cues[place - 1].end >= SCENE_GAP)
    after_sentence = (place for place in places if _SENTENCE_END.search(visible(cues[place - 1].text)))
    return next(between_scenes, None) or next(after_sentence, None) or limit


def _translated(text: str, target: str) -> int:
    # Letters that are not Latin are a token each at worst; Latin ones need more than English, which tokenisers know best.
    if scripts_of(target) == ("Latn",):
        return -(-estimated_tokens(text) * 3 // 2)
    return len(text)
