"""What people and programs see of endpoints; never their secrets, but when one is new."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from headrace._base.clock import Instant, to_datetime
from headrace._endpoints.model import Attempted, Endpoint
from headrace._endpoints.rules import subscription_of


@dataclass(frozen=True, kw_only=True)
class AttemptView:
    """One attempt to deliver. ``status`` is that of the answer, null where there was none; ``error`` is empty when it went well."""

    ok: bool
    at: datetime
    event: str
    topic: str
    status: int | None
    error: str

    @staticmethod
    def of(attempted: Attempted) -> AttemptView:
        return AttemptView(
            ok=not attempted.error,
            at=to_datetime(attempted.at),
            event=attempted.event,
            topic=attempted.topic,
            status=attempted.status,
            error=attempted.error,
        )


@dataclass(frozen=True, kw_only=True)
class EndpointView:
    """Where webhooks go. ``failures``: attempts since the last one that went well; ``waiting`` and ``dead``: events that could not be delivered yet, or at all."""

    name: str
    url: str
    topics: tuple[str, ...]
    filter: str
    allow_private: bool
    enabled: bool
    reason: str
    created_at: datetime
    old_secret_until: datetime | None
    subscription: str
    last: AttemptView | None
    failures: int
    waiting: int
    dead: int

    @staticmethod
    def of(endpoint: Endpoint, *, waiting: int = 0, dead: int = 0, now: Instant) -> EndpointView:
        until = endpoint.old_until if endpoint.old_until is not None and endpoint.old_until > now else None
        return EndpointView(
            name=endpoint.name,
            url=endpoint.url,
            topics=endpoint.topics,
            filter=endpoint.filter,
            allow_private=endpoint.allow_private,
            enabled=endpoint.enabled,
            reason=endpoint.reason,
            created_at=to_datetime(endpoint.created_at),
            old_secret_until=None if until is None else to_datetime(until),
            subscription=subscription_of(endpoint.name),
            last=None if endpoint.last is None else AttemptView.of(endpoint.last),
            failures=endpoint.failures,
            waiting=waiting,
            dead=dead,
        )


@dataclass(frozen=True, kw_only=True)
class EndpointList:
    """All endpoints, by name."""

    endpoints: tuple[EndpointView, ...]


@dataclass(frozen=True, kw_only=True)
class NewSecret:
    """An endpoint with a secret that is told this once: who receives the webhooks checks their signatures with it."""

    secret: str = field(repr=False)
    about: EndpointView
