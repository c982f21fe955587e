from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from pydantic import SecretStr

from headrace import Retry, flow, step, use
from headrace.errors import RateLimited, ServiceUnavailable
from headrace.testing import Harness, VirtualClock
from headrace_pipelines.services.language_model.live import GeminiModel, OpenAiModel, Price
from headrace_pipelines.services.language_model.port import Answer, ContextTooLong, Finish, Prompt, QuotaUsedUp
from headrace_pipelines.services.language_model.stand_in import LocalLanguageModel, pseudo_translate
from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.answers import Problem
from headrace_pipelines.subtitles.rules.checkpoints import Checkpoint, accepted_in, checkpoint, content_key
from headrace_pipelines.subtitles.rules.chunks import Chunk, Line, divide
from headrace_pipelines.subtitles.rules.languages import english_name
from headrace_pipelines.subtitles.rules.prompts import Brief
from headrace_pipelines.subtitles.rules.repair import Verdict, allowed, verdict
from headrace_pipelines.subtitles.translation import Asking, ChunkResult, Effort, translate_chunk

english_name("he")  # it reads its tables when it is asked first, and flows read no files

Film = Callable[[int], tuple[Cue, ...]]
BRIEF = Brief(source="en", target="he", title="The Long Night", year=1946)


@pytest.fixture
async def server() -> AsyncIterator[LocalLanguageModel]:
    async with LocalLanguageModel(models=("small", "large"), clock=VirtualClock()) as running:
        yield running


@pytest.fixture
async def small(server: LocalLanguageModel) -> AsyncIterator[OpenAiModel]:
    async with OpenAiModel(url=server.url, model="small", clock=VirtualClock()) as model:
        yield model


@pytest.fixture
async def large(server: LocalLanguageModel) -> AsyncIterator[OpenAiModel]:
    async with OpenAiModel(url=server.url, model="large", clock=VirtualClock()) as model:
        yield model


def hebrew(chunk: Chunk) -> dict[int, str]:
    return {line.id: pseudo_translate(line.text, "Hebrew") for line in chunk.lines}


async def test_a_chunk_is_translated_with_one_question(
    server: LocalLanguageModel, small: OpenAiModel, film: Film
) -> None:
    """All cues, tags kept, and what it took."""
    chunk = divide(film(100), target="he")[0]

    result = await translate_chunk([small.complete], chunk, BRIEF)

    assert result.texts == result.accepted == hebrew(chunk)
    assert (result.flagged, result.questions) == ({}, 1)
    assert result.usage.completion_tokens > 1_000
    assert "The Long Night (1946)" in server.questions[0].system


async def test_gemini_translates_as_well(server: LocalLanguageModel, film: Film) -> None:
    """The schema, the thoughts and the finish reasons are another protocol's."""
    chunk = divide(film(20), target="he")[0]
    async with GeminiModel(url=server.url, model="large", key=SecretStr("k"), clock=VirtualClock()) as model:
        result = await translate_chunk([model.complete], chunk, BRIEF)

    assert result.texts == hebrew(chunk)


async def test_what_has_no_words_is_not_sent(server: LocalLanguageModel, small: OpenAiModel) -> None:
    """Models invent words for notes and numbers."""
    texts = ("♪ ♪", "Hello.", "1945", "")
    chunk = Chunk(number=1, lines=tuple(Line(id=place, text=text) for place, text in enumerate(texts, 1)))

    result = await translate_chunk([small.complete], chunk, BRIEF)

    assert server.questions[0].ids == (2,)
    assert result.texts == {**dict(enumerate(texts, 1)), 2: pseudo_translate("Hello.", "Hebrew")}
    assert result.flagged == {}


async def test_music_alone_needs_no_model() -> None:
    """A chunk of nothing but notes costs nothing."""

    async def never(_: Prompt) -> Answer:
        raise AssertionError

    result = await translate_chunk([never], Chunk(number=1, lines=(Line(id=1, text="♪"),)), BRIEF)

    assert (result.texts, result.questions) == ({1: "♪"}, 0)


