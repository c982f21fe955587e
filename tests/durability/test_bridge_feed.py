"""Messages of a real broker become events: once each, in order, and none of them is lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from headrace import BrokerMessage, EventType, Feed, Headrace, Lifecycle, OutsideEvent, Pipeline, RabbitMQ
from headrace.errors import StoreBusy, StoreFull
from tests.broker import url_at
from tests.durability.outsider import is_connected, new_name, outsider, said, until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


class Moved(BaseModel):
    to: int


@pytest.fixture
def url(broker: int) -> str:
    return url_at(broker)


@pytest.fixture
def name() -> str:
    return new_name()


def reading(name: str, *, more: Any = None, **options: Any) -> Pipeline:
    feed = Feed(f"{name}.in", **{"topics": ["#"], **options})
    return Pipeline("lab", bridges=[RabbitMQ(f"{name}.events", feeds=[feed])], **(more or {}))


async def test_what_others_say_stands_in_the_log(url: str, name: str, tmp_path: Path) -> None:
    """With the id, the source and the time that they gave it."""
    async with (
        Headrace([reading(name)], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        body = said("x1", "thing.came", "s", {"to": 1}) | {"time": "2026-02-03T04:05:06Z"}
        await other.say(f"{name}.events", body)
        await until(app, lambda view: view.feeds[0].taken == 1)
        (event,) = await app.events()

    assert (event.id, event.topic, event.subject, event.source, event.data) == (
        "x1",
        "thing.came",
        "s",
        "outside",
        {"to": 1},
    )
    assert event.time.isoformat() == "2026-02-03T04:05:06+00:00"


async def test_a_message_that_comes_twice_is_one_event(url: str, name: str, tmp_path: Path) -> None:
    """Brokers deliver at least once, and so do those who publish."""
    async with (
        Headrace([reading(name)], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        job = {"event_type": "job.failed", "job_id": "j", "source": "w", "payload": {}, "timestamp": "2026-02-03T04:05:06Z"}  # fmt: skip
        for _ in range(2):
            await other.say(f"{name}.events", said("x1", "thing.came", "s"))
            await other.say(f"{name}.events", job, key="job.failed")
        await until(app, lambda view: view.feeds[0].taken + view.feeds[0].known == 4)
        events = await app.events()

    assert sorted(event.topic for event in events) == ["job.failed", "thing.came"]


async def test_an_id_that_another_source_has_used_is_another_event(url: str, name: str, tmp_path: Path) -> None:
    """Ids are unique per source: two workers that count from one lose nothing."""
    async with (
        Headrace([reading(name)], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        for _ in range(2):
            for source in ("worker-1", "worker-2"):
                await other.say(f"{name}.events", said("1", "thing.came", "s", source, source=source))
        await until(app, lambda view: view.feeds[0].taken + view.feeds[0].known == 4)
        events = await app.events()

    assert sorted((event.source, event.data) for event in events) == [("worker-1",) * 2, ("worker-2",) * 2]


async def test_messages_of_a_subject_keep_their_order(url: str, name: str, tmp_path: Path) -> None:
    """A hundred are under way at once, and yet the first is the first."""
    async with (
        Headrace([reading(name)], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        for n in range(500):
            await other.say(f"{name}.events", said(f"x{n}", "thing.came", f"s{n % 5}", n))
        await until(app, lambda view: view.feeds[0].taken == 500)
        events = await app.events(count=1_000)

    assert [event.data for event in reversed(events)] == list(range(500))


async def test_what_cannot_be_an_event_is_put_aside_with_the_reason(
    url: str, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It must neither be lost nor come round again and again, nor stop what follows."""
    pipeline = reading(name, more={"events": [EventType("thing.moved", Moved)]})
    wrong: list[tuple[object, str, str]] = [
        (b"rubbish", "rubbish.key", "the body is no JSON"),
        (said("x1", "thing.moved", "s", {"to": "nowhere"}), "thing.moved", "ValueRefused"),
        (said("x2", "not a topic", "s"), "odd", "cannot be a topic"),
        (said("x3", "thing.came", " padded "), "thing.came", "cannot be a subject"),
    ]
    async with (
        Headrace([pipeline], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        for body, key, _ in wrong:
            await other.say(f"{name}.events", body, key=key)
        await other.say(f"{name}.events", said("good", "thing.moved", "s", {"to": 1}))
        view = await until(app, lambda view: view.feeds[0].taken == 1 and view.feeds[0].refused == len(wrong))
        letters = [await other.take(f"{name}.in.dead") for _ in wrong]
        events = await app.events()

    assert [event.id for event in events] == ["good"]
    assert view.feeds[0].known == 0
    by_key = {str(letter.headers["headrace-routing-key"]): letter for letter in letters}
    for body, key, reason in wrong:
        assert reason in str(by_key[key].headers["headrace-reason"])
        assert by_key[key].headers["headrace-exchange"] == f"{name}.events"
        assert by_key[key].body == (body if isinstance(body, bytes) else json.dumps(body).encode())
    assert caplog.text.count("feed.refused") == len(wrong)


async def test_a_feed_brings_in_its_own_topics_alone(url: str, name: str, tmp_path: Path) -> None:
    """The broker looks at the routing key, and the log at the body: whoever may say one thing cannot say another."""
    async with (
        Headrace([reading(name, topics=["subtitle.#"])], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        await other.say(f"{name}.events", said("x1", "order.paid", "s"), key="subtitle.ready")
        letter = await other.take(f"{name}.in.dead")
        events = await app.events()

    assert "its topic 'order.paid' is none of this feed's: subtitle.#" in str(letter.headers["headrace-reason"])
    assert events == []


async def test_a_fold_that_raises_puts_the_message_aside(url: str, name: str, tmp_path: Path) -> None:
    """The user's own code has a defect; the message can be sent again when it is mended."""

    def broken(data: object, event: object) -> dict[str, int]:
        raise KeyError("nobody thought of this")

    life = Lifecycle("thing", moves=[("thing.came", None, "here"), ("thing.left", "here", "gone")], terminal=["gone"], data=dict[str, int], fold=broken)  # fmt: skip
    async with (
        Headrace([reading(name, more={"lifecycles": [life]})], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        await other.say(f"{name}.events", said("x1", "thing.came", "s"))
        letter = await other.take(f"{name}.in.dead")
        events = await app.events()

    assert "KeyError: 'nobody thought of this'" in str(letter.headers["headrace-reason"])
    assert events == []


async def test_a_form_of_ones_own_can_be_read(url: str, name: str, tmp_path: Path) -> None:
    """Not everybody can be asked to change what they send."""

    def read(message: BrokerMessage) -> OutsideEvent:
        subject, _, data = message.body.decode().partition("=")
        assert message.exchange == ""
        return OutsideEvent(topic="meter.read", subject=subject, data=int(data), id=str(message.message_id), source="m")

    async with (
        Headrace([reading(name, read=read, topics=())], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        await other.say("", b"kitchen=21", key=f"{name}.in", message_id="m1")
        await other.say("", b"kitchen=warm", key=f"{name}.in", message_id="m2")
        letter = await other.take(f"{name}.in.dead")
        await until(app, lambda view: view.feeds[0].taken == 1)  # the second may be refused before the first is on disk
        (event,) = await app.events()

    assert (event.id, event.subject, event.data) == ("m1", "kitchen", 21)
    assert str(letter.headers["headrace-reason"]).startswith("ValueError: invalid literal for int()")


async def test_a_store_that_is_full_keeps_messages_waiting(
    url: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is acknowledged that is not on disk, and nothing is put aside because the disk is full."""
    async with (
        Headrace([reading(name)], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        publish, failures = app.engine.publish, [StoreFull("no space"), StoreBusy("busy")]

        async def fails_twice(new: Any) -> Any:
            if failures:
                raise failures.pop()
            return await publish(new)

        monkeypatch.setattr(app.engine, "publish", fails_twice)
        await other.say(f"{name}.events", said("x1", "thing.came", "s"))
        view = await until(app, lambda view: view.feeds[0].taken == 1)
        events = await app.events()

    assert failures == []
    assert view.feeds[0].refused == 0
    assert [event.id for event in events] == ["x1"]


async def test_a_queue_that_is_taken_away_is_made_again(url: str, name: str, tmp_path: Path) -> None:
    """The broker tells whoever reads it once, and then never again."""
    async with (
        Headrace([reading(name)], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        first = await until(app, is_connected)
        await other.channel.queue_delete(f"{name}.in")
        await until(app, lambda view: is_connected(view) and view.since > first.since)
        await other.say(f"{name}.events", said("x1", "thing.came", "s"))
        await until(app, lambda view: view.feeds[0].taken == 1)


async def test_a_message_that_nobody_can_settle_is_put_aside_by_the_broker(url: str, name: str, tmp_path: Path) -> None:
    """Whatever makes its readers die does so only so many times."""
    async with Headrace([reading(name, delivery_limit=2)], store=tmp_path / "h.db", rabbitmq=url) as app:
        await until(app, is_connected)
    async with outsider(url) as other:
        await other.say(f"{name}.events", said("x1", "thing.came", "s"))
        queue = await other.channel.get_queue(f"{name}.in", ensure=False)
        tries = 0
        dead = await other.channel.get_queue(f"{name}.in.dead", ensure=False)
        letter = None
        async with asyncio.timeout(30):
            while letter is None:
                if (message := await queue.get(fail=False)) is not None:
                    tries += 1
                    await message.nack(requeue=True)
                letter = await dead.get(fail=False)
        await letter.ack()

    assert tries == 3
    deaths: Any = letter.headers["x-death"]
    assert (deaths[0]["reason"], deaths[0]["queue"]) == ("delivery_limit", f"{name}.in")


async def test_one_of_several_readers_is_active(url: str, name: str, tmp_path: Path) -> None:
    """Two stores read one queue: with ``single_active`` one of them gets all, and the other takes over when it goes."""
    pipeline = reading(name, single_active=True)
    async with (
        Headrace([pipeline], store=tmp_path / "b.db", rabbitmq=url) as second,
        outsider(url) as other,
    ):
        async with Headrace([pipeline], store=tmp_path / "a.db", rabbitmq=url) as first:
            await until(first, is_connected)
            await until(second, is_connected)
            for n in range(20):
                await other.say(f"{name}.events", said(f"x{n}", "thing.came", "s"))
            async with asyncio.timeout(30):
                while True:
                    counts = [app.bridges[0].feeds[0].taken for app in (first, second)]
                    if sum(counts) == 20:
                        break
                    await asyncio.sleep(0.02)
        await other.say(f"{name}.events", said("last", "thing.came", "s"))
        await until(second, lambda view: view.feeds[0].taken in (1, 21))

    assert sorted(counts) == [0, 20]
