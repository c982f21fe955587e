"""What was checked is what is connected to."""

from __future__ import annotations

from collections.abc import Iterable

import httpcore2
import pytest

from headrace.errors import ServiceRefused
from headrace.webhooks._connection import CheckedBackend
from tests.unit.headrace.webhooks.test_address import resolve


class Wires(httpcore2.AsyncNetworkBackend):
    """Remembers where connections go to."""

    def __init__(self, dead: Iterable[str] = ()) -> None:
        self.tried: list[str] = []
        self._dead = set(dead)

    async def connect_tcp(self, host: str, *_: object, **__: object) -> httpcore2.AsyncNetworkStream:
        self.tried.append(host)
        if host in self._dead:
            raise httpcore2.ConnectError("nobody there")
        return httpcore2.AsyncMockStream([])


async def test_the_address_that_was_checked_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is asked for again may lead elsewhere by then; that is how private networks are reached."""
    wires = Wires()
    asked = resolve(monkeypatch, "1.1.1.1")
    await CheckedBackend(allow_private=False, behind=wires).connect_tcp("rebinds.example.org", 443)

    assert asked == ["rebinds.example.org"]
    assert wires.tried == ["1.1.1.1"]


async def test_nothing_is_connected_to_that_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even to find out that nobody is there: an open port is told by the time it takes."""
    wires = Wires()
    resolve(monkeypatch, "10.0.0.1", "::ffff:127.0.0.1")
    with pytest.raises(ServiceRefused):
        await CheckedBackend(allow_private=False, behind=wires).connect_tcp("inside.example.org", 443)

    assert wires.tried == []


async def test_the_next_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two addresses, of which one is dead, is reached; where all are, that is said."""
    resolve(monkeypatch, "2606:4700:4700::1111", "1.1.1.1")
    wires = Wires(dead=["2606:4700:4700::1111"])
    await CheckedBackend(allow_private=False, behind=wires).connect_tcp("example.org", 443)
    with pytest.raises(httpcore2.ConnectError):
        await CheckedBackend(allow_private=False, behind=Wires(dead=["2606:4700:4700::1111", "1.1.1.1"])).connect_tcp(
            "example.org", 443
        )

    assert wires.tried == ["2606:4700:4700::1111", "1.1.1.1"]
