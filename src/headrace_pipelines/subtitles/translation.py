"""Has one chunk translated: asks, checks, and climbs down the ladder of repairs.

It knows neither clock nor runtime nor store and keeps nothing between calls. What is asked goes through the functions
that it is given; a flow may give it steps, and then no answer that was paid for is ever asked for twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from headrace_pipelines.services.language_model.port import (
    Answer,
    AnswerSchema,
    ContextTooLong,
    Finish,
    Message,
    Prompt,
    Usage,
)
from headrace_pipelines.services.language_model.tokens import estimated_tokens
from headrace_pipelines.subtitles.rules.answers import Problem, check
from headrace_pipelines.subtitles.rules.chunks import Chunk, answer_tokens
from headrace_pipelines.subtitles.rules.marks import has_words
from headrace_pipelines.subtitles.rules.prompts import SCHEMA, SCHEMA_NAME, Brief, system_text, user_text
from headrace_pipelines.subtitles.rules.repair import Ask, Repair, after_answer, after_cut, after_refusal, begin

Asking = Callable[[Prompt], Awaitable[Answer]]
"""``LanguageModel.complete``, or a step around it."""

_SPARE = 256
_SHORTEST_ANSWER = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How a model is asked."""

    temperature: float | None = None
    """None: as the model likes; reasoning models take none."""
    model_limit: int | None = None
    """Tokens that question and answer may take together; None: more than is ever needed."""
    reasoning_tokens: int = 0
    """So many more are allowed for an answer, for models that think in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkResult:
    texts: Mapping[int, str]
    """A text for every line of the chunk, the original where no translation was good enough."""
    accepted: Mapping[int, str]
    """Those of them that are translations, or need none."""
    flagged: Mapping[int, Problem]
    """Those that are not, and why."""
    questions: int
    usage: Usage = field(default_factory=Usage)
    cost: Decimal = Decimal(0)


async def translate_chunk(
    models: Sequence[Asking],
    chunk: Chunk,
    brief: Brief,
    *,
    done: Mapping[int, str] | None = None,
    known: Mapping[int, str] | None = None,
    allowance: int | None = None,
    effort: Effort | None = None,
) -> ChunkResult:
    """Ask the first of ``models``, and the others for single lines that it fails at.

    ``done`` are lines of this chunk that are accepted already, ``known`` are translations of lines around it; more than
    ``allowance`` lost lines end the attempt. What the service raises is passed on, apart from ``ContextTooLong``, which
    only means that less has to be asked at once.
    """
    effort = effort or Effort()
    settled = {line.id: line.text for line in chunk.lines if not has_words(line.text)} | dict(done or {})
    wanted = [line.id for line in chunk.lines if line.id not in settled]
    repair = begin(wanted, models=len(models), allowance=allowance)
    usage, cost = Usage(), Decimal(0)
    while (ask := repair.next) is not None:
        around = {**(known or {}), **settled, **repair.accepted}
        try:
            answer = await models[ask.model](_prompt(chunk, ask, brief, around, effort))
        except ContextTooLong:
            repair = after_cut(repair)
            continue
        usage, cost = usage + answer.usage, cost + (answer.cost or Decimal(0))
        repair = _learn(repair, answer, chunk, brief)
    return _result(chunk, settled, repair, usage, cost)


def _learn(repair: Repair, answer: Answer, chunk: Chunk, brief: Brief) -> Repair:
    ask = repair.pending[0]
    if answer.finish is Finish.LENGTH:
        return after_cut(repair)
    if answer.finish is Finish.REFUSED:
        return after_refusal(repair)
    asked = {line.id: line.text for line in chunk.lines if line.id in set(ask.ids)}
    return after_answer(repair, check(answer.text, asked, source=brief.source, target=brief.target))


def _prompt(chunk: Chunk, ask: Ask, brief: Brief, known: Mapping[int, str], effort: Effort) -> Prompt:
    system = system_text(brief)
    mind = {number: problem.value for number, problem in ask.problems.items()}
    user = user_text(chunk, ask.ids, brief, known=known, mind=mind)
    asked = set(ask.ids)
    expected = answer_tokens([line for line in chunk.lines if line.id in asked], brief.target)
    room = 2 * expected + _SPARE + effort.reasoning_tokens
    if effort.model_limit is not None:
        left = effort.model_limit - estimated_tokens(system) - estimated_tokens(user)
        room = max(min(room, left), _SHORTEST_ANSWER)
    return Prompt(
        system=system,
        messages=(Message(text=user),),
        answer=AnswerSchema(name=SCHEMA_NAME, schema=SCHEMA),
        max_tokens=room,
        temperature=effort.temperature,
    )


def _result(chunk: Chunk, settled: Mapping[int, str], repair: Repair, usage: Usage, cost: Decimal) -> ChunkResult:
    accepted = {**settled, **repair.accepted}
    return ChunkResult(
        texts={line.id: accepted.get(line.id, line.text) for line in chunk.lines},
        accepted=accepted,
        flagged=dict(repair.flagged),
        questions=repair.asked,
        usage=usage,
        cost=cost,
    )
