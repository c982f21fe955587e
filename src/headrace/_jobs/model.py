"""Jobs: records with a declared lifecycle; only events move them, and only along legal edges."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from headrace._base.clock import Instant
from headrace._events.model import Subject

D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One row of the table of jobs."""

    subject: Subject
    state: str
    terminal: bool
    generation: int
    data: bytes
    created_at: Instant
    updated_at: Instant
    position: int


@dataclass(frozen=True, kw_only=True)
class Job(Generic[D]):
    """How a job is at this moment. ``generation`` counts how often it was begun: 1, and one more for each retry."""

    lifecycle: str
    id: str
    state: str
    terminal: bool
    generation: int
    data: D
    created_at: datetime
    updated_at: datetime
    position: int = 0
    """Of the event that moved it last; jobs are listed by it."""


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a bound run has ended, for the event that tells it."""

    run_id: str
    state: str
    error_type: str = ""
    error_message: str = ""
    result: Any = None
