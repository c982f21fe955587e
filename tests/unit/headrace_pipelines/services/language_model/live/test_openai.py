from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from pydantic import JsonValue, SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headrace.errors import RateLimited, ServiceError, ServiceRefused, ServiceUnavailable, UnexpectedAnswer
from headrace.testing import VirtualClock
from headrace_pipelines.services.language_model.live import Dialect, Format, OpenAiModel
from headrace_pipelines.services.language_model.port import (
    AnswerSchema,
    ContextTooLong,
    Finish,
    KeyRefused,
    Message,
    ModelUnknown,
    Prompt,
    QuotaUsedUp,
    Role,
)
from headrace_pipelines.services.language_model.stand_in import LocalLanguageModel
from headrace_pipelines.services.stand_in_server import StandInServer

SCHEMA = AnswerSchema(
    name="greeting",
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {"text": {"type": "string"}},
    },
)
PROMPT = Prompt(
    system="You are polite.",
    messages=(Message(text="Hi."), Message(text="Hello.", role=Role.ASSISTANT), Message(text="Say hello.")),
    answer=SCHEMA,
    max_tokens=50,
    temperature=0.1,
)


@pytest.fixture
async def model(server: LocalLanguageModel, clock: VirtualClock) -> AsyncIterator[OpenAiModel]:
    async with OpenAiModel(url=server.url, model="stand-in", key=SecretStr("k"), clock=clock) as asking:
        yield asking


def sent(server: LocalLanguageModel, at: int = -1) -> dict[str, JsonValue]:
    body: dict[str, JsonValue] = json.loads(server.asked[at].body)
    return body


async def test_a_question_as_the_protocol_wants_it(server: LocalLanguageModel, model: OpenAiModel) -> None:
    """Every server checks these names."""
    answer = await model.complete(PROMPT)

    asked = server.asked[-1]
    assert (asked.method, asked.path, asked.headers["authorization"]) == ("POST", "/v1/chat/completions", "Bearer k")
    assert sent(server) == {
        "model": "stand-in",
        "messages": [
            {"role": "system", "content": "You are polite."},
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Say hello."},
        ],
        "max_completion_tokens": 50,
        "temperature": 0.1,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "greeting", "strict": True, "schema": SCHEMA.schema},
        },
    }
    assert answer.json() == {"text": "Say hello..text"}
    assert (answer.finish, answer.model) == (Finish.STOP, "stand-in")
    assert answer.usage.prompt_tokens > 0
    assert answer.usage.completion_tokens > 0


async def test_what_is_not_wanted_is_not_sent(server: LocalLanguageModel, model: OpenAiModel) -> None:
    """Reasoning models refuse a temperature, whatever it is."""
    await model.complete(Prompt(messages=(Message(text="Hi."),)))

    assert sent(server) == {"model": "stand-in", "messages": [{"role": "user", "content": "Hi."}]}


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_have_its_version(server: LocalLanguageModel, clock: VirtualClock, path: str) -> None:
    """Half of the servers document theirs with it."""
    async with OpenAiModel(url=server.url + path, model="stand-in", clock=clock) as model:
        await model.complete(PROMPT)

    assert server.asked[-1].path == "/v1/chat/completions"


