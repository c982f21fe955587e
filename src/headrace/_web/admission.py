"""Who is let in; decided once, at the start, from where the server listens and what is set."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address

from headrace._access.store import any_token
from headrace._ports.database import Reader
from headrace.errors import ConfigurationError
from headrace.settings import ServerSettings

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""What this machine calls itself in a Host header."""


@dataclass(frozen=True, kw_only=True)
class Admission:
    """Who is let in, and by which names they may call the server."""

    needs_token: bool = False
    hosts: frozenset[str] = LOOPBACK
    owner_token: str | None = field(default=None, repr=False)
    """The token of those who can read the owner's file beside the store."""


def admission(settings: ServerSettings, *, owner_token: str | None = None) -> Admission:
    return Admission(
        needs_token=settings.tokens == "always" or others_may_come(settings),
        hosts=LOOPBACK | {settings.host.lower(), *settings.hosts},
        owner_token=owner_token,
    )


def others_may_come(settings: ServerSettings) -> bool:
    """Whether people or programs of other machines are meant to reach this server, by themselves or through a proxy."""
    return not is_loopback(settings.host) or bool(settings.hosts)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_token_exists(reader: Reader) -> None:
    """Raises ``ConfigurationError`` where a server that others may reach would have no token to tell them apart."""
    if not any_token(reader):
        raise ConfigurationError(
            "others could reach this server, and there is no token to protect it yet; "
            "make one: headrace tokens new NAME --scope admin; or listen at 127.0.0.1, without HEADRACE_SERVER__HOSTS"
        )
