"""What the pipeline needs of a place where subtitles are found.

ServiceError
├── QuotaUsedUp                     no more downloads before `resets_at`
├── FileGone                        this file is not to be had; another candidate may be
├── ServiceUnavailable              worth another attempt
│   └── RateLimited                 after `retry_after`
├── ServiceRefused                  another attempt would get the same answer
│   └── AccessRefused               the provider does not let us in; somebody must look at the settings
└── UnexpectedAnswer                the protocol does not allow what came back
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headrace.errors import ServiceError, ServiceRefused
from headrace_pipelines.subtitles.model import Candidate, Media, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A subtitle as it came."""

    content: bytes
    file_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How we stand with a provider."""

    provider: str
    available: bool
    reason: str = ""
    """Why it is not available."""
    throttled_until: datetime | None = None
    quota_allowed: int | None = None
    quota_remaining: int | None = None
    quota_resets_at: datetime | None = None


class QuotaUsedUp(ServiceError):
    """No more downloads before ``resets_at``; worth another attempt then, and not earlier."""

    def __init__(self, provider: str, resets_at: datetime) -> None:
        super().__init__(provider, resets_at)
        self.provider = provider
        self.resets_at = resets_at

    def __str__(self) -> str:
        return f"{self.provider} gives no more downloads before {self.resets_at:%Y-%m-%d %H:%M:%S %Z}"


class FileGone(ServiceError):
    """The provider does not have this file (any more); another candidate may do."""

    def __init__(self, provider: str, file_id: str, reason: str) -> None:
        super().__init__(provider, file_id, reason)
        self.provider = provider
        self.file_id = file_id
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.provider} does not give file {self.file_id}: {self.reason}"


class AccessRefused(ServiceRefused):
    """The provider does not let us in: key, user agent or password are wrong; somebody must look at the settings."""


class SubtitleProvider(Protocol):
    @property
    def name(self) -> str: ...

    async def search(self, media: Media, wanted: Wanted) -> tuple[Candidate, ...]:
        """Everything it has for this video in this language, unranked; nothing costs quota."""
        ...

    async def fetch(self, candidate: Candidate) -> Body:
        """The file itself; this is what quotas count. Raises QuotaUsedUp, FileGone, or what services raise."""
        ...

    async def standing(self) -> Standing:
        """As far as it is known without asking."""
        ...
