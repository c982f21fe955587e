"""Servers that speak OpenAI's chat completions: OpenAI, OpenRouter, llama.cpp, Ollama, LM Studio, vLLM, …

They differ in what they understand. What one of them refuses is not sent to it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from enum import IntEnum
from types import TracebackType
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, ValidationError

from headrace.errors import RateLimited, ServiceError, ServiceRefused, UnexpectedAnswer
from headrace_pipelines.services.clock import Clock
from headrace_pipelines.services.language_model.live.ledger import Ledger, Price
from headrace_pipelines.services.language_model.live.limiter import Limits
from headrace_pipelines.services.language_model.live.line import Line, Reply, away, checked, pause_of
from headrace_pipelines.services.language_model.live.pause import sent_at
from headrace_pipelines.services.language_model.port import (
    Answer,
    ContextTooLong,
    Finish,
    KeyRefused,
    ModelUnknown,
    Prompt,
    QuotaUsedUp,
    Usage,
)

OPENAI = "https://api.openai.com"

_STOPS = {"stop", "eos", "eos_token", "end_turn", "stop_sequence"}
_BAD_REQUEST = (400, 415, 422, 501)
_TOO_LONG = {"context_length_exceeded", "exceed_context_size_error"}
_SAYS_TOO_LONG = re.compile(
    r"context (?:length|size|window)|maximum context|max\w*tokens.{0,40}too (?:large|high|big)", re.IGNORECASE
)


class Format(IntEnum):
    """How the wanted JSON is asked for; servers know the first, the first two, or none of them."""

    JSON_SCHEMA = 0
    JSON_OBJECT = 1
    PLAIN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a server understands."""

    format: Format = Format.JSON_SCHEMA
    limit: str = "max_completion_tokens"
    """Or ``max_tokens``, the older word."""
    temperature: bool = True


