"""What a stand-in was asked, whichever protocol it came by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from headrace_pipelines.services.language_model.tokens import estimated_tokens

Protocol = Literal["openai", "gemini"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A text that is to be translated, under an id that is to come back."""

    id: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    protocol: Protocol
    model: str
    system: str
    messages: tuple[str, ...]
    schema: Mapping[str, JsonValue] | None
    """The JSON that was asked for, as far as the request said so."""
    format: str
    """``json_schema``, ``json_object`` or ``text``."""
    max_tokens: int | None
    body: Mapping[str, JsonValue]
    """The whole request."""

    @property
    def prompt(self) -> str:
        """The last message."""
        return self.messages[-1] if self.messages else ""

    @property
    def tokens(self) -> int:
        return estimated_tokens(self.system) + sum(estimated_tokens(message) for message in self.messages)

    @property
    def lines(self) -> tuple[Line, ...]:
        """What is to be translated: the objects with an id and a text, wherever they stand in the last message."""
        return tuple(_lines(_json(self.prompt)))

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(line.id for line in self.lines)

    @property
    def language(self) -> str:
        """Into which language; empty if the question does not say."""
        asked = _json(self.prompt)
        told = asked.get("into") if isinstance(asked, dict) else None
        return told if isinstance(told, str) else ""


def _json(text: str) -> JsonValue:
    start, end = text.find("{"), text.rfind("}")
    try:
        value: JsonValue = json.loads(text[start : end + 1]) if start >= 0 else None
    except ValueError:
        return None
    return value


def _lines(value: JsonValue) -> list[Line]:
    if isinstance(value, list):
        return [line for item in value for line in _lines(item)]
    if not isinstance(value, dict):
        return []
    number, text = value.get("id"), value.get("text")
    if isinstance(number, int) and isinstance(text, str):
        return [Line(id=number, text=text)]
    return [line for item in value.values() for line in _lines(item)]


def openai_question(body: Mapping[str, JsonValue]) -> Question:
    messages = [item for item in _list(body.get("messages")) if isinstance(item, dict)]
    wanted = body.get("response_format")
    wanted = wanted if isinstance(wanted, dict) else {}
    nested = wanted.get("json_schema")
    schema = nested.get("schema") if isinstance(nested, dict) else wanted.get("schema")
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return Question(
        protocol="openai",
        model=str(body.get("model", "")),
        system="\n".join(str(item.get("content", "")) for item in messages if item.get("role") == "system"),
        messages=tuple(str(item.get("content", "")) for item in messages if item.get("role") != "system"),
        schema=schema if isinstance(schema, dict) else None,
        format=str(wanted.get("type", "text")),
        max_tokens=limit if isinstance(limit, int) else None,
        body=body,
    )


def gemini_question(model: str, body: Mapping[str, JsonValue]) -> Question:
    config = body.get("generationConfig")
    config = config if isinstance(config, dict) else {}
    schema, limit = config.get("responseSchema"), config.get("maxOutputTokens")
    as_json = config.get("responseMimeType") == "application/json"
    return Question(
        protocol="gemini",
        model=model,
        system=_parts(body.get("systemInstruction")),
        messages=tuple(_parts(item) for item in _list(body.get("contents"))),
        schema=schema if isinstance(schema, dict) else None,
        format="json_schema" if schema else "json_object" if as_json else "text",
        max_tokens=limit if isinstance(limit, int) else None,
        body=body,
    )


def _parts(content: JsonValue) -> str:
    parts = content.get("parts") if isinstance(content, dict) else None
    return "".join(str(part.get("text", "")) for part in _list(parts) if isinstance(part, dict))


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
