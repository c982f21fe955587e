"""What a provider must not forget when the process ends: its token, its quota, how long it wants to be left alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    account: str = ""
    """Whose token it is; that of another account is of no use."""
    token: str | None = field(default=None, repr=False)
    token_until: datetime | None = None
    base_url: str = ""
    """Where the provider wants this account to ask."""
    quota_allowed: int | None = None
    quota_remaining: int | None = None
    """None: not known; one download is tried, and its answer tells."""
    quota_resets_at: datetime | None = None
    throttled_until: datetime | None = None
    throttled_because: str = ""


class ProviderMemory(Protocol):
    """One row for each provider; the pipeline keeps it in its tables."""

    async def load(self, provider: str) -> Remembered | None: ...

    async def save(self, provider: str, remembered: Remembered) -> None: ...


class MemoryOfThisProcess:
    """Remembers until the process ends: for tests and for programs without tables."""

    def __init__(self) -> None:
        self.kept: dict[str, Remembered] = {}

    async def load(self, provider: str) -> Remembered | None:
        return self.kept.get(provider)

    async def save(self, provider: str, remembered: Remembered) -> None:
        self.kept[provider] = remembered
