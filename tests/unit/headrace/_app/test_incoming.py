"""Webhooks that come in: who is believed, and what becomes of what they say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from headrace import EventDraft, EventType, Headrace, Pipeline, Webhook, WebhookCall
from headrace._base.webhook import new_secret, sign
from headrace.errors import ConfigurationError, DefinitionError, ValueRefused, WebhookRefused
from headrace.testing import Harness

OLD, NEW = new_secret(), new_secret()


class Parcel(BaseModel):
    id: str
    weight: float


class Given(BaseModel):
    carrier_secret: SecretStr = SecretStr(f"{NEW}, {OLD}")
    player_token: str = "open sesame"
    nobodys: SecretStr | None = None


seen: list[WebhookCall] = []


def of_carrier(call: WebhookCall) -> EventDraft | None:
    seen.append(call)
    if call.body["type"] != "shipped":
        return None
    return EventDraft("parcel.shipped", Parcel(id=call.body["parcel"], weight=1.5), subject=call.body["parcel"])


def of_player(call: WebhookCall) -> EventDraft:
    return EventDraft("item.added", call.body, subject="library", id=call.body.get("id"))


def of_nobody(call: WebhookCall) -> Any:
    return {"topic": "a"}


PIPELINE = Pipeline(
    "shop",
    webhooks=[
        Webhook("carrier", of_carrier, secret="carrier_secret"),  # pragma: allowlist secret
        Webhook("player", of_player, token="player_token", header="X-Player"),
        Webhook("bearer", of_player, token="player_token"),
        Webhook("unset", of_player, secret="nobodys"),  # pragma: allowlist secret
        Webhook("unset_token", of_player, token="nobodys", header="X-Player"),
        Webhook("open", of_player),
        Webhook("odd", of_nobody),
    ],
    events=[EventType("parcel.shipped", Parcel)],
    settings=Given,
)
SHIPPED = json.dumps({"type": "shipped", "parcel": "p-1"}).encode()


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    seen.clear()
    async with Harness(PIPELINE) as running:
        yield running


def signed(harness: Harness, body: bytes = SHIPPED, *, id: str = "msg_1", secret: str = NEW) -> dict[str, str]:
    return sign(id=id, at=harness.clock.now(), body=body, secrets=[secret])


@pytest.mark.parametrize("secret", [NEW, OLD], ids=["new", "old"])
async def test_a_signed_webhook_is_an_event(harness: Harness, secret: str) -> None:
    """Either secret is good while the sender is moved from one to the other."""
    answer = await harness.app.receive_webhook("carrier", SHIPPED, signed(harness, secret=secret))
    (event,) = await harness.events()

    assert (answer.webhook, answer.accepted, answer.event, answer.position) == ("shop.carrier", True, event.id, 1)
    assert (event.topic, event.subject, event.data) == ("parcel.shipped", "p-1", Parcel(id="p-1", weight=1.5))
    assert (event.id, event.source) == ("webhooks/shop.carrier/msg_1", "webhooks/shop.carrier")


async def test_the_same_webhook_is_one_event(harness: Harness) -> None:
    """Senders repeat what got no answer, days later and newly signed."""
    first = await harness.app.receive_webhook("carrier", SHIPPED, signed(harness))
    harness.clock.advance(timedelta(days=3))
    again = await harness.app.receive_webhook("carrier", SHIPPED, signed(harness))
    other = await harness.app.receive_webhook("carrier", SHIPPED, signed(harness, id="msg_2"))

    assert again == first
    assert other.event != first.event
    assert len(await harness.events()) == 2


async def test_what_is_of_no_interest_is_answered_so(harness: Harness) -> None:
    """A sender that gets an error would send it again for days."""
    body = json.dumps({"type": "weighed"}).encode()

    answer = await harness.app.receive_webhook("carrier", body, signed(harness, body))

    assert (answer.accepted, answer.event, answer.position) == (False, None, None)
    assert await harness.events() == []


async def test_what_is_not_from_the_sender_is_refused(harness: Harness) -> None:
    """Anybody can reach the address; nothing of what they say may reach the pipeline."""
    good = signed(harness)
    for headers, body in (
        ({}, SHIPPED),
        (good, SHIPPED + b" "),
        (signed(harness, secret=new_secret()), SHIPPED),
        ({**good, "webhook-id": "msg_9"}, SHIPPED),
    ):
        with pytest.raises(WebhookRefused):
            await harness.app.receive_webhook("carrier", body, headers)
    harness.clock.advance(timedelta(minutes=6))
    with pytest.raises(WebhookRefused, match="too long ago"):
        await harness.app.receive_webhook("carrier", SHIPPED, good)

    assert (await harness.events(), seen) == ([], [])


@pytest.mark.parametrize(
    "name,headers,good",
    [
        ("player", {"X-Player": "sesame"}, True),
        ("player", {"X-Player": "open"}, True),
        ("player", {"X-Player": "open sesame"}, False),
        ("player", {"X-Player": ""}, False),
        ("player", {"Authorization": "Bearer open"}, False),
        ("player", {"X-Player": "öpen"}, False),
        ("bearer", {"Authorization": "Bearer open"}, True),
        ("bearer", {"authorization": "bearer  sesame "}, True),
        ("bearer", {"Authorization": "open"}, False),
        ("bearer", {}, False),
    ],
)
async def test_a_token_goes_where_a_signature_is_not_to_be_had(
    harness: Harness, name: str, headers: dict[str, str], good: bool
) -> None:
    """Many programs can send a fixed header and no more; a setting with a space in it is two tokens."""
    if good:
        assert (await harness.app.receive_webhook(name, b"{}", headers)).accepted
        return
    with pytest.raises(WebhookRefused):
        await harness.app.receive_webhook(name, b"{}", headers)


async def test_a_webhook_without_its_secret_lets_nobody_in(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    """An empty setting must not be a secret that everybody knows; the log says which one is missing."""
    for name, headers in (("unset", {}), ("unset_token", {}), ("unset_token", {"X-Player": ""})):
        with pytest.raises(WebhookRefused, match="no secret here yet"):
            await harness.app.receive_webhook(name, b"{}", headers)

    assert "HEADRACE_SHOP_NOBODYS" in caplog.text


async def test_without_an_id_each_call_is_an_event_of_its_own(harness: Harness) -> None:
    """Unless the pipeline finds one in the body, or the sender gives one unasked."""
    for _ in range(2):
        await harness.app.receive_webhook("open", b"{}", {})
        await harness.app.receive_webhook("open", b'{"id": "i-1"}', {})
        await harness.app.receive_webhook("open", b"{}", {"Webhook-Id": "msg_1"})

    ids = [event.id for event in await harness.events()]
    assert len(ids) == 4
    assert {"i-1", "webhooks/shop.open/msg_1"} < set(ids)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"NaN", b"[" * 100_000, b'{"type": "shipped"}', b"[]", b"null"])
async def test_what_cannot_be_understood_is_refused_with_the_kind_of_error(harness: Harness, body: bytes) -> None:
    """The sender hears that it is its body, and nothing of our code; nothing is recorded."""
    with pytest.raises(ValueRefused, match=r"no JSON|cannot make an event of this body: (KeyError|TypeError)"):
        await harness.app.receive_webhook("carrier", body, signed(harness, body))

    assert await harness.events() == []


async def test_ids_and_answers_of_an_odd_form_are_refused(harness: Harness) -> None:
    """Ids stand in the log; a function that returns anything else is a mistake of the pipeline."""
    for id in ("a\tb", "x" * 256):
        with pytest.raises(ValueRefused, match="webhook-id"):
            await harness.app.receive_webhook("open", b"{}", {"webhook-id": id})
    with pytest.raises(DefinitionError, match="returned dict"):
        await harness.app.receive_webhook("odd", b"{}", {})


async def test_a_pipeline_sees_no_secrets(harness: Harness) -> None:
    """What it gets may end in an event, and events are read by many."""
    headers = signed(harness) | {"Authorization": "Bearer hr_1", "Cookie": "a=b", "X-Kind": "parcel"}
    await harness.app.receive_webhook("carrier", SHIPPED, headers)

    assert seen[0].id == "msg_1"
    assert seen[0].headers["x-kind"] == "parcel"
    assert not {"authorization", "cookie"} & set(seen[0].headers)


class Demanding(BaseModel):
    base_url: str
    carrier_secret: SecretStr | None = None


def demanding() -> Pipeline:
    hook = Webhook("carrier", of_carrier, secret="carrier_secret")  # pragma: allowlist secret
    return Pipeline("shop", webhooks=[hook], settings=Demanding)


async def test_a_secret_that_is_none_keeps_it_from_starting(tmp_path: Path) -> None:
    """It would refuse every webhook; the error names the variable, and nothing of what is in it."""
    settings = {"shop": Demanding(base_url="x", carrier_secret=SecretStr("open sesame!"))}
    with pytest.raises(ConfigurationError, match="HEADRACE_SHOP_CARRIER_SECRET") as caught:
        async with Headrace([demanding()], store=tmp_path / "a.db", settings=settings):
            pass

    assert "sesame" not in str(caught.value)


async def test_a_test_that_brings_ports_needs_no_settings() -> None:
    """Its wiring is replaced, and so is the need for what the wiring reads."""
    async with Harness(demanding(), ports=object()):
        pass
    with pytest.raises(ConfigurationError, match="HEADRACE_SHOP_BASE_URL"):
        async with Harness(demanding()):
            pass