# --- the ladder --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["drops", "repeats", "merges"])
async def test_a_bad_line_of_the_second_chunk_costs_one_more_question(
    server: LocalLanguageModel, small: OpenAiModel, film: Film, wrong: str
) -> None:
    """It left the whole chunk untranslated (O7)."""
    chunk = divide(film(250), target="he")[1]
    getattr(server, wrong)(150)

    result = await translate_chunk([small.complete], chunk, BRIEF)

    assert result.texts == hebrew(chunk)
    assert result.questions == 2
    assert 150 in server.questions[1].ids
    assert len(server.questions[1].ids) <= 4


@pytest.mark.parametrize("said", ["", "Hello", "<i>שלום</i>", "שלום " * 60])
async def test_an_answer_that_is_no_translation_is_asked_for_again(
    server: LocalLanguageModel, small: OpenAiModel, film: Film, said: str
) -> None:
    """Whatever is wrong with it, only the bad line is paid for twice."""
    chunk = divide(film(20), target="he")[0]
    server.says(7, said)

    result = await translate_chunk([small.complete], chunk, BRIEF)

    assert (result.texts, result.questions) == (hebrew(chunk), 2)


async def test_talk_instead_of_json_is_asked_for_again(
    server: LocalLanguageModel, small: OpenAiModel, film: Film
) -> None:
    """And a fence is not talk."""
    chunk = divide(film(20), target="he")[0]
    server.talks()
    server.fences(times=2)

    result = await translate_chunk([small.complete], chunk, BRIEF)

    assert (result.texts, result.questions) == (hebrew(chunk), 2)


async def test_a_cut_answer_is_halved_and_nothing_of_it_is_taken(
    server: LocalLanguageModel, small: OpenAiModel, film: Film
) -> None:
    """Scenario 23; a truncated answer was parsed anyway (O24)."""
    chunk = divide(film(100), target="he")[0]
    whole = await translate_chunk([small.complete], chunk, BRIEF)
    server.questions.clear()
    server.is_cut(int(whole.usage.completion_tokens * 0.6))

    result = await translate_chunk([small.complete], chunk, BRIEF)

    assert result.texts == hebrew(chunk)
    assert [question.ids for question in server.questions] == [
        tuple(range(1, 101)),
        tuple(range(1, 51)),
        tuple(range(51, 101)),
    ]


async def test_a_model_whose_answers_are_always_cut_gets_smaller_questions(small: OpenAiModel, film: Film) -> None:
    """Some servers have a limit of their own and do not tell."""
    chunk = divide(film(100), target="he")[0]
    limit = 600

    async def stingy(prompt: Prompt) -> Answer:
        answer = await small.complete(prompt)
        if answer.usage.completion_tokens <= limit:
            return answer
        return Answer(text=answer.text[:200], finish=Finish.LENGTH, model=answer.model)

    assert (await translate_chunk([stingy], chunk, BRIEF)).texts == hebrew(chunk)


async def test_more_than_the_model_holds_is_asked_in_parts(film: Film) -> None:
    """Our estimate of tokens is an estimate."""
    chunk = divide(film(100), target="he")[0]
    async with (
        LocalLanguageModel(context_tokens=6_000, clock=VirtualClock()) as server,
        OpenAiModel(url=server.url, model="stand-in", clock=VirtualClock()) as model,
    ):
        result = await translate_chunk([model.complete], chunk, BRIEF)
        refused = len(server.asked) - len(server.questions)

    assert result.texts == hebrew(chunk)
    assert refused >= 1


async def test_a_small_model_is_never_asked_for_more_than_it_holds(film: Film) -> None:
    """With a known limit no question has to be refused."""
    async with (
        LocalLanguageModel(context_tokens=4_096, clock=VirtualClock()) as server,
        OpenAiModel(url=server.url, model="stand-in", clock=VirtualClock()) as model,
    ):
        for chunk in divide(film(150), target="he", model_limit=4_096):
            result = await translate_chunk([model.complete], chunk, BRIEF, effort=Effort(model_limit=4_096))
            assert result.texts == hebrew(chunk)

        assert len(server.asked) == len(server.questions)


