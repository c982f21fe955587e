"""Tokens as people and programs see them, and what the server and the command line both do with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from headrace._access import store
from headrace._access.model import Scope, Token
from headrace._access.secret import new_token
from headrace._base.clock import Instant, to_datetime
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Reader
from headrace._store.companion import with_companion


@dataclass(frozen=True, kw_only=True)
class TokenView:
    """What is kept of a token; ``last_used_at`` is exact to the minute."""

    name: str
    id: str
    scope: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None

    @staticmethod
    def of(token: Token) -> TokenView:
        return TokenView(
            name=token.name,
            id=token.id,
            scope=token.scope.value,
            created_at=to_datetime(token.created_at),
            last_used_at=_moment(token.last_used_at),
            revoked_at=_moment(token.revoked_at),
        )


@dataclass(frozen=True, kw_only=True)
class TokenList:
    """All tokens that were ever made, the oldest first."""

    tokens: tuple[TokenView, ...]


@dataclass(frozen=True, kw_only=True)
class MadeToken:
    """A new token; ``token`` is told this once."""

    token: str = field(repr=False)
    about: TokenView


async def make_token(database: Database, clock: Clock, *, name: str, scope: Scope) -> MadeToken:
    """Make a token, of which only the hash is kept; raises ``Conflict`` while another one of that name is good."""
    secret, at = new_token(), clock.now()
    made = await database.write(lambda tx: store.add_token(tx, secret, name=name, scope=scope, at=at))
    return MadeToken(token=secret.text, about=TokenView.of(made))


async def revoke_token(database: Database, clock: Clock, name: str) -> TokenView:
    """From now on the token of that name is good for nothing; raises ``NotFound`` where there is none."""
    at = clock.now()
    revoked = await database.write(with_companion(lambda tx: store.revoke_token(tx, name, at)))
    return TokenView.of(revoked)


def list_tokens(reader: Reader) -> TokenList:
    return TokenList(tokens=tuple(map(TokenView.of, store.tokens(reader))))


def _moment(instant: Instant | None) -> datetime | None:
    return None if instant is None else to_datetime(instant)
