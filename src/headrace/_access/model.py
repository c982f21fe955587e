"""Who asks, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headrace._base.clock import Instant


class Scope(StrEnum):
    """What a token is good for; each holds those before it."""

    READ = "read"
    """Look at everything but tokens."""
    OPERATE = "operate"
    """Change runs, too."""
    ADMIN = "admin"
    """Make and revoke tokens, too."""

    def covers(self, needed: Scope) -> bool:
        return _RANK[self] >= _RANK[needed]


_RANK = {scope: rank for rank, scope in enumerate(Scope)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is kept of a token; the token itself is not."""

    pk: int
    id: str
    name: str
    scope: Scope
    created_at: Instant
    last_used_at: Instant | None
    revoked_at: Instant | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever sent a request."""

    name: str
    scope: Scope
