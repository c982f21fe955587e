"""Between events and the bodies of messages."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from headrace import BrokerMessage, OutsideEvent
from headrace._base.clock import from_datetime
from headrace._bridge.envelope import CLOUD_EVENT, as_uri, is_same_source, pack, read
from headrace._events.model import EventRecord, Subject
from headrace.errors import ValueRefused

WHEN = datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)
EVENT = EventRecord(
    position=7,
    id="e-1",
    topic="subtitle.ready",
    subject=Subject("subtitle", "j-1"),
    sequence=3,
    source="downloader",
    time=from_datetime(WHEN),
    at=from_datetime(WHEN),
    version=2,
    cause="run/1/4",
    generation=1,
    applied=True,
    reason="",
    data='{"path":"/films/é.srt"}'.encode(),
)


def message(body: object, **more: Any) -> BrokerMessage:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return BrokerMessage(body=raw, routing_key="subtitle.ready", **more)


def test_a_cloud_event_has_all_that_the_standard_asks_for() -> None:
    """Consumers in other languages read it with the libraries of CloudEvents."""
    parcel = pack(EVENT, "cloudevents")

    assert parcel.content_type == CLOUD_EVENT
    assert json.loads(parcel.body) == {
        "specversion": "1.0",
        "id": "e-1",
        "source": "downloader",
        "type": "subtitle.ready",
        "subject": "j-1",
        "time": "2026-02-03T04:05:06.000789Z",
        "datacontenttype": "application/json",
        "sequence": "3",
        "dataversion": 2,
        "correlationid": "j-1",
        "causationid": "run/1/4",
        "generation": 1,
        "data": {"path": "/films/é.srt"},
    }
    assert parcel.headers == {"subject": "j-1", "sequence": 3, "causation_id": "run/1/4"}


def test_names_in_a_cloud_event_are_lower_case_letters_and_digits() -> None:
    """The standard allows no other names, and strict readers refuse them."""
    assert all(name.isalnum() and name.islower() for name in json.loads(pack(EVENT, "cloudevents").body))


def test_a_job_envelope_has_the_five_fields_of_systems_that_speak_of_jobs() -> None:
    """Consumers that were written before Headrace go on as they are."""
    parcel = pack(EVENT, "job")

    assert parcel.content_type == "application/json"
    assert json.loads(parcel.body) == {
        "event_type": "subtitle.ready",
        "job_id": "j-1",
        "timestamp": "2026-02-03T04:05:06.000789Z",
        "source": "downloader",
        "metadata": {"event_id": "e-1", "sequence": 3, "generation": 1},
        "payload": {"path": "/films/é.srt"},
    }


@pytest.mark.parametrize("envelope", ["cloudevents", "job"])
@pytest.mark.parametrize("source", ["downloader", "a source, with ä and %", "https://example.org/x?y=1#z"])
def test_what_was_packed_is_read_as_it_was(envelope: Any, source: str) -> None:
    """Otherwise our own events would come back as others."""
    event = replace(EVENT, source=source)

    back = read(message(pack(event, envelope).body))

    assert is_same_source(back.source, source)
    assert replace(back, source=source) == OutsideEvent(
        topic="subtitle.ready",
        subject="j-1",
        data={"path": "/films/é.srt"},
        id="e-1",
        source=source,
        time=WHEN,
        generation=1,
    )


def test_an_envelope_without_an_id_has_the_same_one_each_time() -> None:
    """A message that is delivered twice is one event."""
    body = {"event_type": "subtitle.ready", "job_id": "j-1", "source": "downloader", "payload": {}}

    first, second = read(message(body, message_id="a")), read(message(body, message_id="b"))

    assert first.id == second.id
    assert read(message(body | {"job_id": "j-2"})).id != first.id


def test_a_time_without_a_zone_is_utc() -> None:
    """Many producers write it so."""
    body = {
        "event_type": "x",
        "job_id": "j",
        "source": "s",
        "payload": None,
        "event_id": "1",
        "timestamp": "2026-02-03T04:05:06",
    }

    assert read(message(body)).time == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


CLOUD = {"specversion": "1.0", "id": "1", "source": "s", "type": "t", "subject": "j"}


@pytest.mark.parametrize(
    "body, reason",
    [
        (b"\xff", "the body is no JSON"),
        (b"{", "the body is no JSON"),
        ([], "a JSON list, not an object"),
        ({}, "neither a CloudEvent"),
        (CLOUD | {"specversion": "0.3"}, "version '0.3' are not known"),
        (CLOUD | {"data_base64": "AA=="}, "the data are binary"),
        (CLOUD | {"subject": ""}, "subject is ''"),
        (CLOUD | {"type": 7}, "type is 7"),
        ({name: value for name, value in CLOUD.items() if name != "id"}, "id is missing"),
        (CLOUD | {"time": "yesterday"}, "time is 'yesterday'"),
        (CLOUD | {"time": 5}, "time is 5"),
        (CLOUD | {"generation": "2"}, "generation is '2'"),
        (CLOUD | {"generation": True}, "generation is True"),
        (CLOUD | {"generation": 0}, "generation is 0"),
        ({"event_type": "t", "job_id": "j", "source": "s", "event_id": 5}, "event_id is 5"),
        ({"event_type": "t", "source": "s"}, "job_id is missing"),
    ],
)
def test_what_means_nothing_is_refused_with_the_reason(body: object, reason: str) -> None:
    """The reason is all that whoever looks at the dead letters has."""
    with pytest.raises(ValueRefused, match=reason):
        read(message(body))


def test_a_source_that_is_no_uri_is_written_as_one() -> None:
    """CloudEvents asks for a reference."""
    assert as_uri("a b") == "a%20b"
    assert as_uri("") == "app"
