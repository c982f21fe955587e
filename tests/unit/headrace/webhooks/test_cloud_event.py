"""Events as others read them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from headrace import Event
from headrace._base.webhook import sign
from headrace.webhooks._cloud_event import cloud_event, webhook_id


class Parcel(BaseModel):
    id: str
    weight: float


AT = datetime(2026, 1, 31, 8, 0, tzinfo=UTC)
EVENT: Event[Any] = Event(
    id="fulfil-17/1/4", topic="order.packed", subject="17", data={"parcels": 1}, source="shop.fulfil", time=AT, recorded_at=AT,
    position=2**40, sequence=2,
)  # fmt: skip


def read(event: Event[Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cloud_event(event))
    return found


def test_an_event_has_the_form_of_the_standard() -> None:
    """Receivers of all makers read it with a library; large numbers are texts, as it asks."""
    assert read(EVENT) == {
        "specversion": "1.0",
        "id": "fulfil-17/1/4",
        "source": "shop.fulfil",
        "type": "order.packed",
        "subject": "17",
        "time": "2026-01-31T08:00:00Z",
        "datacontenttype": "application/json",
        "dataversion": 1,
        "position": str(2**40),
        "sequence": "2",
        "data": {"parcels": 1},
    }


def test_names_of_attributes_are_those_that_the_standard_allows() -> None:
    """Lower-case letters and digits, up to twenty."""
    event = replace(EVENT, job="order", generation=1, applied=False, reason="too late")

    assert {"job", "generation", "applied", "reason"} < set(read(event))
    assert [
        name for name in read(event) if not (name.isascii() and name.isalnum() and name.islower() and len(name) <= 20)
    ] == []


@pytest.mark.parametrize(
    "source,written", [("a b%", "a%20b%25"), ("", "headrace"), ("webhooks/shop.x", "webhooks/shop.x")]
)
def test_a_source_is_a_reference(source: str, written: str) -> None:
    """It is free text here, and a URI reference there."""
    assert read(replace(EVENT, source=source))["source"] == written


def test_data_may_be_anything_that_can_be_written() -> None:
    """Handlers have values, not JSON."""
    assert read(replace(EVENT, data=Parcel(id="ü", weight=1.5)))["data"] == {"id": "ü", "weight": 1.5}
    assert read(replace(EVENT, data=None))["data"] is None


@pytest.mark.parametrize("id", ["payment.99", "täglich", "a b", "%2E", ".", "x" * 500, "ü" * 500, "fulfil-17/1/4"])
def test_every_id_can_be_signed(id: str) -> None:
    """Ids of events hold what headers and signatures cannot."""
    signed = sign(id=webhook_id(id), at=0, body=b"", secrets=[])

    assert len(signed["webhook-id"]) <= 255


def test_different_events_have_different_ids() -> None:
    """A receiver drops what it has had."""
    ids = ["a.b", "a%2Eb", "a%252Eb", "a b", "a%20b", "x" * 500, "x" * 499, "fulfil-17/1/4"]

    assert len({webhook_id(id) for id in ids}) == len(ids)
    assert webhook_id("fulfil-17/1/4") == "fulfil-17/1/4"