async def test_a_line_that_the_model_refuses_goes_to_the_other_one(
    server: LocalLanguageModel, small: OpenAiModel, large: OpenAiModel, film: Film
) -> None:
    """A film has lines that a filter dislikes, and it is no reason to lose the others."""
    chunk = divide(film(16), target="he")[0]
    server.declines(times=5, holding='"id": 7,')

    result = await translate_chunk([small.complete, large.complete], chunk, BRIEF)

    assert result.texts == hebrew(chunk)
    assert [question.ids for question in server.questions if question.model == "large"] == [(7,)]


async def test_a_hopeless_line_keeps_its_original_and_is_flagged(
    server: LocalLanguageModel, small: OpenAiModel, large: OpenAiModel, film: Film
) -> None:
    """The last rung: nothing is invented, and whoever reads the report sees which line."""
    chunk = divide(film(100), target="he")[0]
    server.says(50, "no", times=None)

    result = await translate_chunk([small.complete, large.complete], chunk, BRIEF)

    assert result.texts == hebrew(chunk) | {50: chunk.lines[49].text}
    assert set(result.flagged) == {50}
    assert 50 not in result.accepted
    assert [(question.model, question.ids) for question in server.questions[1:]] == [
        ("small", (50,)),
        ("small", (50,)),
        ("large", (50,)),
    ]
    assert verdict(100, len(result.flagged)) is Verdict.WITH_WARNINGS


async def test_a_model_that_does_not_translate_is_given_up_soon(film: Film) -> None:
    """Two hundred questions for a chunk that cannot be done any more."""
    chunk = divide(film(100), target="he")[0]
    asked = 0

    async def echo(prompt: Prompt) -> Answer:
        nonlocal asked
        asked += 1
        return Answer(text='{"items": []}', finish=Finish.STOP, model="echo")

    result = await translate_chunk([echo], chunk, BRIEF, allowance=allowed(100))

    assert asked == result.questions < 20
    assert len(result.flagged) == 100
    assert verdict(100, len(result.flagged)) is Verdict.INCOMPLETE


async def test_a_bad_line_is_said_to_be_bad(small: OpenAiModel, film: Film, server: LocalLanguageModel) -> None:
    """The same words get the same answer."""
    chunk = divide(film(20), target="he")[0]
    server.says(7, "")

    await translate_chunk([small.complete], chunk, BRIEF)

    assert f'"mind": "{Problem.EMPTY}"' in server.questions[1].prompt
    assert f'"mind": "{Problem.BESIDE}"' in server.questions[1].prompt


# --- what is passed on -------------------------------------------------------------------------------------------------


async def test_an_unpaid_bill_is_passed_on_after_one_call(
    server: LocalLanguageModel, small: OpenAiModel, film: Film
) -> None:
    """It was retried like a rate limit (O24); whoever parks the jobs needs the reason."""
    server.is_unpaid()

    with pytest.raises(QuotaUsedUp, match="until somebody pays"):
        await translate_chunk([small.complete], divide(film(20), target="he")[0], BRIEF)

    assert len(server.asked) == 1


async def test_a_rate_limit_is_passed_on_with_its_time(
    server: LocalLanguageModel, small: OpenAiModel, film: Film
) -> None:
    """Scenario 24: the step waits, durably, and not the driver."""
    server.is_busy()

    with pytest.raises(RateLimited) as caught:
        await translate_chunk([small.complete], divide(film(20), target="he")[0], BRIEF)

    assert caught.value.retry_after is not None
    assert caught.value.retry_after.total_seconds() == 34


