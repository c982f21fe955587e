"""Which requests are meant for this server, and which came from its own pages."""

from __future__ import annotations

import pytest

from headrace._web.origin import came_through_proxy, is_meant, is_own, name_in

NAMES = {"127.0.0.1", "localhost", "[::1]", "runs.example"}
HOSTS = [
    ("127.0.0.1:8420", "127.0.0.1", True),
    ("LocalHost:1", "127.0.0.1", True),
    ("[::1]:8420", "::1", True),
    ("[::1]", "::1", True),
    ("runs.example", "10.0.0.5", True),
    ("10.0.0.5:8420", "10.0.0.5", True),
    ("[fd00::5]:8420", "fd00::5", True),
    ("10.0.0.6:8420", "10.0.0.5", False),
    ("evil.test", "10.0.0.5", False),
    ("evil.test", "evil.test", False),
    ("127.0.0.1.evil.test", "127.0.0.1", False),
    ("localhost:8420.evil.test", "127.0.0.1", False),
    ("", "127.0.0.1", False),
    ("", None, False),
]


@pytest.mark.parametrize("host,address,meant", HOSTS)
def test_host_names_this_server(host: str, address: str | None, meant: bool) -> None:
    """A name that its owner points here belongs to somebody else."""
    scope = {"type": "http", "server": None if address is None else (address, 8420)}

    assert is_meant(host, scope, NAMES) is meant


def test_port_is_no_part_of_a_name() -> None:
    """It may be any, behind a proxy."""
    assert [name_in(host) for host in ("A.example:80", "a.example", "[::1]:80", "[::1]")] == [
        "a.example",
        "a.example",
        "[::1]",
        "[::1]",
    ]


SENT = [
    ("POST", {}, True),
    ("POST", {"origin": "http://a:1", "host": "a:1"}, True),
    ("POST", {"origin": "https://a", "host": "A"}, True),
    ("POST", {"origin": "http://b", "host": "a"}, False),
    ("POST", {"origin": "null", "host": "a"}, False),
    ("POST", {"origin": "", "host": "a"}, False),
    ("POST", {"sec-fetch-site": "same-origin", "origin": "http://b", "host": "a"}, True),
    ("POST", {"sec-fetch-site": "none"}, True),
    ("POST", {"sec-fetch-site": "same-site"}, False),
    ("POST", {"sec-fetch-site": "cross-site", "origin": "http://a", "host": "a"}, False),
    ("POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, False),
    ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, True),
    ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, False),
    ("GET", {"origin": "http://b", "host": "a"}, True),
    ("DELETE", {"origin": "http://b", "host": "a"}, False),
]


@pytest.mark.parametrize("method,headers,own", SENT)
def test_sender_is_a_page_of_ours_or_none(method: str, headers: dict[str, str], own: bool) -> None:
    """Links may lead here from anywhere; nothing else of another site may."""
    assert is_own(method, headers) is own


def test_proxies_say_so() -> None:
    """What they pass on may come from anywhere."""
    assert came_through_proxy({"x-forwarded-for": "192.0.2.1"})
    assert not came_through_proxy({"host": "127.0.0.1"})
