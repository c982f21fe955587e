"""The log of events as a program in another language follows it: over HTTP, through breaks and kills."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from tests.e2e.conftest import Place

pytestmark = pytest.mark.e2e


@dataclass
class Reader:
    """Reads as the standard of server-sent events says, and remembers its position."""

    position: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @contextmanager
    def open(self, address: str, **query: str) -> Iterator[Iterator[str]]:
        headers = {"Last-Event-ID": self.position} if self.position else {}
        with httpx2.stream("GET", f"{address}/api/events/stream", params=query, headers=headers, timeout=30) as answer:
            assert answer.status_code == 200, answer.read()
            yield answer.iter_lines()

    def read(self, lines: Iterator[str], count: int) -> None:
        name = data = ""
        until = len(self.events) + count
        while len(self.events) < until:
            line = next(lines)
            kind, _, value = line.partition(": ")
            if kind == "id":
                self.position = value
            elif kind == "event":
                name = value
            elif kind == "data":
                data = value
            elif not line and data:
                self.names.append(name)
                if name == "event":
                    self.events.append(json.loads(data))
                name = data = ""

    @property
    def numbers(self) -> list[int]:
        return [event["data"] for event in self.events]


def publish(address: str, *numbers: int, topic: str = "n.came") -> None:
    for number in numbers:
        body = {"topic": topic, "subject": f"s-{number % 2}", "data": number}
        httpx2.post(f"{address}/api/events", json=body).raise_for_status()


def test_nothing_is_missed_and_nothing_comes_twice_through_a_kill(place: Place) -> None:
    """That is what the position is for; a gap would be found weeks later, in somebody's books."""
    owner, up = place.up()
    reader = Reader()
    with reader.open(up["address"], after="0") as lines:
        publish(up["address"], *range(20))
        reader.read(lines, 15)  # of which more may be on their way
        owner.send_signal(signal.SIGKILL)
        owner.wait()

    _, up = place.up()
    publish(up["address"], *range(20, 30))
    with reader.open(up["address"], after="0") as lines:  # as a browser does: the same address, and its position
        reader.read(lines, 15)
        publish(up["address"], 30)
        reader.read(lines, 1)

    assert reader.numbers == list(range(31))
    assert set(reader.names) == {"event"}


def test_a_long_log_comes_whole_and_in_order_while_it_grows(place: Place) -> None:
    """Catching up and following meet in one place."""
    _, up = place.up()
    publish(up["address"], *range(150))
    reader = Reader()
    with reader.open(up["address"], after="0") as lines:
        reader.read(lines, 1)
        publish(up["address"], *range(150, 180))
        reader.read(lines, 179)

    assert reader.numbers == list(range(180))


def test_filters_hold_for_what_is_there_and_for_what_comes(place: Place) -> None:
    """A reader of one subject is not sent the others' data."""
    _, up = place.up()
    publish(up["address"], 1, 2, 3)
    publish(up["address"], 5, topic="m.came")
    reader = Reader()
    with reader.open(up["address"], after="0", topic="n.*", subject="s-1", where="data != 3") as lines:
        publish(up["address"], 6, 7)
        reader.read(lines, 2)

    assert reader.numbers == [1, 7]


def test_a_stream_of_events_does_not_keep_the_server_from_stopping(place: Place) -> None:
    """It would be waited for, and it has no end."""
    owner, up = place.up()
    with Reader().open(up["address"]) as lines:
        next(lines)
        owner.send_signal(signal.SIGTERM)
        list(lines)

    assert owner.wait(30) == 0


@pytest.mark.parametrize(
    "query,headers",
    [
        ({"topic": "a..b"}, {}),
        ({"where": "data +"}, {}),
        ({"after": "-1"}, {}),
        ({"topics": "a"}, {}),
        ({}, {"Last-Event-ID": "1769846400000000-7"}),
        ({}, {"Last-Event-ID": "9" * 5_000}),
    ],
)
def test_what_cannot_be_followed_is_refused(place: Place, query: dict[str, str], headers: dict[str, str]) -> None:
    """A stream that says nothing looks like one in which nothing happens."""
    _, up = place.up()

    answer = httpx2.get(f"{up['address']}/api/events/stream", params=query, headers=headers)

    assert answer.status_code == 422
    assert answer.json()["error"]["message"]


def test_a_position_of_another_log_is_told(place: Place) -> None:
    """After a backup was restored, the reader has to look at everything anew."""
    _, up = place.up()
    publish(up["address"], 1)
    reader = Reader(position="99")
    with reader.open(up["address"]) as lines:
        next(line for line in lines if line == "id: 1")
        publish(up["address"], 2)
        reader.read(lines, 1)

    assert (reader.numbers, reader.names) == ([2], ["event"])


def test_whoever_reads_needs_a_token_that_may_read(place: Place) -> None:
    """Events hold what the pipelines work on."""
    place.variables["HEADRACE_SERVER__TOKENS"] = "always"
    _, up = place.up()

    assert httpx2.get(f"{up['address']}/api/events/stream").status_code == 401
    token = place.run("tokens", "new", "reader", "--scope", "read").out.strip()
    with httpx2.stream(
        "GET", f"{up['address']}/api/events/stream", headers={"Authorization": f"Bearer {token}"}
    ) as answer:
        assert answer.status_code == 200