async def test_extra_words_go_along(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """llama.cpp is told by one of its own not to think."""
    extra: dict[str, JsonValue] = {"chat_template_kwargs": {"enable_thinking": False}}
    async with OpenAiModel(url=server.url, model="stand-in", extra=extra, clock=clock) as model:
        await model.complete(PROMPT)

    assert sent(server)["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    "known, format",
    [
        (("json_schema", "json_object", "text"), Format.JSON_SCHEMA),
        (("json_object", "text"), Format.JSON_OBJECT),
        (("text",), Format.PLAIN),
    ],
)
async def test_a_server_that_knows_less_is_asked_more_plainly(
    clock: VirtualClock, known: tuple[str, ...], format: Format
) -> None:
    """And is remembered: each further question is asked once."""
    async with (
        LocalLanguageModel(formats=known, clock=clock) as server,
        OpenAiModel(url=server.url, model="stand-in", clock=clock) as model,
    ):
        for _ in range(3):
            await model.complete(PROMPT)

    assert len(server.asked) == 3 + format
    assert model.dialect == Dialect(format=format)
    system = server.questions[-1].system
    assert ("fits this JSON Schema" in system) == (format is not Format.JSON_SCHEMA)


async def test_old_and_new_words_for_the_limit(clock: VirtualClock) -> None:
    """Older servers know only max_tokens, newer models only max_completion_tokens."""
    for word in ("max_tokens", "max_completion_tokens"):
        async with LocalLanguageModel(limit_words=(word,), clock=clock) as server:
            for first in ("max_tokens", "max_completion_tokens"):
                dialect = Dialect(limit=first)
                async with OpenAiModel(url=server.url, model="stand-in", dialect=dialect, clock=clock) as model:
                    await model.complete(PROMPT)
                assert (sent(server)[word], model.dialect.limit) == (50, word)


async def test_a_temperature_that_is_refused_is_left_out(clock: VirtualClock) -> None:
    """Whether a model takes one shows only when it is asked."""
    async with (
        LocalLanguageModel(takes_temperature=False, clock=clock) as server,
        OpenAiModel(url=server.url, model="stand-in", clock=clock) as model,
    ):
        await model.complete(PROMPT)
        await model.complete(PROMPT)

    assert len(server.asked) == 3
    assert "temperature" not in sent(server)


async def test_many_at_once_learn_the_same(clock: VirtualClock) -> None:
    """Chunks are asked for side by side; the refusals of one must not push the others too far down."""
    async with (
        LocalLanguageModel(formats=("json_object", "text"), limit_words=("max_tokens",), clock=clock) as server,
        OpenAiModel(url=server.url, model="stand-in", clock=clock) as model,
    ):
        await asyncio.gather(*(model.complete(PROMPT) for _ in range(8)))

    assert model.dialect == Dialect(format=Format.JSON_OBJECT, limit="max_tokens")
    assert len(server.questions) == 8


async def test_why_it_stopped(server: LocalLanguageModel, model: OpenAiModel) -> None:
    """A truncated answer was parsed as if it were whole (O24)."""
    server.is_cut(2)
    assert (await model.complete(PROMPT)).finish is Finish.LENGTH

    server.declines(why="No.")
    refused = await model.complete(PROMPT)
    assert (refused.finish, refused.text, refused.why_refused) == (Finish.REFUSED, "", "No.")


async def test_the_limit_of_the_prompt_cuts(server: LocalLanguageModel, model: OpenAiModel) -> None:
    """The stand-in keeps to limits as a real server does."""
    assert (await model.complete(Prompt(messages=(Message(text="word " * 99),), max_tokens=5))).finish is Finish.LENGTH


async def test_an_unpaid_bill_is_no_rate_limit(server: LocalLanguageModel, model: OpenAiModel) -> None:
    """insufficient_quota was retried like a rate limit (O24)."""
    server.is_unpaid()

    with pytest.raises(QuotaUsedUp, match="until somebody pays") as caught:
        await model.complete(PROMPT)

    assert not isinstance(caught.value, ServiceUnavailable)
    assert caught.value.until is None


async def test_a_model_that_is_not_there(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """The message names what to look at."""
    async with OpenAiModel(url=server.url, model="gone", clock=clock) as model:
        with pytest.raises(ModelUnknown, match=r"404.*Look at the model \('gone'\)"):
            await model.complete(PROMPT)


async def test_too_much_at_once(clock: VirtualClock) -> None:
    """Its own class, because asking for less helps."""
    async with (
        LocalLanguageModel(context_tokens=55, clock=clock) as server,
        OpenAiModel(url=server.url, model="stand-in", clock=clock) as model,
    ):
        with pytest.raises(ContextTooLong):
            await model.complete(PROMPT)


# --- what stranger servers say -----------------------------------------------------------------------------------------


def said(status: int, body: object, headers: dict[str, str] | None = None) -> StandInServer:
    async def answer(_: Request) -> Response:
        if isinstance(body, str):
            return Response(body, status_code=status, headers=headers)
        return JSONResponse(body, status_code=status, headers=headers)

    return StandInServer("oddity", [("POST", "/v1/chat/completions", answer)])


def error(message: str = "no", **fields: object) -> dict[str, object]:
    return {"error": {"message": message, **fields}}


def completion(**choice: object) -> dict[str, object]:
    return {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"} | choice]}


@pytest.mark.parametrize(
    "status, body, expected",
    [
        (400, error(code="context_length_exceeded"), ContextTooLong),
        (400, error(type="exceed_context_size_error", code=400), ContextTooLong),
        (413, error(), ContextTooLong),
        (400, error("This model's maximum context length is 4096 tokens; lower max_tokens", code=400), ContextTooLong),
        (400, error("max_tokens is too large: 50000.", param="max_tokens"), ContextTooLong),
        (400, error("messages must not be empty"), ServiceRefused),
        (401, error(), KeyRefused),
        (403, error("Country not supported"), KeyRefused),
        (402, error("Insufficient credits", code=402), QuotaUsedUp),
        (404, "<html>nginx</html>", ModelUnknown),
        (408, error(), ServiceUnavailable),
        (418, error(), ServiceRefused),
        (429, error(type="insufficient_quota", code="insufficient_quota"), QuotaUsedUp),
        (429, error("Limit reached on requests per day (RPD)"), QuotaUsedUp),
        (429, "slow down", RateLimited),
        (500, error(), ServiceUnavailable),
        (503, error("Loading model", code=503, type="unavailable_error"), ServiceUnavailable),
        (502, "<html>Bad Gateway</html>", ServiceUnavailable),
        (301, "moved", UnexpectedAnswer),
        (200, error("upstream away", code=502), ServiceUnavailable),
        (200, error("too many", code=429), RateLimited),
        (200, {"error": "model is gone"}, UnexpectedAnswer),
        (200, "<html>Welcome to the hotel</html>", UnexpectedAnswer),
        (200, "", UnexpectedAnswer),
        (200, [], UnexpectedAnswer),
        (200, "[" * 100_000, UnexpectedAnswer),
        (200, {"choices": []}, UnexpectedAnswer),
        (200, completion(finish_reason=None), UnexpectedAnswer),
        (200, completion(finish_reason="tool_calls"), UnexpectedAnswer),
        (200, completion(message={"content": 3}), UnexpectedAnswer),
    ],
)
async def test_what_goes_wrong_has_its_class(
    clock: VirtualClock, status: int, body: object, expected: type[ServiceError]
) -> None:
    """Steps decide by the class whether another attempt helps."""
    async with said(status, body) as server, OpenAiModel(url=server.url, model="m", clock=clock) as model:
        with pytest.raises(ServiceError, match=server.url) as caught:
            await model.complete(Prompt(messages=(Message(text="Hi."),)))

    assert type(caught.value) is expected


async def test_a_pause_is_taken_from_the_headers(clock: VirtualClock) -> None:
    """retry-after first, else the reset of what is used up."""
    resets = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m3s"}
    for headers, seconds in (({"retry-after": "7", **resets}, 7), (resets, 63)):
        async with said(429, error(), headers) as server, OpenAiModel(url=server.url, model="m", clock=clock) as model:
            with pytest.raises(RateLimited) as caught:
                await model.complete(PROMPT)
        assert caught.value.retry_after == timedelta(seconds=seconds)


async def test_a_busy_server_says_how_long(clock: VirtualClock) -> None:
    """A 503 with a time is a request for patience as well."""
    headers = {"retry-after": "9"}
    async with said(503, error(), headers) as server, OpenAiModel(url=server.url, model="m", clock=clock) as model:
        with pytest.raises(RateLimited) as caught:
            await model.complete(PROMPT)

    assert caught.value.retry_after == timedelta(seconds=9)


async def test_what_cannot_be_decompressed_is_no_answer(clock: VirtualClock) -> None:
    """Some gateways say gzip and send text."""
    headers = {"content-encoding": "gzip"}
    async with said(200, "plain", headers) as server, OpenAiModel(url=server.url, model="m", clock=clock) as model:
        with pytest.raises(UnexpectedAnswer, match="cannot be decompressed"):
            await model.complete(PROMPT)


async def test_a_filter_is_a_refusal(clock: VirtualClock) -> None:
    """Half an answer before the filter struck is no answer."""
    body = completion(finish_reason="content_filter")
    async with said(200, body) as server, OpenAiModel(url=server.url, model="m", clock=clock) as model:
        assert (await model.complete(PROMPT)).finish is Finish.REFUSED


async def test_reasoning_and_told_costs_are_read(clock: VirtualClock) -> None:
    """Reasoning is paid for and not seen; OpenRouter says what a request has cost."""
    usage = {
        "prompt_tokens": 5,
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 7},
        "cost": 0.25,
    }
    body = {**completion(), "usage": usage, "model": "real-name"}
    async with said(200, body) as server, OpenAiModel(url=server.url, model="m", clock=clock) as model:
        answer = await model.complete(PROMPT)

    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.reasoning_tokens) == (5, 9, 7)
    assert (float(answer.cost or 0), answer.model) == (0.25, "real-name")


async def test_a_server_that_likes_nothing_is_not_asked_for_ever(clock: VirtualClock) -> None:
    """Each wording is tried once."""
    body = error("max_tokens, max_completion_tokens, response_format and temperature are all wrong")
    async with said(400, body) as server, OpenAiModel(url=server.url, model="m", clock=clock) as model:
        with pytest.raises(ServiceRefused, match="are all wrong"):
            await model.complete(PROMPT)

    assert len(server.asked) <= 5
    assert model.dialect == Dialect()