class OpenAiModel:
    def __init__(
        self,
        *,
        model: str,
        url: str = OPENAI,
        key: SecretStr | None = None,
        limits: Limits | None = None,
        ledger: Ledger | None = None,
        price: Price | None = None,
        timeout: timedelta = timedelta(minutes=2),
        extra: Mapping[str, JsonValue] | None = None,
        dialect: Dialect | None = None,
        clock: Clock | None = None,
    ) -> None:
        """``url`` with or without its ``/v1``; ``extra`` goes into every request as it is."""
        self.name = model
        self.dialect = dialect or Dialect()
        self._extra = dict(extra or {})
        key = checked(key, setting="key of the language model")
        base = url.rstrip("/")
        self._line = Line.to(
            base if base.endswith("/v1") else f"{base}/v1",
            service=f"the language model at {url}",
            key=key,
            headers={"authorization": f"Bearer {key.get_secret_value()}"} if key else {},
            limits=limits,
            ledger=ledger,
            price=price,
            timeout=timeout,
            clock=clock,
        )

    @property
    def ledger(self) -> Ledger:
        return self._line.ledger

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._line.close()

    async def complete(self, prompt: Prompt) -> Answer:
        dialect, tried = self.dialect, {self.dialect}
        while True:
            body = self._body(prompt, dialect)
            try:
                answer = await self._line.ask(prompt, "/chat/completions", body, judge=self._judge, read=self._read)
            except NotUnderstood as refusal:
                dialect = _another(dialect, refusal, prompt)
                if dialect in tried:
                    raise ServiceRefused(str(refusal)) from None
                tried.add(dialect)
            else:
                # Only what was understood is kept, so that one odd refusal does not spoil what worked.
                self.dialect = dialect
                return answer

    def _body(self, prompt: Prompt, dialect: Dialect) -> dict[str, JsonValue]:
        body: dict[str, JsonValue] = {"model": self.name, "messages": _messages(prompt, dialect), **self._extra}
        if prompt.max_tokens is not None:
            body[dialect.limit] = prompt.max_tokens
        if prompt.temperature is not None and dialect.temperature:
            body["temperature"] = prompt.temperature
        if prompt.answer is not None and dialect.format is Format.JSON_SCHEMA:
            wanted: dict[str, JsonValue] = {"name": prompt.answer.name, "strict": True, "schema": prompt.answer.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif prompt.answer is not None and dialect.format is Format.JSON_OBJECT:
            body["response_format"] = {"type": "json_object"}
        return body

    def _judge(self, reply: Reply) -> ServiceError | None:
        if reply.status == 200 and not reply.error:
            return None
        return _error(reply, self._line.service, self.name)

    def _read(self, reply: Reply) -> Answer:
        try:
            completion = _Completion.model_validate(reply.body)
        except ValidationError as error:
            raise UnexpectedAnswer(f"{self._line.service} answered no chat completion: {reply.text!r}") from error
        if not completion.choices:
            raise UnexpectedAnswer(f"{self._line.service} answered without a choice: {reply.text!r}")
        choice = completion.choices[0]
        usage = completion.usage.as_usage()
        return Answer(
            text=choice.message.content or "",
            finish=self._finish(choice),
            model=completion.model or self.name,
            usage=usage,
            cost=self._line.price.of(usage) if self._line.price else completion.usage.cost,
            why_refused=choice.message.refusal or "",
        )

    def _finish(self, choice: _Choice) -> Finish:
        if choice.finish_reason == "length":
            return Finish.LENGTH
        if choice.finish_reason == "content_filter" or choice.message.refusal:
            return Finish.REFUSED
        if choice.finish_reason in _STOPS:
            return Finish.STOP
        raise UnexpectedAnswer(
            f"{self._line.service} stopped because of {choice.finish_reason!r}, which says nothing about whether its "
            "answer is complete"
        )


class NotUnderstood(ServiceRefused):
    """A request that the server did not like; perhaps it likes another wording."""

    def __init__(self, message: str, about: str) -> None:
        super().__init__(message)
        self.about = about


def _another(dialect: Dialect, refusal: NotUnderstood, prompt: Prompt) -> Dialect:
    """What to try after this refusal; the same dialect if it is not about that."""
    about = refusal.about
    if prompt.max_tokens is not None and dialect.limit in about:
        other = "max_tokens" if dialect.limit == "max_completion_tokens" else "max_completion_tokens"
        return replace(dialect, limit=other)
    if prompt.temperature is not None and "temperature" in about:
        return replace(dialect, temperature=False)
    about_json = any(word in about for word in ("response_format", "schema", "json_object", "structured", "grammar"))
    if prompt.answer is not None and about_json and dialect.format is not Format.PLAIN:
        return replace(dialect, format=Format(dialect.format + 1))
    return dialect


def _messages(prompt: Prompt, dialect: Dialect) -> list[JsonValue]:
    system = prompt.system
    if prompt.answer is not None and dialect.format is not Format.JSON_SCHEMA:
        schema = json.dumps(prompt.answer.schema, separators=(",", ":"))
        system = f"{system}\n\nAnswer with nothing but JSON that fits this JSON Schema: {schema}".strip()
    messages: list[JsonValue] = [{"role": "system", "content": system}] if system else []
    return messages + [{"role": message.role.value, "content": message.text} for message in prompt.messages]


# --- what went wrong ---------------------------------------------------------------------------------------------------


def _error(reply: Reply, service: str, model: str) -> ServiceError:
    error = reply.error
    message = str(error.get("message") or reply.text or "nothing").rstrip(".")
    code, kind = str(error.get("code") or ""), str(error.get("type") or "")
    status = int(code) if reply.status == 200 and code.isdecimal() else reply.status
    said = f"{service} answered {status}: {message}"
    if status == 429 or code == "rate_limit_exceeded":
        return _too_much(reply, said, {code, kind}, message)
    if status == 402:
        return QuotaUsedUp(f"{said}. Nothing more is to be had until somebody pays")
    if status in {401, 403}:
        return KeyRefused(f"{said}. Look at the key of the language model")
    if status == 404:
        return ModelUnknown(f"{said}. Look at the model ({model!r}) and at the address")
    if status == 413 or {code, kind} & _TOO_LONG or (status in _BAD_REQUEST and _SAYS_TOO_LONG.search(message)):
        return ContextTooLong(said)
    if status in _BAD_REQUEST:
        return NotUnderstood(said, f"{error.get('param') or ''} {message}".lower())
    if status >= 500 or status in {408, 409}:
        return away(reply, said)
    return ServiceRefused(said) if 400 <= status < 500 else UnexpectedAnswer(said)


def _too_much(reply: Reply, said: str, kinds: set[str], message: str) -> ServiceError:
    if "insufficient_quota" in kinds:
        return QuotaUsedUp(f"{said}. Nothing more is to be had until somebody pays")
    pause = pause_of(reply)
    if "per day" in message or "(RPD)" in message or "(TPD)" in message:
        sent = sent_at(reply.headers)
        return QuotaUsedUp(f"{said}. That was all for the day", until=sent + pause if sent and pause else None)
    return RateLimited(said, retry_after=pause)


# --- what came back ----------------------------------------------------------------------------------------------------


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Reasoning(_Part):
    reasoning_tokens: int | None = None


class _Usage(_Part):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    completion_tokens_details: _Reasoning | None = None
    cost: Decimal | None = None
    """OpenRouter says what it was."""

    def as_usage(self) -> Usage:
        details = self.completion_tokens_details or _Reasoning()
        return Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            reasoning_tokens=details.reasoning_tokens or 0,
        )


class _Message(_Part):
    content: str | None = None
    refusal: str | None = None


class _Choice(_Part):
    message: _Message
    finish_reason: str | None = None


class _Completion(_Part):
    model: str = ""
    choices: list[_Choice]
    usage: _Usage = Field(default_factory=_Usage)
