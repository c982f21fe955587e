"""Plays a language model: a real HTTP server on this machine that speaks OpenAI's protocol and Gemini's.

It translates letter by letter into the letters of the wanted language, so that what checks an answer finds it good;
other questions get an answer that fits their JSON schema. The same question gets the same answer, unless a test tells
of troubles.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Self

from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import Response

from headrace_pipelines.services.clock import Clock, LoopClock, wait
from headrace_pipelines.services.language_model.stand_in.pseudo_locale import pseudo_translate
from headrace_pipelines.services.language_model.stand_in.question import Question, gemini_question, openai_question
from headrace_pipelines.services.language_model.stand_in.reply import (
    HANG_UP,
    Said,
    cut,
    fitting,
    gemini_answer,
    gemini_refusal,
    openai_answer,
    openai_refusal,
)
from headrace_pipelines.services.language_model.stand_in.story import Story
from headrace_pipelines.services.language_model.stand_in.trouble import Refusal, Trouble
from headrace_pipelines.services.stand_in_server import Asked, StandInServer

_MINUTE = 60.0


class LocalLanguageModel(Story):
    def __init__(
        self,
        *,
        models: tuple[str, ...] = ("stand-in",),
        key: str | None = None,
        context_tokens: int | None = None,
        formats: tuple[str, ...] = ("json_schema", "json_object", "text"),
        limit_words: tuple[str, ...] = ("max_tokens", "max_completion_tokens"),
        takes_temperature: bool = True,
        requests_per_minute: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        """What it does not know, it refuses in the vendors' words: other models, formats, names of the token limit."""
        super().__init__()
        self.questions: list[Question] = []
        """All that were understood and allowed, whatever became of them."""
        self.most_at_once = 0
        self._models = models
        self._key = key
        self._context_tokens = context_tokens
        self._formats = formats
        self._limit_words = limit_words
        self._takes_temperature = takes_temperature
        self._requests_per_minute = requests_per_minute
        self._clock = clock or LoopClock()
        self._arrivals: list[float] = []
        self._at_once = 0
        self._server = StandInServer(
            "language model",
            [
                ("GET", "/health", self._health),
                ("GET", "/v1/models", self._list),
                ("POST", "/v1/chat/completions", self._openai),
                ("POST", "/v1beta/models/{model}:generateContent", self._gemini),
                ("POST", "/v1/models/{model}:generateContent", self._gemini),
            ],
        )

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def asked(self) -> list[Asked]:
        """Every request, refused ones too."""
        return self._server.asked

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    # The server

    async def _health(self, _: Request) -> Response:
        return _json({"status": "ok"})

    async def _list(self, _: Request) -> Response:
        return _json({"object": "list", "data": [{"id": name, "object": "model"} for name in self._models]})

    async def _openai(self, request: Request) -> Response:
        question = openai_question(json.loads(await request.body()))
        refusal = self._wrong_key(request.headers.get("authorization", "").removeprefix("Bearer "))
        return await self._respond(question, refusal or self._not_understood(question), openai_refusal, openai_answer)

    async def _gemini(self, request: Request) -> Response:
        question = gemini_question(request.path_params["model"], json.loads(await request.body()))
        refusal = self._wrong_key(request.headers.get("x-goog-api-key", ""))
        if refusal is not None:
            refusal = Refusal(status=400, message=refusal.message, reason="API_KEY_INVALID")
        return await self._respond(question, refusal, gemini_refusal, gemini_answer)

    async def _respond(
        self,
        question: Question,
        refusal: Refusal | None,
        say_no: Callable[[Refusal], dict[str, JsonValue]],
        say: Callable[[Question, Said], dict[str, JsonValue]],
    ) -> Response:
        refusal = refusal or self._impossible(question)
        if refusal is not None:
            return _refused(refusal, say_no)
        self.questions.append(question)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            troubles = [trouble for trouble in self._troubles if trouble.strikes(question)]
            for trouble in troubles:
                await wait(self._clock, trouble.pause.total_seconds() if trouble.pause else 0)
            if struck := next((trouble.refusal for trouble in troubles if trouble.refusal), None):
                return _refused(struck, say_no)
            said = self._say(question, troubles)
        finally:
            self._at_once -= 1
        hangs_up = any(trouble.hangs_up for trouble in troubles)
        return _json(say(question, said), headers=HANG_UP if hangs_up else {})

    def _say(self, question: Question, troubles: list[Trouble]) -> Said:
        refused = next((trouble.refused for trouble in troubles if trouble.refused), "")
        if refused:
            return Said(text="", finish="refused", why=refused)
        text = self._text(question, troubles)
        for trouble in troubles:
            text = trouble.text(text) if trouble.text else text
        limits = [limit for limit in (question.max_tokens, *(each.tokens for each in troubles)) if limit is not None]
        return cut(text, min(limits, default=None))

    def _text(self, question: Question, troubles: list[Trouble]) -> str:
        scripted = next((text for holding, text in self._scripts if holding in question.prompt), None)
        if scripted is not None:
            return scripted
        if not question.lines:
            return fitting(question)
        items = [(line.id, pseudo_translate(line.text, question.language)) for line in question.lines]
        for trouble in troubles:
            items = trouble.items(items) if trouble.items else items
        return json.dumps({"items": [{"id": number, "text": text} for number, text in items]}, ensure_ascii=False)

    # What it does not take

    def _wrong_key(self, key: str) -> Refusal | None:
        if self._key is None or key == self._key:
            return None
        message = f"Incorrect API key provided: {key}."
        return Refusal(status=401, code="invalid_api_key", kind="invalid_request_error", message=message)

    def _not_understood(self, question: Question) -> Refusal | None:
        if question.format not in self._formats:
            message = f"'response_format.type' must be one of {', '.join(self._formats)}"
            return Refusal(status=400, kind="invalid_request_error", param="response_format", message=message)
        for word in ("max_tokens", "max_completion_tokens"):
            if word in question.body and word not in self._limit_words:
                message = f"Unsupported parameter: '{word}'. Use '{self._limit_words[0]}' instead."
                return Refusal(status=400, code="unsupported_parameter", param=word, message=message)
        if "temperature" in question.body and not self._takes_temperature:
            message = "Unsupported value: 'temperature' does not support this value with this model."
            return Refusal(status=400, code="unsupported_value", param="temperature", message=message)
        return None

    def _impossible(self, question: Question) -> Refusal | None:
        if question.model not in self._models:
            message = f"The model `{question.model}` does not exist or you do not have access to it."
            return Refusal(status=404, code="model_not_found", kind="invalid_request_error", message=message)
        tokens = question.tokens + (question.max_tokens or 0)
        if self._context_tokens is not None and tokens > self._context_tokens:
            message = f"The input token count ({tokens}) exceeds the maximum number of tokens ({self._context_tokens})."
            return Refusal(status=400, code="context_length_exceeded", param="messages", message=message)
        return self._too_fast()

    def _too_fast(self) -> Refusal | None:
        if self._requests_per_minute is None:
            return None
        now = self._clock.monotonic()
        self._arrivals = [moment for moment in self._arrivals if moment > now - _MINUTE]
        if len(self._arrivals) < self._requests_per_minute:
            self._arrivals.append(now)
            return None
        pause = timedelta(seconds=self._arrivals[0] + _MINUTE - now)
        return Refusal(status=429, code="rate_limit_exceeded", message="Too many requests", retry_after=pause)


def _refused(refusal: Refusal, say_no: Callable[[Refusal], dict[str, JsonValue]]) -> Response:
    pause = refusal.retry_after
    headers = {"retry-after": f"{pause.total_seconds():.3f}"} if pause is not None else {}
    return _json(say_no(refusal), status=refusal.status, headers=headers)


def _json(value: JsonValue, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    content = json.dumps(value, ensure_ascii=False).encode()
    return Response(content, status_code=status, media_type="application/json", headers=dict(headers or {}))
