"""An event as other systems read it: CloudEvents 1.0 in its structured JSON form."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from headrace._base.codec import Shape
from headrace._events.model import Event

CONTENT_TYPE = "application/cloudevents+json"
_DATA = Shape(Any, where="data of an event that is sent as a webhook")
_OF_A_URI = "!$&'()*+,/:;=?@-._~"
_LONGEST_ID = 255


def cloud_event(event: Event[Any]) -> bytes:
    """The whole body; numbers that may grow beyond 32 bits are texts, as the standard has it."""
    head: dict[str, object] = {
        "specversion": "1.0",
        "id": event.id,
        "source": quote(event.source, safe=_OF_A_URI) or "headrace",
        "type": event.topic,
        "subject": event.subject,
        "time": event.time.isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "dataversion": event.version,
    }
    if event.position:
        head |= {"position": str(event.position), "sequence": str(event.sequence)}
    if event.job:
        head |= {"job": event.job, "generation": event.generation, "applied": event.applied, "reason": event.reason}
    given = {name: value for name, value in head.items() if value is not None and value != ""}
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    return text[:-1].encode() + b',"data":' + _DATA.encode(event.data) + b"}"


def webhook_id(event_id: str) -> str:
    """What the webhook of an event is called, in every attempt: the event's id, as far as a header and a signature can hold it."""
    text = quote(event_id, safe="!$&'()*+,/:;=?@-_~").replace(".", "%2E")
    return text if len(text) <= _LONGEST_ID else sha256(event_id.encode()).hexdigest()
