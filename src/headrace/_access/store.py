"""Rows in, values out."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

from headrace._access.model import Scope, Token
from headrace._access.secret import Secret, digest, id_of, is_same
from headrace._base.clock import Instant, to_micros
from headrace._ports.database import Reader, SqlValue, Transaction
from headrace._store.statements import load
from headrace.errors import Conflict, NotFound, ValueRefused

SQL = load("headrace._access")

SESSION = timedelta(days=14)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_name(name: str) -> str:
    """Names stand in paths, lists and logs."""
    if not _NAME.fullmatch(name):
        raise ValueRefused(
            f"{name!r} cannot be the name of a token: it has up to 64 letters, digits, dots, dashes and underscores, a letter or digit first"
        )
    return name


def add_token(tx: Transaction, secret: Secret, *, name: str, scope: Scope, at: Instant) -> Token:
    """Keep a new token; raises ``Conflict`` while another one of that name is good."""
    new: dict[str, SqlValue] = {
        "id": secret.id,
        "name": check_name(name),
        "hash": digest(secret.text),
        "scope": scope.value,
        "at": at,
    }
    if not tx.run(SQL.add_token, new):
        raise Conflict(f"there is a token {name!r} already; use another name, or revoke that one first")
    return _good_token(tx, name)


def revoke_token(tx: Transaction, name: str, at: Instant) -> Token:
    """From now on the token of that name is good for nothing, and whoever logged in with it is out."""
    token = _good_token(tx, name)
    tx.run(SQL.revoke_token, {"pk": token.pk, "at": at})
    tx.run(SQL.close_sessions_of, {"token": token.pk})
    return replace(token, revoked_at=at)


def tokens(reader: Reader) -> list[Token]:
    """All that were ever made, the oldest first."""
    return [_token(*row) for row in reader.all(SQL.all_tokens)]


def any_token(reader: Reader) -> bool:
    """Whether there is one that has not been revoked."""
    return reader.one(SQL.any_token) is not None


def token_behind(reader: Reader, text: str) -> Token | None:
    """The good token that this text is."""
    row = reader.one(SQL.token_by_id, {"id": id_of(text) or ""})
    if row is None or not is_same(digest(text), row[-1]):
        return None
    return _token(*row[:-1])


def note_use(tx: Transaction, pk: int, at: Instant) -> None:
    tx.run(SQL.note_use, {"pk": pk, "at": at})


def open_session(tx: Transaction, session: str, token: Token, at: Instant) -> None:
    """Let a browser in for a while that has shown this token."""
    tx.run(SQL.forget_sessions, {"at": at})
    expires_at = at + to_micros(SESSION)
    tx.run(SQL.open_session, {"hash": digest(session), "token": token.pk, "expires_at": expires_at})


def close_session(tx: Transaction, session: str) -> None:
    tx.run(SQL.close_session, {"hash": digest(session)})


def token_of_session(reader: Reader, session: str, at: Instant) -> Token | None:
    """The token that a browser logged in with, while both are good."""
    row = reader.one(SQL.session, {"hash": digest(session), "at": at})
    return None if row is None else _token(*row)


def _good_token(reader: Reader, name: str) -> Token:
    row = reader.one(SQL.token_by_name, {"name": name})
    if row is None:
        raise NotFound(f"there is no token {name!r} that could still be used; `headrace tokens ls` lists them")
    return _token(*row)


def _token(pk: int, id: str, name: str, scope: str, *moments: Any) -> Token:
    created_at, last_used_at, revoked_at = moments
    return Token(
        pk=pk, id=id, name=name, scope=Scope(scope), created_at=created_at, last_used_at=last_used_at, revoked_at=revoked_at,
    )  # fmt: skip
