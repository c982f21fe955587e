"""What a pipeline says about webhooks that come in, and what it cannot say."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from headrace import EventDraft, Pipeline, Webhook, WebhookCall
from headrace._authoring.pipeline import Registry
from headrace.errors import DefinitionError, NotFound


def to_event(call: WebhookCall) -> EventDraft:
    return EventDraft("came", call.body, subject="a")


async def too_late(call: WebhookCall) -> EventDraft:
    return to_event(call)


SIGNED = Webhook("carrier", to_event, secret="carrier_secret")  # pragma: allowlist secret


class Given(BaseModel):
    carrier_secret: SecretStr | None = None


@pytest.mark.parametrize(
    "name,target,options,complaint",
    [
        ("Carrier", to_event, {}, "lower-case"),
        ("a.b", to_event, {}, "lower-case"),
        ("carrier", too_late, {}, "plain function"),
        ("carrier", {"topic": "came"}, {}, "plain function"),
        ("carrier", to_event, {"secret": "a", "token": "b"}, "not both"),
        ("carrier", to_event, {"header": "X-Token"}, "goes with token="),
        ("carrier", to_event, {"token": "a", "header": "X Token"}, "no name of a header"),
    ],
)
def test_what_makes_no_sense_is_refused_at_import(
    name: str, target: Any, options: dict[str, str], complaint: str
) -> None:
    """The first webhook comes when nobody looks."""
    with pytest.raises(DefinitionError, match=complaint):
        Webhook(name, target, **options)


def test_a_secret_is_a_setting_of_the_pipeline() -> None:
    """A misspelt one would refuse every webhook."""
    Pipeline("shop", webhooks=[SIGNED], settings=Given)

    with pytest.raises(DefinitionError, match="have no field 'carrier_token'"):
        Pipeline("shop", webhooks=[Webhook("carrier", to_event, token="carrier_token")], settings=Given)
    with pytest.raises(DefinitionError, match="have no field"):
        Pipeline("shop", webhooks=[SIGNED])


def test_two_of_one_name_are_refused() -> None:
    """One of them would never hear anything."""
    with pytest.raises(DefinitionError, match="two webhooks"):
        Pipeline("shop", webhooks=[Webhook("carrier", to_event), Webhook("carrier", to_event)])


def test_a_short_name_is_enough_where_it_is_clear() -> None:
    """As with flows; the full one is always right."""
    shop, farm = (Pipeline(name, webhooks=[Webhook("carrier", to_event)]) for name in ("shop", "farm"))

    assert Registry.of([shop]).find_webhook("carrier") == "shop.carrier"
    assert Registry.of([shop, farm]).find_webhook("farm.carrier") == "farm.carrier"
    for name in ("carrier", "shop", "shop.nobody", ""):
        with pytest.raises(NotFound):
            Registry.of([shop, farm]).find_webhook(name)
