"""What a stand-in says, in the words of each protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from pydantic import JsonValue

from headrace_pipelines.services.language_model.stand_in.question import Question
from headrace_pipelines.services.language_model.stand_in.trouble import Refusal
from headrace_pipelines.services.language_model.tokens import estimated_tokens

HANG_UP = {"content-length": "1000000"}
"""More is promised than comes, so the connection ends in the middle."""
_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    text: str
    finish: Literal["stop", "length", "refused"] = "stop"
    why: str = ""


def cut(text: str, tokens: int | None) -> Said:
    """As much of the text as so many tokens hold."""
    if tokens is None or estimated_tokens(text) <= tokens:
        return Said(text=text)
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimated_tokens(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return Said(text=text[:low], finish="length")


def fitting(question: Question) -> str:
    """Something that fits the schema of the question and depends on nothing but the question."""
    if question.schema is None:
        return question.prompt[:_SHOWN]
    return json.dumps(_instance(dict(question.schema), question.prompt), ensure_ascii=False)


def _instance(schema: JsonValue, seed: str) -> JsonValue:
    if not isinstance(schema, dict):
        return None
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[int(sha256(seed.encode()).hexdigest(), 16) % len(choices)]
    match str(schema.get("type", "")).lower():
        case "object":
            properties = schema.get("properties")
            named = properties if isinstance(properties, dict) else {}
            return {name: _instance(inside, f"{seed}.{name}") for name, inside in named.items()}
        case "array":
            least = schema.get("minItems")
            count = least if isinstance(least, int) else 1
            return [_instance(schema.get("items"), f"{seed}[{index}]") for index in range(count)]
        case "integer" | "number":
            least = schema.get("minimum")
            return least if isinstance(least, int | float) else 0
        case "boolean":
            return False
        case "string":
            return seed[:_SHOWN]
        case _:
            return None


def openai_answer(question: Question, said: Said) -> dict[str, JsonValue]:
    refused = said.finish == "refused"
    message: dict[str, JsonValue] = {
        "role": "assistant",
        "content": None if refused else said.text,
        "refusal": said.why if refused else None,
    }
    tokens = estimated_tokens(said.text)
    return {
        "id": "chatcmpl-stand-in",
        "object": "chat.completion",
        "created": 0,
        "model": question.model,
        "choices": [{"index": 0, "finish_reason": "stop" if refused else said.finish, "message": message}],
        "usage": {
            "prompt_tokens": question.tokens,
            "completion_tokens": tokens,
            "total_tokens": question.tokens + tokens,
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
    }


def openai_refusal(refusal: Refusal) -> dict[str, JsonValue]:
    return {
        "error": {
            "message": refusal.message,
            "type": refusal.kind or "invalid_request_error",
            "param": refusal.param or None,
            "code": refusal.code or None,
        }
    }


def gemini_answer(question: Question, said: Said) -> dict[str, JsonValue]:
    tokens = estimated_tokens(said.text)
    usage: dict[str, JsonValue] = {
        "promptTokenCount": question.tokens,
        "candidatesTokenCount": tokens,
        "thoughtsTokenCount": 2,
        "totalTokenCount": question.tokens + tokens + 2,
    }
    if said.finish == "refused":
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage}
    half = len(said.text) // 2
    parts: list[JsonValue] = [
        {"text": "Letter by letter, then.", "thought": True},
        {"text": said.text[:half]},
        {"text": said.text[half:]},
    ]
    finish = "MAX_TOKENS" if said.finish == "length" else "STOP"
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": finish}],
        "usageMetadata": usage,
        "modelVersion": question.model,
    }


def gemini_refusal(refusal: Refusal) -> dict[str, JsonValue]:
    details: list[Mapping[str, JsonValue]] = []
    if refusal.reason:
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": refusal.reason})
    if refusal.quota:
        violations: list[JsonValue] = [{"quotaId": refusal.quota}]
        details.append({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations})
    if refusal.retry_after is not None:
        delay = f"{refusal.retry_after.total_seconds():g}s"
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
    status = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
    return {
        "error": {
            "code": refusal.status,
            "message": refusal.message,
            "status": status.get(refusal.status, "INTERNAL"),
            "details": [dict(detail) for detail in details],
        }
    }
