"""The pages of a real owner: there at the address that it prints, and no obstacle to its end."""

from __future__ import annotations

import signal
import socket
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import Place

pytestmark = pytest.mark.e2e


def get(address: str, path: str) -> tuple[int, str]:
    request = urllib.request.Request(address + path, headers={"Accept": "text/html"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_address_that_up_prints_shows_the_dashboard(place: Place) -> None:
    """A person at this machine opens it, and is there."""
    _, told = place.up("--store", "given.db")
    place.run("runs", "start", "mail", "--arg", "who=ada", "--store", "given.db")

    pages = [get(told["address"], path) for path in ("/", "/runs", "/runs/mail-ada", "/system", "/try?flow=nap")]

    assert [page[0] for page in pages] == [200] * 5
    assert "mail-ada" in pages[1][1]
    assert 'class="row changed"' in pages[3][1]  # --store and --port are no defaults, and the page says so
    assert ">option<" in pages[3][1]


def test_an_open_page_does_not_hold_the_owner(place: Place) -> None:
    """Browsers stay open for days; stopping must not wait for them."""
    owner, told = place.up()
    here = urlsplit(told["address"])
    with socket.create_connection((str(here.hostname), here.port or 0), timeout=30) as stream:
        stream.sendall(b"GET /live/changes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        told_first = b""
        while b"retry" not in told_first:
            told_first += stream.recv(4096)

        owner.send_signal(signal.SIGTERM)
        rest = b""
        while part := stream.recv(4096):
            rest += part

    assert owner.wait(timeout=60) == 0
    assert rest.endswith(b"0\r\n\r\n")  # ended in order, not cut off
