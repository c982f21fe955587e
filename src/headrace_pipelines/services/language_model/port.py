"""What pipelines need of a language model: a prompt in, an answer out.

ServiceError
├── ServiceUnavailable              worth another attempt
│   └── RateLimited                 after `retry_after`
├── ServiceRefused                  another attempt would get the same answer
│   ├── KeyRefused                  the key is wrong, or may not use this
│   ├── ModelUnknown                there is no such model there
│   ├── ContextTooLong              ask for less at once
│   ├── QuotaUsedUp                 nothing more until `until`, or until somebody pays
│   └── BudgetSpent                 our own limit
└── UnexpectedAnswer                the protocol does not allow what came back
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol

from pydantic import JsonValue

from headrace.errors import ServiceRefused, UnexpectedAnswer
from headrace_pipelines.services.language_model.fence import without_fence


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    text: str
    role: Role = Role.USER


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSchema:
    """The JSON that is wanted."""

    name: str
    """Letters, digits and underscores."""
    schema: dict[str, JsonValue]
    """As JSON Schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    messages: tuple[Message, ...]
    system: str = ""
    answer: AnswerSchema | None = None
    """None: any text will do."""
    max_tokens: int | None = None
    """The answer is cut after so many, reasoning included."""
    temperature: float | None = None


class Finish(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    """It had said all."""
    LENGTH = "length"
    """It was cut off: what is there is not to be used."""
    REFUSED = "refused"
    """It would not, or a filter would not let it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Reasoning included."""
    reasoning_tokens: int = 0

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    text: str
    finish: Finish
    model: str
    """As the server names it."""
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = None
    """In the currency of the price list; None without one."""
    why_refused: str = ""

    def json(self) -> JsonValue:
        """The text as JSON, a code fence around it tolerated; raises ``UnexpectedAnswer``."""
        try:
            value: JsonValue = json.loads(without_fence(self.text))
        except ValueError as error:
            raise UnexpectedAnswer(f"{self.model} did not answer JSON but {self.text[:80]!r}") from error
        return value


class LanguageModel(Protocol):
    @property
    def name(self) -> str:
        """Which model it is; results are kept under this name."""
        ...

    async def complete(self, prompt: Prompt) -> Answer:
        """One question, one answer; the errors are drawn at the top of this module."""
        ...


class KeyRefused(ServiceRefused):
    """The service does not take the key."""


class ModelUnknown(ServiceRefused):
    """The service has no model of that name."""


class ContextTooLong(ServiceRefused):
    """More text than the model can hold at once; ask for less."""


class QuotaUsedUp(ServiceRefused):
    """Nothing more is to be had until ``until``; None: until somebody pays."""

    def __init__(self, message: str = "", *, until: datetime | None = None) -> None:
        super().__init__(message)
        self.until = until


class BudgetSpent(ServiceRefused):
    """What may be spent is spent; the service was not asked."""
