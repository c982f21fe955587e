"""Webhooks in both directions between real processes, through misbehaviour and kills."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from headrace._base.clock import SystemClock
from headrace._base.webhook import new_secret, sign, verify
from tests.e2e.conftest import Place
from tests.receiver import Answer, Receiver

pytestmark = pytest.mark.e2e

SHOP = """
from pydantic import BaseModel, SecretStr

from headrace import EventDraft, Pipeline, Webhook, WebhookCall


class Given(BaseModel):
    carrier_secret: SecretStr | None = None
    player_token: SecretStr | None = None


def of_carrier(call: WebhookCall) -> EventDraft | None:
    if call.body["type"] != "parcel.shipped":
        return None
    return EventDraft("parcel.shipped", call.body["data"], subject=call.body["data"]["parcel"])


def of_player(call: WebhookCall) -> EventDraft:
    return EventDraft("item.added", {"name": call.body["Name"]}, subject=call.body["ItemId"])


pipeline = Pipeline(
    "shop",
    webhooks=[
        Webhook("carrier", of_carrier, secret="carrier_secret"),  # pragma: allowlist secret
        Webhook("player", of_player, token="player_token", header="X-Token"),
    ],
    settings=Given,
)
"""
SECRET = new_secret()


@pytest.fixture
def shop(place: Place) -> Place:
    (place.folder / "shop.py").write_text(SHOP)
    place.variables |= {
        "HEADRACE_SHOP_CARRIER_SECRET": SECRET,
        "HEADRACE_SHOP_PLAYER_TOKEN": "sesame",
        "HEADRACE_WEBHOOKS__TIMEOUT": "1",
        "HEADRACE_WEBHOOKS__WAITS": "0.1,0.1,0.1",
        "HEADRACE_LIMITS__DRAIN": "0.5",
    }
    return place


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().open() as opened:
        yield opened


def publish(address: str, number: int, subject: str = "a") -> None:
    body = {"topic": "n.came", "subject": subject, "data": number, "id": f"n/{number}"}
    httpx2.post(f"{address}/api/events", json=body).raise_for_status()


def data(receiver: Receiver) -> list[Any]:
    return [json.loads(came.body)["data"] for came in receiver.seen]


def add(shop: Place, receiver: Receiver, *words: str) -> str:
    added = shop.run("webhooks", "add", "billing", receiver.url, "--allow-private", *words)
    assert added.code == 0, added.err
    return added.out.strip()


def test_a_misbehaving_receiver_gets_everything_in_the_end(shop: Place, receiver: Receiver) -> None:
    """It hangs, leads elsewhere, breaks, talks without end; each event still arrives, in order, under one id."""
    secret = add(shop, receiver, "--topic", "n.#")
    _, up = shop.up(target="shop.py")
    receiver.will(
        Answer(hangs=True), Answer(302, {"location": "/elsewhere"}), Answer(500), Answer(200, huge=300 * 2**20),
        Answer(raw=b"what?"), Answer(503, {"retry-after": "1"}),
    )  # fmt: skip
    publish(up["address"], 1)
    publish(up["address"], 2)
    shop.until(lambda: len(receiver.seen) == 7)
    shop.until(lambda: shop.run("webhooks", "show", "billing", "--json").json["last"]["ok"])

    assert data(receiver) == [1, 1, 1, 1, 2, 2, 2]
    assert len({came.headers["webhook-id"] for came in receiver.seen}) == 2
    assert receiver.written < 100 * 2**20
    for came in receiver.seen:
        verify(came.headers, came.body, secrets=[secret], now=SystemClock().now())


def test_nothing_is_lost_when_the_owner_is_killed(shop: Place, receiver: Receiver) -> None:
    """In the middle of a delivery, with more behind it; what was under way comes again, and says that it is the same."""
    _, up = shop.up(target="shop.py")
    add(shop, receiver)
    receiver.will(Answer(hangs=True))
    publish(up["address"], 1)
    receiver.next()
    publish(up["address"], 2)
    publish(up["address"], 3, subject="b")
    shop.owners[0].send_signal(signal.SIGKILL)
    shop.owners[0].wait()

    shop.up(target="shop.py")
    shop.until(lambda: {1, 2, 3} <= set(data(receiver)[1:]))

    assert [number for number in data(receiver) if number != 3] == [1, 1, 2]
    assert receiver.seen[0].headers["webhook-id"] == "n/1"


def test_an_endpoint_is_steered_while_it_runs(shop: Place, receiver: Receiver) -> None:
    """Added, tried, gone by itself, enabled, given a new secret, removed: from the command line, asked of the owner."""
    _, up = shop.up(target="shop.py")
    add(shop, receiver)
    tried = shop.run("webhooks", "test", "billing")
    receiver.will(Answer(410))
    publish(up["address"], 1)
    shop.until(lambda: not shop.run("webhooks", "show", "billing", "--json").json["enabled"])
    gone = shop.run("webhooks", "ls")
    enabled = shop.run("webhooks", "enable", "billing")
    shop.until(lambda: len(receiver.seen) == 3)
    rotated = shop.run("webhooks", "rotate", "billing", "--overlap", "0")
    publish(up["address"], 2)
    shop.until(lambda: len(receiver.seen) == 4)
    removed = shop.run("webhooks", "rm", "billing")
    publish(up["address"], 3)

    assert tried.out == "billing answered 204.\n"
    assert gone.out.splitlines()[1].startswith("disabled")
    assert [outcome.code for outcome in (enabled, rotated, removed)] == [0, 0, 0]
    assert data(receiver)[1:] == [1, 1, 2]
    came = receiver.seen[3]
    verify(came.headers, came.body, secrets=[rotated.out.strip()], now=SystemClock().now())
    assert "webhook:billing" not in shop.run("events", "subscriptions", "--json").out


def test_a_dead_receiver_does_not_keep_the_owner_from_stopping(shop: Place, receiver: Receiver) -> None:
    """A deployment waits as long as it is set to, and no longer."""
    owner, up = shop.up(target="shop.py")
    add(shop, receiver)
    receiver.usual = Answer(hangs=True)
    for number in range(30):
        publish(up["address"], number, subject=str(number))
    receiver.next()
    owner.send_signal(signal.SIGTERM)

    assert owner.wait(20) == 0


def signed(body: bytes, id: str = "msg_1") -> dict[str, str]:
    return sign(id=id, at=SystemClock().now(), body=body, secrets=[SECRET])


def test_a_webhook_that_was_answered_is_on_disk(shop: Place) -> None:
    """The sender forgets it then. Sent again after the kill, it is the same event and the same answer."""
    shop.variables["HEADRACE_SERVER__TOKENS"] = "always"
    owner, up = shop.up(target="shop.py")
    body = json.dumps({"type": "parcel.shipped", "data": {"parcel": "p-1"}}).encode()
    first = httpx2.post(f"{up['address']}/webhooks/shop.carrier", content=body, headers=signed(body))
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    _, up = shop.up(target="shop.py")
    again = httpx2.post(f"{up['address']}/webhooks/shop.carrier", content=body, headers=signed(body))
    events = shop.run("events", "tail", "--json")

    assert (first.status_code, first.json()["accepted"]) == (200, True)
    assert (again.status_code, again.json()) == (200, first.json())
    assert [event["subject"] for event in map(json.loads, events.out.splitlines())] == ["p-1"]


def test_up_says_where_webhooks_come_in(shop: Place) -> None:
    """The other side asks for the address."""
    _, up = shop.up(target="shop.py")
    as_text = shop.begin("up", "shop.py", "--port", "0", "--store", "other.db")
    assert as_text.stdout is not None
    lines = [as_text.stdout.readline().strip() for _ in range(7)]

    assert up["webhooks"] == {"shop": ["/webhooks/shop.carrier", "/webhooks/shop.player"]}
    assert "shop.player takes POST /webhooks/shop.player" in lines


def test_others_are_kept_out_and_told_why(shop: Place) -> None:
    """Each in the one shape of errors, and nothing is recorded."""
    shop.variables["HEADRACE_SERVER__TOKENS"] = "always"
    _, up = shop.up(target="shop.py")
    body, of_interest = b'{"type": "parcel.weighed"}', b'{"ItemId": "i-1", "Name": "Heat"}'
    url = f"{up['address']}/webhooks"
    old = sign(id="msg_1", at=SystemClock().now() - 600_000_000, body=body, secrets=[SECRET])
    refused = [
        httpx2.post(f"{url}/shop.carrier", content=body),
        httpx2.post(f"{url}/shop.carrier", content=body, headers=old),
        httpx2.post(f"{url}/shop.carrier", content=body + b" ", headers=signed(body)),
        httpx2.post(f"{url}/shop.player", content=of_interest),
        httpx2.post(f"{url}/shop.player", content=of_interest, headers={"X-Token": "open"}),
    ]
    ignored = httpx2.post(f"{url}/shop.carrier", content=body, headers=signed(body))
    empty = shop.run("events", "tail", "--json").out
    plain = {"X-Token": "sesame", "Content-Type": "text/plain"}
    taken = httpx2.post(f"{url}/player", content=of_interest, headers=plain)

    assert [answer.status_code for answer in refused] == [401] * 5
    assert all(answer.json()["error"]["message"] for answer in refused)
    assert (ignored.status_code, ignored.json()["accepted"], empty) == (200, False, "")
    assert (taken.status_code, taken.json()["accepted"]) == (200, True)
    assert shop.run("events", "tail", "--json").json["data"] == {"name": "Heat"}
    assert "webhook.ignored" in shop.log


def test_two_owners_talk_by_webhooks(shop: Place, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What one sends, the other understands: the same event arrives once, however often it is sent."""
    other = Place(tmp_path_factory.mktemp("other"))
    (other.folder / "inbox.py").write_text(
        "from pydantic import BaseModel, SecretStr\n"
        "from headrace import EventDraft, Pipeline, Webhook\n"
        "class Given(BaseModel):\n    secret: SecretStr | None = None\n"
        "def take(call):\n    return EventDraft(call.body['type'], call.body['data'], subject=call.body['subject'])\n"
        "pipeline = Pipeline('inbox', webhooks=[Webhook('all', take, secret='secret')], settings=Given)\n"
    )
    try:
        _, up = shop.up(target="shop.py")
        # The secret is made by the sender, so the receiver starts when it knows it.
        port = free_port()
        added = shop.run("webhooks", "add", "inbox", f"http://127.0.0.1:{port}/webhooks/inbox.all", "--allow-private")
        other.variables["HEADRACE_INBOX_SECRET"] = added.out.strip()
        receiving = other.begin("up", "inbox.py", "--port", str(port), "--json")
        assert receiving.stdout is not None
        receiving.stdout.readline()
        publish(up["address"], 1)
        other.until(lambda: other.run("events", "tail", "--json").out != "")
        shop.run("events", "replay", "webhook:inbox", "--after", "0")
        shop.until(lambda: "~" not in shop.run("events", "subscriptions", "--json").out)
        events = other.run("events", "tail", "--json")

        assert [(event["topic"], event["data"]) for event in map(json.loads, events.out.splitlines())] == [
            ("n.came", 1)
        ]
    finally:
        for process in other.owners:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
