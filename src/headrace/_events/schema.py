"""What the data of events looks like: by topic, by version, and how old data becomes new."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from headrace._base.clock import to_datetime
from headrace._base.codec import Shape
from headrace._events.model import Event, EventRecord, Subject
from headrace._events.topic import check_topic
from headrace.errors import DefinitionError, ValueRefused

D = TypeVar("D")

Upcaster = Callable[[Any], Any]


class EventType(Generic[D]):
    """Declares the data that events of a topic carry.

    When the data changes, raise ``version`` and give an upcaster for each older one: a function of the plain JSON value of that
    version that returns the value of the next. Stored events stay as they are; readers see them in the newest form.
    """

    def __init__(
        self, topic: str, data: type[D] | None = None, *, version: int = 1, upcast: Mapping[int, Upcaster] | None = None
    ) -> None:
        try:
            self.topic = check_topic(topic)
        except ValueRefused as error:
            raise DefinitionError(f"EventType: {error}") from None
        self.version = version
        self._upcast = MappingProxyType(dict(upcast or {}))
        if sorted(self._upcast) != list(range(1, version)):
            wanted = ", ".join(map(str, range(1, version))) or "none"
            raise DefinitionError(
                f"EventType({topic!r}, version={version}): upcast= needs a function for each older version; wanted: {wanted}"
            )
        self.annotation: Any = Any if data is None else data
        self.shape = Shape(self.annotation, where=f"data of event {topic!r}")

    def decode(self, stored: bytes, version: int) -> D:
        """The data in its newest form, whatever version was stored."""
        if version > self.version:
            raise ValueRefused(
                f"an event {self.topic!r} has version {version} of its data, and this code knows {self.version}; run the newer code"
            )
        if version < self.version:
            value = json.loads(stored)
            for number in range(version, self.version):
                value = self._upcast[number](value)
            stored = json.dumps(value).encode()
        found: D = self.shape.decode(stored)
        return found

    def __repr__(self) -> str:
        return f"<event type {self.topic} v{self.version}>"


_ANY: Final = Shape(Any, where="data of an event")


class Topics:
    """The declared types of events; topics that nobody declared carry any value that JSON can say."""

    def __init__(self, types: Iterable[EventType[Any]] = ()) -> None:
        found: dict[str, EventType[Any]] = {}
        for item in types:
            if item.topic in found and found[item.topic] is not item:
                raise DefinitionError(f"two event types are declared for topic {item.topic!r}; keep one")
            found[item.topic] = item
        self.types: Mapping[str, EventType[Any]] = MappingProxyType(found)

    def encode(self, topic: str, data: object) -> tuple[bytes, int]:
        """Data as it is stored, and its version."""
        declared = self.types.get(topic)
        return (_ANY.encode(data), 1) if declared is None else (declared.shape.encode(data), declared.version)

    def encode_plain(self, topic: str, data: object) -> tuple[bytes, int]:
        """The same for data that came as plain JSON: it has to fit the declared type."""
        stored = json.dumps(data).encode()
        declared = self.types.get(topic)
        if declared is None:
            return _ANY.encode(_ANY.decode(stored)), 1
        return declared.shape.encode(declared.shape.decode(stored)), declared.version

    def event(self, record: EventRecord) -> Event[Any]:
        """An event as handlers and flows see it."""
        declared = self.types.get(record.topic)
        return Event(
            id=record.id,
            topic=record.topic,
            subject=record.subject.id,
            data=_ANY.decode(record.data) if declared is None else declared.decode(record.data, record.version),
            source=record.source,
            time=to_datetime(record.time),
            version=record.version if declared is None else declared.version,
            position=record.position,
            sequence=record.sequence,
            job=record.subject.kind,
            generation=record.generation,
            applied=record.applied,
            reason=record.reason,
            cause=record.cause,
            recorded_at=to_datetime(record.at),
        )

    def newest(self, record: EventRecord) -> EventRecord:
        """An event with its data in the newest form, for whoever is not to know that there were others."""
        declared = self.types.get(record.topic)
        if declared is None or declared.version == record.version:
            return record
        data = declared.shape.encode(declared.decode(record.data, record.version))
        return replace(record, data=data, version=declared.version)


def raw_event(record: EventRecord) -> Event[Any]:
    """An event with its data as they were stored, whatever the declared type says now."""
    return _NOTHING_DECLARED.event(record)


_NOTHING_DECLARED: Final = Topics()

# In a journal an event stands whole, so that a replay needs nothing but its journal.


def event_to_json(record: EventRecord) -> bytes:
    head = {
        "position": record.position, "id": record.id, "topic": record.topic, "kind": record.subject.kind, "subject": record.subject.id,
        "sequence": record.sequence, "source": record.source, "time": record.time, "at": record.at, "version": record.version,
        "cause": record.cause, "generation": record.generation, "applied": record.applied, "reason": record.reason,
    }  # fmt: skip
    return json.dumps(head, ensure_ascii=False, separators=(",", ":"))[:-1].encode() + b',"data":' + record.data + b"}"


class EventShape:
    """Reads events from a journal, with their data in the declared type."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def decode(self, stored: bytes) -> Event[Any]:
        return self._topics.event(event_from_json(stored))


def parted(stored: bytes) -> tuple[dict[str, Any], bytes]:
    """The fields of JSON whose last field is ``data``, and the data as they were written."""
    # A quote inside a text before it is escaped, so the first of these is the field.
    head, _, data = stored.partition(b',"data":')
    return json.loads(head + b"}"), data[:-1]


def event_from_json(stored: bytes) -> EventRecord:
    found, data = parted(stored)
    subject = Subject(found.pop("kind"), found.pop("subject"))
    return EventRecord(subject=subject, data=data, **found)
