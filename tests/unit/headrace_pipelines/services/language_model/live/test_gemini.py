from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import JsonValue, SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from headrace.errors import RateLimited, ServiceError, ServiceRefused, ServiceUnavailable, UnexpectedAnswer
from headrace.testing import VirtualClock
from headrace_pipelines.services.language_model.live import GeminiModel
from headrace_pipelines.services.language_model.live.gemini import _next_quota_day
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
    name="greetings",
    schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["title"],
            "properties": {"title": {"type": "string", "title": "Title"}},
        },
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
async def model(server: LocalLanguageModel, clock: VirtualClock) -> AsyncIterator[GeminiModel]:
    async with GeminiModel(url=server.url, model="stand-in", key=SecretStr("k"), clock=clock) as asking:
        yield asking


async def test_a_question_as_the_protocol_wants_it(server: LocalLanguageModel, clock: VirtualClock) -> None:
    """Words of JSON Schema that it does not know make it refuse the request; a property may be called like one."""
    safety = {"HARM_CATEGORY_HARASSMENT": "BLOCK_NONE"}
    async with GeminiModel(
        url=server.url, model="models/stand-in", key=SecretStr("k"), safety=safety, clock=clock
    ) as model:
        answer = await model.complete(PROMPT)

    asked = server.asked[-1]
    assert asked.path == "/v1beta/models/stand-in:generateContent"
    assert (asked.headers["x-goog-api-key"], asked.query) == ("k", {})
    assert json.loads(asked.body) == {
        "systemInstruction": {"parts": [{"text": "You are polite."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Hi."}]},
            {"role": "model", "parts": [{"text": "Hello."}]},
            {"role": "user", "parts": [{"text": "Say hello."}]},
        ],
        "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
        "generationConfig": {
            "temperature": 0.1,
            "maxOutputTokens": 50,
            "responseMimeType": "application/json",
            "responseSchema": {
                "type": "array",
                "items": {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}},
            },
        },
    }
    assert answer.json() == [{"title": "Say hello.[0].title"}]


async def test_thoughts_are_no_part_of_the_answer_but_of_the_bill(
    server: LocalLanguageModel, model: GeminiModel
) -> None:
    """The stand-in thinks aloud before each answer, as real models do."""
    server.answers("Hello there.")

    answer = await model.complete(Prompt(messages=(Message(text="Hi."),)))

    assert answer.text == "Hello there."
    assert answer.usage.reasoning_tokens == 2
    assert answer.usage.completion_tokens == 2 + 3


async def test_why_it_stopped(server: LocalLanguageModel, model: GeminiModel) -> None:
    """A cut answer and a blocked prompt both come with status 200."""
    server.is_cut(2)
    assert (await model.complete(PROMPT)).finish is Finish.LENGTH

    server.declines()
    refused = await model.complete(PROMPT)
    assert (refused.finish, refused.text, refused.why_refused) == (Finish.REFUSED, "", "PROHIBITED_CONTENT")


async def test_a_minute_waits_and_a_day_is_over(
    server: LocalLanguageModel, model: GeminiModel, clock: VirtualClock
) -> None:
    """Scenario 24: the same status 429 means both."""
    server.is_busy(retry_after=timedelta(seconds=5))
    with pytest.raises(RateLimited) as minute:
        await model.complete(PROMPT)
    clock.advance(timedelta(seconds=5))
    server.is_used_up_for_today()
    with pytest.raises(QuotaUsedUp) as day:
        await model.complete(PROMPT)

    assert minute.value.retry_after == timedelta(seconds=5)
    assert day.value.until is not None


@pytest.mark.parametrize(
    "sent, until",
    [
        (datetime(2026, 1, 15, 20, tzinfo=UTC), datetime(2026, 1, 16, 8, tzinfo=UTC)),
        (datetime(2026, 1, 15, 7, 59, tzinfo=UTC), datetime(2026, 1, 15, 8, tzinfo=UTC)),
        (datetime(2026, 7, 15, 20, tzinfo=UTC), datetime(2026, 7, 16, 7, tzinfo=UTC)),
        (None, None),
    ],
)
def test_its_day_begins_at_midnight_in_california(sent: datetime | None, until: datetime | None) -> None:
    """A fixed pause of 24 h would waste up to a day."""
    assert _next_quota_day(sent) == until


# --- what else it says -------------------------------------------------------------------------------------------------


def said(status: int, body: object, headers: dict[str, str] | None = None) -> StandInServer:
    async def answer(_: Request) -> Response:
        if isinstance(body, str):
            return Response(body, status_code=status, headers=headers)
        return JSONResponse(body, status_code=status, headers=headers)

    return StandInServer("oddity", [("POST", "/v1beta/models/m:generateContent", answer)])


def error(code: int, message: str = "no", *details: JsonValue) -> dict[str, JsonValue]:
    return {"error": {"code": code, "message": message, "details": list(details)}}


def content(**candidate: JsonValue) -> dict[str, JsonValue]:
    plain: dict[str, JsonValue] = {"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}
    return {"candidates": [plain | candidate]}


QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"
ODD_VIOLATION: JsonValue = {"@type": QUOTA, "violations": ["odd"]}
INVALID_KEY: dict[str, JsonValue] = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


@pytest.mark.parametrize(
    "status, body, expected",
    [
        (400, error(400, "API key not valid", {**INVALID_KEY}), KeyRefused),
        (
            400,
            error(400, "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
            ContextTooLong,
        ),
        (400, error(400, "maxOutputTokens is 99999 but the supported range is from 1 to 8193"), ContextTooLong),
        (400, error(400, "User location is not supported"), ServiceRefused),
        (403, error(403), KeyRefused),
        (404, error(404), ModelUnknown),
        (429, error(429, "no", {"@type": QUOTA, "violations": [{"quotaId": "RequestsPerDay"}]}), QuotaUsedUp),
        (429, error(429, "no", {"@type": QUOTA, "violations": [{"quotaId": "RequestsPerMinute"}]}), RateLimited),
        (429, error(429, "no", {"@type": QUOTA}, "odd", ODD_VIOLATION), RateLimited),
        (429, "odd", RateLimited),
        (500, error(500), ServiceUnavailable),
        (503, error(503, "The model is overloaded."), ServiceUnavailable),
        (307, "", UnexpectedAnswer),
        (200, error(500), UnexpectedAnswer),
        (200, {}, UnexpectedAnswer),
        (200, "<html>", UnexpectedAnswer),
        (200, {"candidates": 3}, UnexpectedAnswer),
        (200, content(finishReason="MALFORMED_FUNCTION_CALL"), UnexpectedAnswer),
        (200, {"candidates": [{"content": {"parts": [{"text": "hi"}]}}]}, UnexpectedAnswer),
    ],
)
async def test_what_goes_wrong_has_its_class(
    clock: VirtualClock, status: int, body: object, expected: type[ServiceError]
) -> None:
    """Steps decide by the class whether another attempt helps."""
    async with (
        said(status, body) as server,
        GeminiModel(url=server.url, model="m", key=SecretStr("k"), clock=clock) as model,
    ):
        with pytest.raises(ServiceError) as caught:
            await model.complete(PROMPT)

    assert type(caught.value) is expected


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"])
async def test_filters_are_refusals(clock: VirtualClock, reason: str) -> None:
    """What was said before the filter struck is not used."""
    async with (
        said(200, content(finishReason=reason)) as server,
        GeminiModel(url=server.url, model="m", key=SecretStr("k"), clock=clock) as model,
    ):
        answer = await model.complete(PROMPT)

    assert (answer.finish, answer.why_refused) == (Finish.REFUSED, reason)


async def test_a_candidate_without_parts_is_an_empty_answer(clock: VirtualClock) -> None:
    """A model that spent all its tokens on thoughts answers so."""
    body = {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}
    async with (
        said(200, body) as server,
        GeminiModel(url=server.url, model="m", key=SecretStr("k"), clock=clock) as model,
    ):
        answer = await model.complete(PROMPT)

    assert (answer.text, answer.finish) == ("", Finish.LENGTH)