async def test_the_cost_is_that_of_all_questions(server: LocalLanguageModel, film: Film) -> None:
    """Repairs cost too."""
    price = Price(prompt=Decimal(1), completion=Decimal(2))
    server.drops(7)
    async with OpenAiModel(url=server.url, model="small", price=price, clock=VirtualClock()) as model:
        result = await translate_chunk([model.complete], divide(film(20), target="he")[0], BRIEF)

    counters = model.ledger.counters()
    assert result.questions == counters.requests == 2
    assert (result.cost, result.usage) == (counters.cost, counters.usage)


async def test_what_is_settled_is_not_asked_for(server: LocalLanguageModel, small: OpenAiModel, film: Film) -> None:
    """A job that failed with three flagged lines asks for three lines when it is tried again."""
    chunk = divide(film(20), target="he")[0]
    done = {number: text for number, text in hebrew(chunk).items() if number not in (4, 9)}

    result = await translate_chunk([small.complete], chunk, BRIEF, done=done)

    assert server.questions[0].ids == (4, 9)
    assert result.texts == result.accepted == hebrew(chunk)


async def test_earlier_translations_go_along_as_context(
    server: LocalLanguageModel, small: OpenAiModel, film: Film
) -> None:
    """Terms and tone are those of the chunk before."""
    first, second, _ = divide(film(250), target="he")

    await translate_chunk([small.complete], second, BRIEF, known=hebrew(first))

    assert hebrew(first)[97] in server.questions[0].prompt


async def test_room_for_thoughts_is_added(server: LocalLanguageModel, small: OpenAiModel, film: Film) -> None:
    """A model spent all its tokens on reasoning and answered nothing."""
    chunk = divide(film(20), target="he")[0]

    await translate_chunk([small.complete], chunk, BRIEF)
    await translate_chunk([small.complete], chunk, BRIEF, effort=Effort(reasoning_tokens=5_000, temperature=0.2))

    plain, thinking = server.questions
    assert plain.max_tokens is not None
    assert thinking.max_tokens == plain.max_tokens + 5_000
    assert ("temperature" in plain.body, thinking.body["temperature"]) == (False, 0.2)


# --- a whole film ------------------------------------------------------------------------------------------------------


