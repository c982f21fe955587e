from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from headrace import EventType
from headrace._events.model import EventRecord, Subject
from headrace._events.schema import EventShape, Topics, event_from_json, event_to_json
from headrace.errors import DefinitionError, ValueRefused


@dataclass(frozen=True)
class Clip:
    url: str
    seconds: float


CLIP = EventType(
    "clip.found", Clip, version=3, upcast={1: lambda old: {"url": old}, 2: lambda old: old | {"seconds": 0.0}}
)


def record(data: bytes, *, topic: str = "clip.found", version: int = 1) -> EventRecord:
    return EventRecord(
        position=7, id="e-1", topic=topic, subject=Subject("goal", "salah\n44"), sequence=2, source="s", time=1, at=2, version=version,
        cause="run/1/3", generation=2, applied=False, reason="'late'", data=data,
    )  # fmt: skip


@pytest.mark.parametrize(
    "data, version", [(b'"http://x"', 1), (b'{"url":"http://x"}', 2), (b'{"url":"http://x","seconds":0.0}', 3)]
)
def test_every_version_is_read_in_the_newest_form(data: bytes, version: int) -> None:
    """Readers are written once; what was said years ago stays readable."""
    event = Topics([CLIP]).event(record(data, version=version))

    assert (event.data, event.version) == (Clip("http://x", 0.0), 3)


def test_data_of_a_newer_version_are_refused() -> None:
    """Old code would read them wrongly; the event waits for newer code as a dead letter."""
    with pytest.raises(ValueRefused, match=r"has version 4 .* knows 3"):
        Topics([CLIP]).event(record(b"{}", version=4))


def test_publishers_are_held_to_the_type() -> None:
    """A reader cannot ask back."""
    topics = Topics([CLIP])

    assert topics.encode("clip.found", Clip("u", 1.5)) == (b'{"url":"u","seconds":1.5}', 3)
    assert topics.encode_plain("clip.found", {"url": "u", "seconds": 1.5}) == (b'{"url":"u","seconds":1.5}', 3)
    with pytest.raises(ValueRefused):
        topics.encode("clip.found", {"url": "u"})
    with pytest.raises(ValueRefused):
        topics.encode_plain("clip.found", {"url": 3})


@pytest.mark.parametrize("value", [None, 1, "x", [1, {"a": None}], {"ü": "\x00\u2028"}])
def test_undeclared_topics_carry_any_json(value: Any) -> None:
    """Most topics begin so."""
    stored, version = Topics().encode("any.thing", value)

    assert version == 1
    assert Topics().event(record(stored, topic="any.thing")).data == value


def test_an_event_in_a_journal_comes_back_whole() -> None:
    """A replay needs nothing but its journal."""
    before = record(b'{"url":"http://x","seconds":1.0}', version=3)

    assert event_from_json(event_to_json(before)) == before
    assert EventShape(Topics([CLIP])).decode(event_to_json(before)).data == Clip("http://x", 1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic": "a.*"},
        {"topic": "a", "version": 2},
        {"topic": "a", "version": 3, "upcast": {1: str}},
        {"topic": "a", "upcast": {1: str}},
    ],
)
def test_a_wrong_declaration_is_refused(wrong: dict[str, Any]) -> None:
    """A missing upcaster shows at import, not when an old event comes."""
    with pytest.raises(DefinitionError):
        EventType(**wrong)


def test_a_topic_has_one_type() -> None:
    """Two pipelines that disagree about a topic would refuse each other's events."""
    with pytest.raises(DefinitionError, match="two event types"):
        Topics([CLIP, EventType("clip.found", str)])
