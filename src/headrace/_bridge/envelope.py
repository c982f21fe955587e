"""Between events and the bodies of messages; pure.

``cloudevents`` is CloudEvents 1.0 in the structured JSON form. ``job`` is the plain form of systems that speak of jobs: ``event_type``,
``job_id``, ``timestamp``, ``source``, ``payload``. Both are understood on the way in, whichever a bridge writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

from headrace._base.clock import to_datetime
from headrace._bridge.declaration import EnvelopeName
from headrace._bridge.model import BrokerMessage, OutsideEvent
from headrace._events.model import EventRecord
from headrace.errors import ValueRefused

CLOUD_EVENT = "application/cloudevents+json"
_SAFE_IN_A_URI = "/:?#[]@!$&'()*+,;=%"


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """A message that is about to be sent."""

    body: bytes
    content_type: str
    headers: Mapping[str, str | int]


def pack(event: EventRecord, envelope: EnvelopeName) -> Parcel:
    headers: dict[str, str | int] = {"subject": event.subject.id, "sequence": event.sequence}
    if event.cause:
        headers["causation_id"] = event.cause
    if envelope == "job":
        return Parcel(body=_job_envelope(event), content_type="application/json", headers=headers)
    return Parcel(body=_cloud_event(event), content_type=CLOUD_EVENT, headers=headers)


def _cloud_event(event: EventRecord) -> bytes:
    head: dict[str, object] = {
        "specversion": "1.0",
        "id": event.id,
        "source": as_uri(event.source),
        "type": event.topic,
        "subject": event.subject.id,
        "time": _moment(event.time),
        "datacontenttype": "application/json",
        # Names of extensions are lower-case letters and digits alone.
        "sequence": str(event.sequence),
        "dataversion": event.version,
        "correlationid": event.subject.id,
    }
    if event.cause:
        head["causationid"] = event.cause
    if event.generation is not None:
        head["generation"] = event.generation
    return _with_data(head, "data", event.data)


def _job_envelope(event: EventRecord) -> bytes:
    metadata: dict[str, object] = {"event_id": event.id, "sequence": event.sequence}
    if event.generation is not None:
        metadata["generation"] = event.generation
    head = {
        "event_type": event.topic,
        "job_id": event.subject.id,
        "timestamp": _moment(event.time),
        "source": event.source,
        "metadata": metadata,
    }
    return _with_data(head, "payload", event.data)


def _with_data(head: Mapping[str, object], name: str, data: bytes) -> bytes:
    # The data are JSON already, and may be megabytes.
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":"))
    return text[:-1].encode() + b',"' + name.encode() + b'":' + data + b"}"


def _moment(instant: int) -> str:
    return to_datetime(instant).isoformat().replace("+00:00", "Z")


def as_uri(source: str) -> str:
    return quote(source, safe=_SAFE_IN_A_URI) if source else "app"


def is_same_source(one: str, other: str) -> bool:
    return unquote(as_uri(one)) == unquote(as_uri(other))


def read(message: BrokerMessage) -> OutsideEvent:
    """What a message means; raises ValueRefused with the reason when it means nothing."""
    try:
        found = json.loads(message.body)
    except ValueError as error:
        raise ValueRefused(f"the body is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueRefused(f"the body is a JSON {type(found).__name__}, not an object")
    if "specversion" in found:
        return _read_cloud_event(found)
    if "event_type" in found:
        return _read_job_envelope(found, message)
    raise ValueRefused("the body is neither a CloudEvent (specversion) nor a job envelope (event_type)")


def _read_cloud_event(found: Mapping[str, Any]) -> OutsideEvent:
    if found["specversion"] != "1.0":
        raise ValueRefused(f"CloudEvents of version {found['specversion']!r} are not known; only 1.0 is")
    if "data_base64" in found:
        raise ValueRefused("the data are binary (data_base64); an event of the log carries JSON")
    return OutsideEvent(
        topic=_text(found, "type"),
        subject=_text(found, "subject"),
        data=found.get("data"),
        id=_text(found, "id"),
        source=unquote(_text(found, "source")),
        time=_time(found.get("time"), "time"),
        generation=_generation(found.get("generation")),
    )


def _read_job_envelope(found: Mapping[str, Any], message: BrokerMessage) -> OutsideEvent:
    metadata = found.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    event_id = known.get("event_id") or found.get("event_id")
    if event_id is not None and not isinstance(event_id, str):
        raise ValueRefused(f"event_id is {event_id!r}; it has to be text")
    return OutsideEvent(
        topic=_text(found, "event_type"),
        subject=_text(found, "job_id"),
        data=found.get("payload"),
        # Clients invent ids of messages anew for each attempt to send; the body is the same each time.
        id=event_id or f"sha256:{sha256(message.body).hexdigest()}",
        source=_text(found, "source"),
        time=_time(found.get("timestamp"), "timestamp"),
        generation=_generation(known.get("generation")),
    )


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise ValueRefused(f"{name} is {'missing' if value is None else repr(value)[:80]}; it has to be text")
    return value


def _time(value: object, name: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)  # type: ignore[arg-type]  # whatever is no text is refused below
    except (TypeError, ValueError):
        raise ValueRefused(f"{name} is {value!r}; it has to be a time such as 2026-02-03T04:05:06Z") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _generation(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueRefused(f"generation is {value!r}; it has to be a whole number from 1 on")
    return value
