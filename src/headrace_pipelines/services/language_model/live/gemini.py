"""Google's Gemini over its REST interface."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, ValidationError

from headrace.errors import RateLimited, ServiceError, ServiceRefused, UnexpectedAnswer
from headrace_pipelines.services.clock import Clock
from headrace_pipelines.services.language_model.live.ledger import Ledger, Price
from headrace_pipelines.services.language_model.live.limiter import Limits
from headrace_pipelines.services.language_model.live.line import Line, Reply, away, checked, pause_of
from headrace_pipelines.services.language_model.live.pause import duration, sent_at
from headrace_pipelines.services.language_model.port import (
    Answer,
    ContextTooLong,
    Finish,
    KeyRefused,
    ModelUnknown,
    Prompt,
    QuotaUsedUp,
    Role,
    Usage,
)

GEMINI = "https://generativelanguage.googleapis.com"

_FINISHES = {
    "STOP": Finish.STOP,
    "MAX_TOKENS": Finish.LENGTH,
    "SAFETY": Finish.REFUSED,
    "RECITATION": Finish.REFUSED,
    "PROHIBITED_CONTENT": Finish.REFUSED,
    "BLOCKLIST": Finish.REFUSED,
    "SPII": Finish.REFUSED,
}
_SAYS_TOO_LONG = re.compile(r"token count.*exceeds|maxOutputTokens.*supported range", re.DOTALL)
# What its schemas know, which is less than JSON Schema does.
_SCHEMA_WORDS = {"type", "format", "description", "nullable", "enum", "items", "properties", "required", "minItems"}
_SCHEMA_WORDS |= {"maxItems", "minimum", "maximum", "anyOf", "propertyOrdering"}
_QUOTA_DAY = "America/Los_Angeles"
"""Where a day of its quotas begins at midnight."""


class GeminiModel:
    def __init__(
        self,
        *,
        model: str,
        key: SecretStr,
        url: str = GEMINI,
        limits: Limits | None = None,
        ledger: Ledger | None = None,
        price: Price | None = None,
        timeout: timedelta = timedelta(minutes=2),
        safety: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """``safety`` is a threshold per harm category, such as ``{"HARM_CATEGORY_HARASSMENT": "BLOCK_NONE"}``."""
        self.name = model
        self._safety = dict(safety or {})
        usable = checked(key, setting="key of the language model")
        self._line = Line.to(
            url.rstrip("/"),
            service=f"the language model at {url}",
            key=usable,
            headers={"x-goog-api-key": usable.get_secret_value()} if usable else {},
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
        path = f"/v1beta/models/{quote(self.name.removeprefix('models/'), safe='')}:generateContent"
        return await self._line.ask(prompt, path, self._body(prompt), judge=self._judge, read=self._read)

    def _body(self, prompt: Prompt) -> dict[str, JsonValue]:
        body: dict[str, JsonValue] = {
            "contents": [
                {"role": "user" if message.role is Role.USER else "model", "parts": [{"text": message.text}]}
                for message in prompt.messages
            ]
        }
        if prompt.system:
            body["systemInstruction"] = {"parts": [{"text": prompt.system}]}
        if self._safety:
            body["safetySettings"] = [
                {"category": category, "threshold": threshold} for category, threshold in self._safety.items()
            ]
        if config := _config(prompt):
            body["generationConfig"] = config
        return body

    def _judge(self, reply: Reply) -> ServiceError | None:
        if reply.status == 200 and not reply.error:
            return None
        return _error(reply, self._line.service, self.name)

    def _read(self, reply: Reply) -> Answer:
        try:
            content = _Content.model_validate(reply.body)
        except ValidationError as error:
            raise UnexpectedAnswer(f"{self._line.service} answered no content: {reply.text!r}") from error
        usage = content.usage.as_usage()
        blocked = content.feedback.reason if content.feedback else ""
        if not content.candidates and not blocked:
            raise UnexpectedAnswer(f"{self._line.service} answered without a candidate: {reply.text!r}")
        candidate = (
            content.candidates[0] if content.candidates else _Candidate.model_validate({"finishReason": "SAFETY"})
        )
        finish = self._finish(candidate)
        return Answer(
            text="".join(part.text for part in candidate.content.parts if not part.thought),
            finish=finish,
            model=content.model or self.name,
            usage=usage,
            cost=self._line.price.of(usage) if self._line.price else None,
            why_refused=(blocked or candidate.finish or "") if finish is Finish.REFUSED else "",
        )

    def _finish(self, candidate: _Candidate) -> Finish:
        finish = _FINISHES.get(candidate.finish or "")
        if finish is None:
            raise UnexpectedAnswer(
                f"{self._line.service} stopped because of {candidate.finish!r}, so its answer is not to be used"
            )
        return finish


def _config(prompt: Prompt) -> dict[str, JsonValue]:
    config: dict[str, JsonValue] = {}
    if prompt.temperature is not None:
        config["temperature"] = prompt.temperature
    if prompt.max_tokens is not None:
        config["maxOutputTokens"] = prompt.max_tokens
    if prompt.answer is not None:
        config["responseMimeType"] = "application/json"
        config["responseSchema"] = _schema(prompt.answer.schema)
    return config


def _schema(schema: JsonValue) -> JsonValue:
    """Without the words that would make it refuse the whole request."""
    if isinstance(schema, list):
        return [_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, JsonValue] = {word: value for word, value in schema.items() if word in _SCHEMA_WORDS}
    for word in ("items", "anyOf"):
        if word in kept:
            kept[word] = _schema(kept[word])
    if isinstance(properties := kept.get("properties"), dict):
        kept["properties"] = {name: _schema(inside) for name, inside in properties.items()}
    return kept


# --- what went wrong ---------------------------------------------------------------------------------------------------


def _error(reply: Reply, service: str, model: str) -> ServiceError:
    error = reply.error
    message = str(error.get("message") or reply.text or "nothing").rstrip(".")
    said = f"{service} answered {reply.status}: {message}"
    reasons = _reasons(error)
    if reply.status == 429:
        return _too_much(reply, said)
    if reply.status in {401, 403} or reasons & {"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED"}:
        return KeyRefused(f"{said}. Look at the key of the language model")
    if reply.status == 404:
        return ModelUnknown(f"{said}. Look at the model ({model!r}) and at the address")
    if reply.status == 413 or (reply.status == 400 and _SAYS_TOO_LONG.search(message)):
        return ContextTooLong(said)
    if reply.status >= 500 or reply.status in {408, 499}:
        return away(reply, said)
    return ServiceRefused(said) if 400 <= reply.status < 500 else UnexpectedAnswer(said)


def _details(error: Mapping[str, JsonValue], kind: str) -> list[dict[str, JsonValue]]:
    details = error.get("details")
    return [
        detail
        for detail in (details if isinstance(details, list) else [])
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith(kind)
    ]


def _reasons(error: Mapping[str, JsonValue]) -> set[str]:
    return {str(detail.get("reason", "")) for detail in _details(error, "ErrorInfo")}


def _quotas(error: Mapping[str, JsonValue]) -> str:
    violations = [detail.get("violations") for detail in _details(error, "QuotaFailure")]
    each = [item for found in violations if isinstance(found, list) for item in found]
    return " ".join(str(item.get("quotaId", "")) for item in each if isinstance(item, dict))


def _too_much(reply: Reply, said: str) -> ServiceError:
    error = reply.error
    if "PerDay" in _quotas(error):
        return QuotaUsedUp(f"{said}. That was all for the day", until=_next_quota_day(sent_at(reply.headers)))
    delays = [duration(str(detail.get("retryDelay", ""))) for detail in _details(error, "RetryInfo")]
    pause = max((delay for delay in delays if delay is not None), default=None)
    return RateLimited(said, retry_after=pause or pause_of(reply))


def _next_quota_day(sent: datetime | None) -> datetime | None:
    try:
        zone = ZoneInfo(_QUOTA_DAY)
    except ZoneInfoNotFoundError:
        return None
    if sent is None:
        return None
    there = sent.astimezone(zone)
    tomorrow = (there + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return tomorrow.astimezone(sent.tzinfo)


# --- what came back ----------------------------------------------------------------------------------------------------


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Text(_Part):
    text: str = ""
    thought: bool = False


class _Parts(_Part):
    parts: list[_Text] = Field(default_factory=list)


class _Candidate(_Part):
    content: _Parts = Field(default_factory=_Parts)
    finish: str | None = Field(default=None, alias="finishReason")


class _Feedback(_Part):
    reason: str = Field(default="", alias="blockReason")


class _Metadata(_Part):
    prompt: int = Field(default=0, alias="promptTokenCount")
    candidates: int = Field(default=0, alias="candidatesTokenCount")
    thoughts: int = Field(default=0, alias="thoughtsTokenCount")

    def as_usage(self) -> Usage:
        return Usage(
            prompt_tokens=self.prompt,
            completion_tokens=self.candidates + self.thoughts,
            reasoning_tokens=self.thoughts,
        )


class _Content(_Part):
    candidates: list[_Candidate] = Field(default_factory=list)
    feedback: _Feedback | None = Field(default=None, alias="promptFeedback")
    usage: _Metadata = Field(default_factory=_Metadata, alias="usageMetadata")
    model: str = Field(default="", alias="modelVersion")
