from __future__ import annotations

import json
from datetime import timedelta

import httpx2
import pytest
from pydantic import JsonValue, SecretStr

from headrace.testing import VirtualClock
from headrace_pipelines.services.language_model.live import GeminiModel, OpenAiModel
from headrace_pipelines.services.language_model.port import Message, Prompt
from headrace_pipelines.services.language_model.stand_in import LocalLanguageModel
from headrace_pipelines.services.stand_in_server import HEADER

LINES = {"into": "Hebrew", "lines": [{"id": 1, "text": "ab"}, {"id": 2, "text": "cd"}, {"id": 3, "text": "ef"}]}
PROMPT = Prompt(messages=(Message(text=json.dumps(LINES)),))


async def items(server: LocalLanguageModel, clock: VirtualClock) -> JsonValue:
    async with OpenAiModel(url=server.url, model="stand-in", clock=clock) as model:
        answer = (await model.complete(PROMPT)).json()
    assert isinstance(answer, dict)
    return answer["items"]


async def test_lines_are_translated_letter_by_letter_by_either_protocol(
    server: LocalLanguageModel, clock: VirtualClock
) -> None:
    """The whole pipeline can be seen at work without an account."""
    async with (
        OpenAiModel(url=server.url, model="stand-in", clock=clock) as one,
        GeminiModel(url=server.url, model="stand-in", key=SecretStr("k"), clock=clock) as other,
    ):
        answers = [(await model.complete(PROMPT)).json() for model in (one, other)]

    expected = {"items": [{"id": 1, "text": "אב"}, {"id": 2, "text": "גד"}, {"id": 3, "text": "הו"}]}
    assert answers == [expected, expected]
    assert [question.protocol for question in server.questions] == ["openai", "gemini"]
    assert server.questions[0].ids == (1, 2, 3)


async def test_lines_go_wrong_as_told(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """Each trouble is a story that a test tells in a word, and over when it has happened."""
    server.drops(2)
    assert await items(server, clock) == [{"id": 1, "text": "אב"}, {"id": 3, "text": "הו"}]
    server.merges(1)
    assert await items(server, clock) == [{"id": 1, "text": "אב גד"}, {"id": 3, "text": "הו"}]
    server.repeats(3)
    assert await items(server, clock) == [
        {"id": 1, "text": "אב"},
        {"id": 2, "text": "גד"},
        {"id": 3, "text": "הו"},
        {"id": 3, "text": "הו"},
    ]
    server.says(2, "")
    assert await items(server, clock) == [{"id": 1, "text": "אב"}, {"id": 2, "text": ""}, {"id": 3, "text": "הו"}]
    server.fences()
    assert await items(server, clock) == await items(server, clock)


async def test_a_trouble_may_be_for_some_questions_only(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """`fails(line=900)` is the chunk with line 900, however the film was divided."""
    here, elsewhere = server.fails(line=2), server.fails(line=99)
    other_model = server.drops(2, model="large")

    async with httpx2.AsyncClient(base_url=server.url) as client:
        body = {"model": "stand-in", "messages": [{"role": "user", "content": json.dumps(LINES)}]}
        failed = await client.post("/v1/chat/completions", json=body)
        here.lift()
        good = await client.post("/v1/chat/completions", json=body)

    assert (failed.status_code, good.status_code) == (500, 200)
    assert failed.headers[HEADER] == good.headers[HEADER] == "language model"
    assert (here.happened, elsewhere.happened, other_model.happened) == (1, 0, 0)


async def test_an_answer_can_be_written_by_the_test(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """Other pipelines have other questions."""
    server.answers('["Reds"]', holding="Liverpool")

    async with OpenAiModel(url=server.url, model="stand-in", clock=clock) as model:
        told = await model.complete(Prompt(messages=(Message(text="Aliases of Liverpool?"),)))
        free = await model.complete(Prompt(messages=(Message(text="Aliases of Mali?"),)))

    assert told.json() == ["Reds"]
    assert free.text == "Aliases of Mali?"


async def test_a_slow_model_answers_when_the_clock_says_so(
    server: LocalLanguageModel, clock: VirtualClock, through: object
) -> None:
    """Ten minutes for a chunk take no time in a test."""
    assert callable(through)
    server.is_slow(timedelta(minutes=10), times=1)

    assert await through(items(server, clock)) == await items(server, clock)

    assert clock.monotonic() == 600


async def test_it_says_which_models_it_has_and_that_it_is_well(server: LocalLanguageModel) -> None:
    """llama.cpp and its kin are asked that before anything else."""
    async with httpx2.AsyncClient(base_url=server.url) as client:
        assert (await client.get("/health")).json() == {"status": "ok"}
        assert [model["id"] for model in (await client.get("/v1/models")).json()["data"]] == ["stand-in"]


async def test_what_is_asked_is_counted(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """Scenario 20 counts calls; a refused one is a call too, but no question."""
    await items(server, clock)
    async with OpenAiModel(url=server.url, model="gone", clock=clock) as model:
        with pytest.raises(Exception, match="does not exist"):
            await model.complete(PROMPT)

    assert (len(server.asked), len(server.questions), server.most_at_once) == (2, 1, 1)
