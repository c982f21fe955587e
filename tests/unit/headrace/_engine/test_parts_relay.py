"""A subscription whose events leave: the position, the order, and what happens to refused ones. The outside is a list here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace import EventType, Pipeline, RabbitMQ, Retry
from headrace._authoring.pipeline import Registry
from headrace._base.clock import SystemClock
from headrace._base.vault import Vault
from headrace._engine.engine import EmbeddedEngine
from headrace._events.model import EventRecord
from headrace._events.outlet import Taken
from headrace._events.store import all_cursors, cursors_of, dead_letters
from headrace._store.sqlite import open_sqlite
from headrace.errors import Conflict, ServiceRefused

NAME = "p.rabbitmq"


class Outside:
    """Keeps what it is sent until a test answers for it."""

    def __init__(self) -> None:
        self.sent: list[EventRecord] = []
        self._answers: dict[str, Taken] = {}
        self._more = asyncio.Event()

    def send(self, event: EventRecord, taken: Taken) -> None:
        self.sent.append(event)
        self._answers[event.id] = taken
        self._more.set()

    def answer(self, event_id: str, error: BaseException | None = None) -> None:
        self._answers.pop(event_id)(error)

    async def until(self, count: int) -> None:
        while len(self.sent) < count:
            self._more.clear()
            await self._more.wait()

    @property
    def ids(self) -> list[str]:
        return [event.id for event in self.sent]


class Lab:
    def __init__(self, engine: EmbeddedEngine, outside: Outside) -> None:
        self.engine = engine
        self.outside = outside

    async def publish(self, event_id: str, subject: str, topic: str = "n", data: object = None) -> None:
        new = self.engine.log.new_event(
            topic, data, subject=subject, event_id=event_id, source="test", time=None, cause="", at=0
        )
        await self.engine.publish(new)

    async def settle(self) -> None:
        """Whatever was handed to the writer by now is on disk."""
        for _ in range(6):
            await self.engine.database.write(lambda _: None)

    def position(self) -> int:
        return self.engine.database.read(lambda reader: cursors_of(reader, NAME))[0].position


def pipeline(**options: Any) -> Pipeline:
    events = [
        EventType("aged", dict[str, int], version=2, upcast={1: lambda old: {"new": old["old"]}}),
    ]
    return Pipeline("p", events=events, bridges=[RabbitMQ("e", topics=["n", "aged"], **options)])


@asynccontextmanager
async def running(path: Path, declared: Pipeline | None = None, *, is_on: bool = True) -> AsyncIterator[Lab]:
    outside = Outside()
    database = await open_sqlite(path, mode="fast", vault=Vault(()))
    engine = EmbeddedEngine(
        registry=Registry.of([declared or pipeline()]),
        database=database,
        clock=SystemClock(),
        outlets={NAME: outside} if is_on else {},
    )
    await engine.open()
    lab = Lab(engine, outside)
    await lab.settle()
    try:
        yield lab
    finally:
        await engine.close()
        await database.close()


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with running(tmp_path / "h.db") as lab:
        yield lab


async def test_the_position_moves_once_the_outside_has_all_before_it(lab: Lab) -> None:
    """It is the promise that nothing before it has to be sent again."""
    for number in (1, 2, 3):
        await lab.publish(f"e{number}", subject=f"s{number}")
    await lab.outside.until(3)
    lab.outside.answer("e2")
    lab.outside.answer("e3")
    await lab.settle()
    before = lab.position()
    lab.outside.answer("e1")
    await lab.settle()

    assert (before, lab.position()) == (0, 3)


async def test_events_of_a_subject_leave_one_after_the_other(lab: Lab) -> None:
    """Whatever is sent again, its readers see them in order."""
    for event_id, subject in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        await lab.publish(event_id, subject=subject)
    await lab.outside.until(2)
    await lab.settle()
    first = lab.outside.ids
    lab.outside.answer("a1")
    await lab.outside.until(3)

    assert first == ["a1", "b1"]
    assert lab.outside.ids[2] == "a2"


async def test_what_was_not_confirmed_is_sent_again_after_a_restart(tmp_path: Path) -> None:
    """The log is the outbox."""
    async with running(tmp_path / "h.db") as lab:
        for event_id in ("a", "b"):
            await lab.publish(event_id, subject=event_id)
        await lab.outside.until(2)
        lab.outside.answer("a")
        await lab.settle()
    async with running(tmp_path / "h.db") as lab:
        await lab.publish("c", subject="c")
        await lab.outside.until(2)

        assert lab.outside.ids == ["b", "c"]


async def test_what_is_confirmed_while_the_engine_stops_is_not_sent_again(tmp_path: Path) -> None:
    """A stop in order leaves no duplicates."""
    async with running(tmp_path / "h.db") as lab:
        await lab.publish("a", subject="a")
        await lab.outside.until(1)
        lab.outside.answer("a")  # and nothing has had a turn since
    async with running(tmp_path / "h.db") as lab:
        assert lab.position() == 1
        assert lab.outside.ids == []


async def test_a_refused_event_becomes_a_dead_letter_and_the_subject_goes_on(tmp_path: Path) -> None:
    """Nothing fails silently, and nothing stands in the way for ever."""
    async with running(tmp_path / "h.db", pipeline(retry=Retry(attempts=2, first=0))) as lab:
        for event_id in ("a1", "a2"):
            await lab.publish(event_id, subject="a")
        await lab.outside.until(1)
        lab.outside.answer("a1", ServiceRefused("no queue"))
        await lab.outside.until(2)
        lab.outside.answer("a1", ServiceRefused("no queue"))
        await lab.outside.until(3)
        lab.outside.answer("a2")
        await lab.settle()
        (letter,) = lab.engine.database.read(dead_letters)
        await lab.engine.delivery.redrive(letter.pk)
        await lab.outside.until(4)
        lab.outside.answer("a1")
        await lab.settle()

        assert lab.outside.ids == ["a1", "a1", "a2", "a1"]
        assert (letter.attempts, letter.event.id, b"no queue" in letter.error) == (2, "a1", True)
        assert lab.engine.database.read(dead_letters) == []
        assert lab.position() == 2


async def test_old_events_leave_in_their_newest_form(lab: Lab) -> None:
    """Readers inside see them so, too."""
    registry = lab.engine.registry
    assert registry.catalogue.topics.types["aged"].version == 2
    new = lab.engine.log.new_event(
        "aged", {"new": 0}, subject="s", event_id="x", source="test", time=None, cause="", at=0
    )
    await lab.engine.publish(replace(new, version=1, data=b'{"old":7}'))
    await lab.outside.until(1)

    assert (lab.outside.sent[0].data, lab.outside.sent[0].version) == (b'{"new":7}', 2)


async def test_a_replay_is_sent_once_more(lab: Lab) -> None:
    """For a reader that came late."""
    await lab.publish("a", subject="a")
    await lab.outside.until(1)
    lab.outside.answer("a")
    await lab.settle()
    await lab.engine.delivery.replay(NAME, after=0)
    await lab.outside.until(2)
    lab.outside.answer("a")
    await lab.settle()

    assert lab.outside.ids == ["a", "a"]
    assert list(lab.engine.database.read(all_cursors)) == [NAME]


async def test_a_paused_bridge_begins_nothing(lab: Lab) -> None:
    """While the broker is being moved."""
    await lab.engine.delivery.pause(NAME, paused=True)
    await lab.publish("a", subject="a")
    await lab.settle()
    paused = lab.outside.ids
    await lab.engine.delivery.pause(NAME, paused=False)
    await lab.outside.until(1)

    assert paused == []


async def test_a_bridge_that_is_off_keeps_its_place(tmp_path: Path) -> None:
    """Whatever is said meanwhile leaves when it is on again."""
    async with running(tmp_path / "h.db") as lab:
        await lab.publish("a", subject="a")
        await lab.outside.until(1)
        lab.outside.answer("a")
        await lab.settle()
    async with running(tmp_path / "h.db", is_on=False) as lab:
        await lab.publish("b", subject="b")
        with pytest.raises(Conflict, match="is a bridge that is off; set HEADRACE_RABBITMQ__URL"):
            await lab.engine.delivery.replay(NAME, after=0)
    async with running(tmp_path / "h.db") as lab:
        await lab.outside.until(1)

        assert lab.outside.ids == ["b"]


async def test_a_bridge_that_was_never_on_has_no_place(tmp_path: Path) -> None:
    """Turned on later, it begins with the next event and not with the history of a year."""
    async with running(tmp_path / "h.db", is_on=False) as lab:
        await lab.publish("a", subject="a")
        assert lab.engine.database.read(all_cursors) == {}
    async with running(tmp_path / "h.db") as lab:
        await lab.publish("b", subject="b")
        await lab.outside.until(1)

        assert lab.outside.ids == ["b"]