class Job:
    """What a flow does, without a runtime: chunks side by side, a checkpoint for each at once."""

    def __init__(self, cues: tuple[Cue, ...], checkpoints: dict[str, Checkpoint]) -> None:
        self.chunks = divide(cues, target="he")
        self.checkpoints = checkpoints

    async def run(self, model: Asking, *, at_once: int = 6) -> dict[int, str]:
        slots = asyncio.Semaphore(at_once)

        async def one(chunk: Chunk) -> ChunkResult:
            key = content_key(chunk, BRIEF, model="small")
            done = accepted_in(self.checkpoints.get(key, Checkpoint(texts=())), chunk)
            async with slots:
                result = await translate_chunk([model], chunk, BRIEF, done=done)
            self.checkpoints[key] = checkpoint(chunk, result.accepted)
            return result

        results = await asyncio.gather(*(one(chunk) for chunk in self.chunks), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        good = [result for result in results if isinstance(result, ChunkResult)]
        return {number: text for result in good for number, text in result.texts.items()}


async def test_a_chunk_that_fails_for_ever_costs_no_other(
    server: LocalLanguageModel, small: OpenAiModel, film: Film
) -> None:
    """Scenario 20: 14 of 15 chunks are kept, and after the fault is lifted one call is enough (O6)."""
    job = Job(film(1_500), {})
    fault = server.fails(line=850)

    with pytest.raises(ServiceUnavailable):
        await job.run(small.complete)
    assert len(job.checkpoints) == 14

    fault.lift()
    asked = len(server.asked)
    another_job = Job(film(1_500), job.checkpoints)
    texts = await another_job.run(small.complete)

    assert len(server.asked) == asked + 1
    assert list(texts) == list(range(1, 1_501))
    assert texts == {number: text for chunk in job.chunks for number, text in hebrew(chunk).items()}


async def test_a_job_that_dies_goes_on_where_it_was(server: LocalLanguageModel, small: OpenAiModel, film: Film) -> None:
    """Scenario 21: chunks 1 to 7 are not asked for again, and the file is that of a job that never died."""
    died, uninterrupted = Job(film(1_500), {}), Job(film(1_500), {})
    whole = await uninterrupted.run(small.complete)
    server.asked.clear()

    async def until_the_seventh(prompt: Prompt) -> Answer:
        if len(server.asked) == 7:
            raise ConnectionAbortedError
        return await small.complete(prompt)

    with pytest.raises(ConnectionAbortedError):
        await died.run(until_the_seventh, at_once=1)
    server.questions.clear()
    texts = await Job(film(1_500), died.checkpoints).run(small.complete)

    assert len(server.questions) == 8
    assert min(number for question in server.questions for number in question.ids) == 701
    assert texts == whole


async def test_chunks_side_by_side_do_not_disturb_each_other(film: Film) -> None:
    """Six chunks shared what was last parsed (O9)."""
    async with LocalLanguageModel() as server, OpenAiModel(url=server.url, model="stand-in") as model:
        server.is_slow(timedelta(milliseconds=10))
        for number in (50, 150, 250, 350, 450, 550):
            server.drops(number)
            server.says(number + 20, "no")

        texts = await Job(film(600), {}).run(model.complete)

    assert texts == {number: text for chunk in divide(film(600), target="he") for number, text in hebrew(chunk).items()}
    assert server.most_at_once == 4
    assert len(server.questions) == 12


async def test_a_line_that_no_model_holds_is_flagged(film: Film) -> None:
    """It cannot be made shorter, and to ask for ever would be no help."""

    async def narrow(_: Prompt) -> Answer:
        raise ContextTooLong("too long")

    result = await translate_chunk([narrow, narrow], divide(film(2), target="he")[0], BRIEF)

    assert result.flagged == {1: Problem.CUT, 2: Problem.CUT}
    assert result.questions == 5


# --- inside a flow -----------------------------------------------------------------------------------------------------


class Ports:
    """Filled when the clock of the harness is there: client and runtime must have the same time."""

    model: OpenAiModel


@step(retry=Retry(on=ServiceUnavailable, attempts=2))
async def ask(prompt: Prompt) -> Answer:
    return await use(Ports).model.complete(prompt)


@flow
async def translate(chunk: Chunk, brief: Brief) -> ChunkResult:
    return await translate_chunk([ask], chunk, brief)


@pytest.fixture
async def harness(server: LocalLanguageModel) -> AsyncIterator[Harness]:
    ports = Ports()
    running = Harness(translate, ports=ports)
    async with OpenAiModel(url=server.url, model="small", clock=running.clock) as ports.model, running:
        yield running


async def test_a_flow_that_asks_by_steps_pays_for_no_answer_twice(
    server: LocalLanguageModel, harness: Harness, film: Film
) -> None:
    """The process dies between two questions of a repair; what was answered is in the journal."""
    chunk = divide(film(40), target="he")[0]
    server.drops(7)
    server.says(30, "", times=2)
    harness.crash_once(at="delivery.before", nth=2)

    result = await harness.run(translate, chunk, BRIEF)

    assert harness.crashes == 1
    assert result.texts == hebrew(chunk)
    assert [len(question.ids) for question in server.questions] == [40, 6, 3]


async def test_a_flow_waits_once_as_long_as_the_service_asks(
    server: LocalLanguageModel, harness: Harness, film: Film
) -> None:
    """Scenario 24: 34 s, by the runtime, and then the chunk goes on."""
    chunk = divide(film(40), target="he")[0]
    server.is_busy(retry_after=timedelta(seconds=34))

    result = await harness.run(translate, chunk, BRIEF)

    assert result.texts == hebrew(chunk)
    assert len(server.asked) == 2
    assert harness.elapsed == pytest.approx(timedelta(seconds=34), abs=timedelta(seconds=1))
