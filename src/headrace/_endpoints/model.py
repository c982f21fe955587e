"""Endpoints: addresses to which events are sent as webhooks."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace._base.clock import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """One attempt to deliver. ``status`` is that of the answer, None where there was none; without ``error`` it went well."""

    at: Instant
    event: str
    topic: str
    status: int | None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEndpoint:
    """What a person says."""

    name: str
    url: str
    topics: tuple[str, ...]
    filter: str
    allow_private: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where webhooks go. ``disabled_at`` None: it gets what its topics and its filter let through."""

    name: str
    url: str
    topics: tuple[str, ...]
    filter: str
    allow_private: bool
    secret: str = field(repr=False)
    old_secret: str | None = field(repr=False)
    old_until: Instant | None
    created_at: Instant
    disabled_at: Instant | None
    reason: str
    last: Attempted | None
    failures: int

    @property
    def enabled(self) -> bool:
        return self.disabled_at is None

    def secrets_at(self, at: Instant) -> tuple[str, ...]:
        """All that sign now: the new one, and the one before while its time lasts."""
        if self.old_secret is not None and self.old_until is not None and at < self.old_until:
            return (self.secret, self.old_secret)
        return (self.secret,)
