"""What tokens and cookies look like, and how they are compared without ever being kept."""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass, field
from hashlib import sha256

_FORM = re.compile(r"hr_([0-9a-f]{8})_[0-9a-f]{48}")
_ID_BYTES = 4
_SECRET_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A new token; ``text`` is shown once, to whoever asked for it."""

    id: str
    text: str = field(repr=False)


def new_token() -> Secret:
    """``hr_<id>_<secret>``: the prefix lets scanners find it where it should not be, the id names it in the table."""
    id = secrets.token_hex(_ID_BYTES)
    return Secret(id=id, text=f"hr_{id}_{secrets.token_hex(_SECRET_BYTES)}")


def new_session() -> str:
    """What a cookie holds: it stands for a login and can be ended, which a token in a cookie could not."""
    return secrets.token_hex(_SECRET_BYTES)


def id_of(text: str) -> str | None:
    """The id in a token; None for what cannot be one."""
    match = _FORM.fullmatch(text)
    return None if match is None else match[1]


def digest(text: str) -> bytes:
    # Without salt or stretching: 192 random bits cannot be guessed, whatever a guess costs.
    return sha256(text.encode()).digest()


def is_same(given: bytes, kept: bytes) -> bool:
    """Takes the same time wherever the two differ."""
    return hmac.compare_digest(given, kept)
