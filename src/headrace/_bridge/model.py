"""What passes over a bridge, and how a bridge is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class BrokerMessage:
    """A message of the broker, as a ``read=`` function of a ``Feed`` gets it. ``exchange`` is empty where it was sent to the queue itself."""

    body: bytes
    routing_key: str
    exchange: str = ""
    headers: Mapping[str, Any] = field(default_factory=dict)
    content_type: str | None = None
    message_id: str | None = None
    correlation_id: str | None = None
    redelivered: bool = False


@dataclass(frozen=True, kw_only=True)
class OutsideEvent:
    """An event that somebody else has said: what a message of the broker means.

    ``id``: of the same source, topic and subject it is taken once. ``generation``: of the job; another generation's is kept and moves nothing.
    """

    topic: str
    subject: str
    data: Any
    id: str
    source: str
    time: datetime | None = None
    generation: int | None = None


ReadMessage = Callable[[BrokerMessage], OutsideEvent]


@dataclass(frozen=True, kw_only=True)
class FeedView:
    """What a queue has brought in since the start. ``known``: events that were in the log already; ``refused``: put aside as unreadable."""

    queue: str
    taken: int
    known: int
    refused: int


@dataclass(frozen=True, kw_only=True)
class BridgeView:
    """How a bridge is. ``state`` is off, connecting, connected, or waiting (it lost the broker, and tries again at ``next_at``)."""

    name: str
    """``pipeline.bridge``"""
    exchange: str
    broker: str
    """Where the broker is, without the password; empty when the bridge is off."""
    state: str
    since: datetime
    error: str
    next_at: datetime | None
    sending: int
    """Events that were handed to the broker and are not confirmed."""
    confirmed: int
    unroutable: int
    """Confirmed ones of optional topics that no queue took."""
    behind: int
    """Positions of the log between the newest event and the last one that is known to be sent; not all of them concern the bridge."""
    lag: float
    """Seconds since the first of these was recorded."""
    feeds: tuple[FeedView, ...]
