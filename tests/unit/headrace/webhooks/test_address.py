"""Which addresses webhooks may reach."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import Any

import pytest

from headrace.errors import ServiceRefused, ServiceUnavailable
from headrace.webhooks._address import addresses_of, is_public

PRIVATE = (
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.2.1",
    "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1", "fec0::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1",
    "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:4136:e378:8000:63bf:80ff:fffe",
)  # fmt: skip
PUBLIC = ("1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101")


@pytest.mark.parametrize("text", PRIVATE)
def test_what_is_not_on_the_internet_is_refused(text: str) -> None:
    """An address is a way to whatever trusts this machine: the metadata of a cloud, a printer, a database; in each of its spellings."""
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_what_is_on_the_internet_is_not(text: str) -> None:
    """It is what webhooks are for."""
    assert is_public(ip_address(text))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0", "::1", "::ffff:127.0.0.1"])
async def test_loopback_is_refused_however_it_is_written(host: str) -> None:
    """The operating system reads more spellings than any list has."""
    with pytest.raises(ServiceRefused, match="--allow-private"):
        await addresses_of(host, 80, allow_private=False)

    assert await addresses_of("127.0.0.1", 80, allow_private=True) == ["127.0.0.1"]


async def test_of_several_addresses_only_public_ones_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever owns a name may put a private address among the others."""
    resolve(monkeypatch, "10.0.0.1", "1.1.1.1", "1.1.1.1", "::1")

    assert await addresses_of("example.org", 443, allow_private=False) == ["1.1.1.1"]


async def test_a_name_that_leads_nowhere_is_worth_another_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name service has bad minutes."""

    async def fail(*_: object, **__: object) -> object:
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", fail)
    with pytest.raises(ServiceUnavailable, match="Temporary failure"):
        await addresses_of("example.org", 443, allow_private=False)


async def test_what_is_no_name_at_all_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label of more than 63 letters is refused before anybody is asked."""
    with pytest.raises(ServiceUnavailable, match="cannot be found"):
        await addresses_of("x" * 70 + ".org", 443, allow_private=False)


def resolve(monkeypatch: pytest.MonkeyPatch, *literals: str) -> list[str]:
    """Let names lead there; returns the list of what was asked for."""
    asked: list[str] = []

    async def answer(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (literal, port)) for literal in literals]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", answer)
    return asked
