"""The connection layer of httpx2 with an address book of our own: it connects to what was checked, and the name is for TLS alone."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from functools import cache

import httpcore2  # comes with httpx2, which does not let its callers choose what is connected to

from headrace.webhooks._address import addresses_of

_IDLE_CONNECTIONS = 20
_SECONDS_IDLE = 30.0


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, *, allow_private: bool, behind: httpcore2.AsyncNetworkBackend | None = None) -> None:
        self._allow_private = allow_private
        self._behind = behind or httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await addresses_of(host, port, allow_private=self._allow_private)
        for address in addresses[:-1]:
            try:
                return await self._behind.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._behind.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._behind.sleep(seconds)


def open_pool(*, allow_private: bool) -> httpcore2.AsyncConnectionPool:
    """Connections without redirects, proxies, cookies and all else that a browser would do. Takes a while; not for the event loop."""
    # How many there are at once is for those to bound who send.
    return httpcore2.AsyncConnectionPool(
        ssl_context=_trust(),
        max_connections=None,
        max_keepalive_connections=_IDLE_CONNECTIONS,
        keepalive_expiry=_SECONDS_IDLE,
        network_backend=CheckedBackend(allow_private=allow_private),
    )


@cache
def _trust() -> ssl.SSLContext:
    return httpcore2.default_ssl_context()
