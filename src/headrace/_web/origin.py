"""Whether a request is meant for this server, and whether it was a page of this server that sent it.

A browser sends requests in its user's name for any page that asks. What it lets no page forge is the Host, Origin and
Sec-Fetch headers, so they are what is judged. Programs send none of the last two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address

from starlette.types import Scope

from headrace._web.demand import SAFE

_PROXIED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


def name_in(host: str) -> str:
    """A Host header without its port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdigit() else host.lower()


def is_meant(host: str, scope: Scope, names: Collection[str]) -> bool:
    """Whether a Host header names this server.

    A page of another site can point its own name at this machine, but then its name is in the header. The address at which the
    connection has arrived is no name, so nobody can point it elsewhere.
    """
    name = name_in(host)
    return name in names or name == _as_host(scope)


def _as_host(scope: Scope) -> str | None:
    try:
        address = ip_address((scope.get("server") or ("", 0))[0])
    except ValueError:
        return None
    return f"[{address}]" if address.version == 6 else str(address)


def is_own(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a page of this server sent the request, or no page at all; links of others may lead here."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        follows_link = method in SAFE and headers.get("sec-fetch-mode") == "navigate"
        return site in ("same-origin", "none") or follows_link
    sender = headers.get("origin")
    return sender is None or method in SAFE or sender.partition("://")[2].lower() == headers.get("host", "").lower()


def came_through_proxy(headers: Mapping[str, str]) -> bool:
    """Whether it was passed on by a proxy, so that it may come from anywhere."""
    return any(name in headers for name in _PROXIED)
