"""Which addresses are anybody's: a webhook must not be a way into the network behind the server.

What a name leads to is asked once, and the very address that was judged is connected to. A name that leads elsewhere a moment later
gains nothing by it.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from headrace.errors import ServiceRefused, ServiceUnavailable

Address = IPv4Address | IPv6Address

# Both hold an IPv4 address in their last 32 bits, to which routers and operating systems pass on what is sent there.
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))


def is_public(address: Address) -> bool:
    """Whether it is one of the internet's, and not of this machine, its networks, or of nobody."""
    if isinstance(address, IPv6Address):
        inner = _inside(address)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _inside(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _TRANSLATED):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


async def addresses_of(host: str, port: int, *, allow_private: bool) -> list[str]:
    """What may be connected to for this host, in the order in which to try; raises ``ServiceRefused`` where it is none of it."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no name"
        raise ServiceUnavailable(f"{host} cannot be found: {reason}") from error
    literals = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    allowed = [literal for literal in literals if allow_private or is_public(ip_address(literal))]
    if not allowed:
        raise ServiceRefused(
            f"{host} is an address of this machine or of a private network ({', '.join(literals)}), which nothing here connects to; "
            "if that is meant, allow it: --allow-private, or allow_private=True"
        )
    return allowed
