"""Sending one webhook, over real HTTP, to receivers of all kinds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headrace import Event, Pipeline, Retry, on
from headrace._base.clock import SystemClock
from headrace._base.webhook import new_secret, verify
from headrace.errors import EndpointGone, RateLimited, ServiceRefused, ServiceUnavailable, ValueRefused
from headrace.testing import Harness
from headrace.webhooks import send
from headrace.webhooks._sender import Sender, check_url, pause_asked
from tests.receiver import Answer, Receiver

AT = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)
EVENT: Event[Any] = Event(
    id="order.17", topic="order.packed", subject="17", data={"parcels": 1}, source="shop", time=AT, recorded_at=AT, position=1, sequence=1,
)  # fmt: skip


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().open() as opened:
        yield opened


async def test_an_event_arrives_signed(receiver: Receiver) -> None:
    """With each of the secrets, so that the receiver may know either."""
    old, new = new_secret(), new_secret()
    delivered = await send(receiver.url, EVENT, secret=[new, old], allow_private=True)
    (came,) = receiver.seen

    assert delivered.status == 204
    assert came.path == "/hooks"
    assert came.headers["content-type"] == "application/cloudevents+json"
    assert came.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert json.loads(came.body)["data"] == {"parcels": 1}
    for secret in (old, new):
        id = verify(came.headers, came.body, secrets=[secret], now=SystemClock().now())
        assert id == came.headers["webhook-id"] == "order%2E17"


async def test_a_private_address_needs_leave(receiver: Receiver) -> None:
    """The receiver of this test is on this machine; nothing of it is reached."""
    with pytest.raises(ServiceRefused, match="--allow-private"):
        await send(receiver.url, EVENT)

    assert receiver.connections == 0


@pytest.mark.parametrize(
    "answer,error,text",
    [
        (Answer(500), ServiceUnavailable, "answered 500"),
        (Answer(408), ServiceUnavailable, "answered 408"),
        (Answer(400), ServiceRefused, "answered 400"),
        (Answer(404, body=b"not here"), ServiceRefused, "answered 404"),
        (Answer(410), EndpointGone, "no more webhooks"),
        (Answer(429), RateLimited, "answered 429"),
        (Answer(302, {"location": "/other"}), ServiceRefused, "redirects are not followed"),
        (Answer(307, {"location": "http://169.254.169.254/"}), ServiceRefused, "redirects are not followed"),
        (Answer(raw=b"SSH-2.0-OpenSSH\r\n"), ServiceUnavailable, "could not be asked"),
        (Answer(raw=b""), ServiceUnavailable, "could not be asked"),
        (Answer(hangs=True), ServiceUnavailable, "did not answer within 0.2 s"),
        (Answer(200, {f"x-{number}": "y" * 1_000 for number in range(99)}, huge=0), None, ""),
        (Answer(200, {f"x-{number}": "y" * 60_000 for number in range(50)}), ServiceUnavailable, "could not be asked"),
    ],
)
async def test_every_answer_means_something(
    receiver: Receiver, answer: Answer, error: type[Exception] | None, text: str
) -> None:
    """What is worth another attempt, what is not, and what must not be done at all; nothing of the path is in the text."""
    receiver.will(answer)
    if error is None:
        assert (await send(receiver.url, EVENT, allow_private=True, timeout=5)).status == 200
        return
    with pytest.raises(error, match=text) as caught:
        await send(f"{receiver.url}?token=open", EVENT, allow_private=True, timeout=0.2 if answer.hangs else 10)

    assert "token" not in str(caught.value)
    assert "/hooks" not in str(caught.value)
    assert len(receiver.seen) == 1


async def test_a_huge_answer_is_not_read(receiver: Receiver) -> None:
    """Ours is the memory; what the first line says is all that is wanted."""
    receiver.will(Answer(200, huge=500 * 2**20))
    delivered = await send(receiver.url, EVENT, allow_private=True)

    assert delivered.status == 200
    assert receiver.written < 100 * 2**20


async def test_a_short_answer_leaves_the_connection_open(receiver: Receiver) -> None:
    """A busy endpoint is not asked to shake hands for each event."""
    receiver.usual = Answer(200, body=b'{"ok": true}')
    async with Sender(allow_private=True) as sender:
        for _ in range(3):
            await sender.send(receiver.url, EVENT, secrets=(), timeout=timedelta(seconds=5), at=AT)

    assert (receiver.connections, len(receiver.seen)) == (1, 3)


@pytest.fixture
def nobody() -> str:
    """The address of a receiver that was there a moment ago."""
    with Receiver().open() as gone:
        return gone.url


async def test_a_receiver_that_is_not_there_is_worth_another_try(nobody: str) -> None:
    """It is being deployed, perhaps."""
    with pytest.raises(ServiceUnavailable, match="could not be asked"):
        await send(nobody, EVENT, allow_private=True)


async def test_a_proxy_of_the_environment_is_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is connected to would be the proxy, and the address that was checked nothing but a word in a header."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert (await send(receiver.url, EVENT, allow_private=True)).status == 204


@pytest.mark.parametrize(
    "text,pause",
    [
        ("120", timedelta(minutes=2)),
        ("0", timedelta(0)),
        ("99999999999999", timedelta(days=1)),
        ("Sat, 31 Jan 2026 08:05:00 GMT", timedelta(minutes=5)),
        ("Sat, 31 Jan 2026 07:00:00 GMT", timedelta(0)),
        ("Sat, 31 Jan 2099 07:00:00 GMT", timedelta(days=1)),
        ("soon", None),
        ("-5", None),
        ("", None),
    ],
)
def test_a_pause_that_is_asked_for_is_understood(text: str, pause: timedelta | None) -> None:
    """Seconds or a date, and no longer than a day, whatever is said."""
    assert pause_asked(text, AT) == pause


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "ftp://example.org", "https://", "https:///path", "https://user:pw@example.org", "https://user@example.org",  # pragma: allowlist secret
        "https://example.org:0", "https://example.org:99999", "https://example.org/#part", "https://exa mple.org", "https://müller.de",
        "https://example.org/" + "x" * 2_000, "http://[::1", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_odd_addresses_are_refused(url: str) -> None:
    """At the time when they are given, by whoever gives them."""
    with pytest.raises(ValueRefused):
        check_url(url)


async def test_a_handler_of_a_pipeline_sends_with_the_time_and_the_retries_of_its_engine(receiver: Receiver) -> None:
    """That is what it is there for: notifications to an address that the pipeline's settings name."""
    secret = new_secret()

    async def notify(event: Event[Any]) -> None:
        await send(receiver.url, event, secret=secret, allow_private=True)

    receiver.will(Answer(503, {"retry-after": "600"}))
    retry = Retry(attempts=3, first=1, on=ServiceUnavailable)
    async with Harness(Pipeline("p", triggers=[on("n", notify, retry=retry)])) as harness:
        await harness.publish("n", 1, subject="a", id="n-1")
        await harness.settle()
        await harness.advance(timedelta(minutes=9))
        before = len(receiver.seen)
        await harness.advance(timedelta(minutes=2))
        verify(receiver.seen[1].headers, receiver.seen[1].body, secrets=[secret], now=harness.clock.now())

    assert (before, len(receiver.seen)) == (1, 2)
    assert {came.headers["webhook-id"] for came in receiver.seen} == {"n-1"}


async def test_an_attempt_that_is_cancelled_leaves_nothing_behind(receiver: Receiver) -> None:
    """The owner stops while a receiver hangs."""
    receiver.will(Answer(hangs=True))
    async with Sender(allow_private=True) as sender:
        sending = asyncio.ensure_future(
            sender.send(receiver.url, EVENT, secrets=(), timeout=timedelta(seconds=60), at=AT)
        )
        await asyncio.to_thread(receiver.next)
        sending.cancel()
        await asyncio.wait((sending,))

    assert sending.cancelled()
