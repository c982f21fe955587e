"""Requests that came with a key, and what was answered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

KEPT = timedelta(hours=24)
"""How long a key is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered to a request."""

    status: int
    type: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A request that was carried out; without an answer the process died before it gave one."""

    hash: bytes
    answer: Answer | None
