"""Events leave for a real broker: while it is away, over a wire that breaks, past queues that are not there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from headrace import Feed, Headrace, Lifecycle, Pipeline, RabbitMQ, Retry
from tests.broker import broker_or_skip, own_broker, url_at
from tests.durability.outsider import check_order, first_of_each, is_connected, new_name, outsider, said, until
from tests.wire import Wire

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

SEEDS_KEYS = (
    "subtitle.download.requested",
    "subtitle.ready",
    "subtitle.translate.requested",
    "subtitle.translated",
    "job.failed",
)


@pytest.fixture
def url(broker: int) -> str:
    return url_at(broker)


def sending(name: str, topics: Any = "#", **options: Any) -> Pipeline:
    queues = options.pop("queues", {f"{name}.all": ["#"]})
    return Pipeline("lab", bridges=[RabbitMQ(f"{name}.events", topics=topics, queues=queues, **options)])


async def publish_many(app: Headrace, numbers: range, *, subjects: int) -> None:
    """Events of many subjects, each subject's in order."""
    for begin in range(numbers.start, numbers.stop, subjects):
        batch = range(begin, min(begin + subjects, numbers.stop))
        await asyncio.gather(*(app.publish("thing.moved", n, subject=f"s{n % subjects}", id=f"e{n}") for n in batch))


@pytest.mark.slow
@pytest.mark.allow_blocking
async def test_nothing_is_lost_while_the_broker_is_away(tmp_path: Path) -> None:
    """The log is the outbox: publishing never waits for a broker, and it gets everything once it is back."""
    broker_or_skip()
    with own_broker() as broker:
        await asyncio.to_thread(broker.start)
        async with Headrace([sending("lab")], store=tmp_path / "h.db", rabbitmq=broker.url) as app:
            await until(app, is_connected)
            await publish_many(app, range(200), subjects=100)
            await asyncio.to_thread(broker.stop)
            await publish_many(app, range(200, 5_200), subjects=100)
            away = await until(app, lambda view: view.state == "waiting")
            (subscription,) = await app.subscriptions()
            await asyncio.to_thread(broker.start)
            async with outsider(broker.url) as other:
                found = await other.collect("lab.all", 5_200)
            back = await until(app, lambda view: view.behind == 0)

    assert away.behind >= 5_000
    assert away.lag > 0
    assert away.error
    assert subscription.trouble.startswith(f"no connection to 127.0.0.1:{broker.port}")
    assert {message["id"] for message in found} == {f"e{n}" for n in range(5_200)}
    check_order(found)
    assert (back.state, back.lag, back.sending) == ("connected", 0, 0)


@pytest.mark.slow
@pytest.mark.allow_blocking
async def test_a_message_that_is_too_large_for_the_broker_stops_nobody_else(tmp_path: Path) -> None:
    """It makes the broker close the channel under all others, each time it is sent."""
    broker_or_skip()
    with own_broker("max_message_size = 5000\n") as broker:
        await asyncio.to_thread(broker.start)
        async with Headrace([sending("lab")], store=tmp_path / "h.db", rabbitmq=broker.url) as app:
            await until(app, is_connected)
            for n in range(300):
                await app.publish("thing.moved", "x" * (9_000 if n == 100 else 10), subject=f"s{n % 50}", id=f"e{n}")
            await until(app, lambda view: view.behind == 0)
            (letter,) = await app.dead_letters()
            async with outsider(broker.url) as other:
                found = await other.collect("lab.all", 299)

    assert (letter.event.id, letter.attempts) == ("e100", 1)
    assert "the broker closes the channel over event 'e100'" in letter.error.message
    assert "larger than" in letter.error.message
    assert {message["id"] for message in found} == {f"e{n}" for n in range(300) if n != 100}


@pytest.mark.allow_blocking
async def test_a_connection_that_breaks_loses_nothing_and_keeps_the_order(
    url: str, broker: int, tmp_path: Path
) -> None:
    """Whatever was on the wire is sent again, before what follows it."""
    name = new_name()
    with Wire(broker) as wire:
        async with (
            Headrace([sending(name)], store=tmp_path / "h.db", rabbitmq=url_at(wire.port)) as app,
            outsider(url) as other,
        ):
            await until(app, is_connected)
            publishing = asyncio.create_task(publish_many(app, range(2_000), subjects=50))
            for done in (100, 400, 800):
                await until(app, lambda view, done=done: view.confirmed >= done)  # type: ignore[misc]  # mypy cannot infer a lambda with a default
                wire.cut()
            await publishing
            found = await other.collect(f"{name}.all", 2_000)
            await until(app, lambda view: view.behind == 0)

    assert len(first_of_each(found)) == 2_000
    check_order(found)


async def test_a_stop_in_order_sends_nothing_twice(url: str, tmp_path: Path) -> None:
    """Duplicates are for accidents."""
    name = new_name()
    async with outsider(url) as other:
        for begin in (0, 300, 600):
            async with Headrace([sending(name)], store=tmp_path / "h.db", rabbitmq=url) as app:
                await until(app, is_connected)
                await publish_many(app, range(begin, begin + 300), subjects=30)
                await until(app, lambda view: view.confirmed >= 50)
        async with Headrace([sending(name)], store=tmp_path / "h.db", rabbitmq=url) as app:
            await until(app, lambda view: view.behind == 0)
        found = await other.collect(f"{name}.all", 900)

    assert len(found) == 900
    check_order(found)


async def test_the_seeds_five_events_reach_a_queue_that_is_bound_with_a_hash(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A star is one word: bound with stars, both requests are lost."""
    name = new_name()
    queues = {f"{name}.hash": ["subtitle.#", "job.#"], f"{name}.star": ["subtitle.*", "job.*"]}
    moves = [(SEEDS_KEYS[0], None, "queued"), *((key, "queued", "done") for key in SEEDS_KEYS[1:])]
    pipeline = Pipeline(
        "lab",
        lifecycles=[Lifecycle("subtitle", moves=moves, terminal=["done"])],
        bridges=[RabbitMQ(f"{name}.events", topics=["subtitle.#", "job.#"], queues=queues, envelope="job")],
    )
    async with Headrace([pipeline], store=tmp_path / "h.db", rabbitmq=url) as app, outsider(url) as other:
        await until(app, is_connected)
        for key in SEEDS_KEYS:
            await app.publish(key, {"language": "he"}, subject="j1")
        all_five = await other.collect(f"{name}.hash", 5)
        three = await other.collect(f"{name}.star", 3)
        left = (await other.channel.declare_queue(f"{name}.star", passive=True)).declaration_result.message_count

    assert [message["routing_key"] for message in all_five] == list(SEEDS_KEYS)
    assert [message["event_type"] for message in all_five] == list(SEEDS_KEYS)
    assert {"event_type", "job_id", "timestamp", "source", "payload"} <= all_five[0].keys()
    assert [message["routing_key"] for message in three] == ["subtitle.ready", "subtitle.translated", "job.failed"]
    assert left == 0
    assert "bridge.pattern_misses" in caplog.text
    assert "missed='subtitle.download.requested, subtitle.translate.requested'" in caplog.text


async def test_an_event_that_no_queue_takes_can_be_sent_once_one_does(url: str, tmp_path: Path) -> None:
    """The broker confirms it and throws it away; here it is a dead letter with the reason."""
    name = new_name()
    pipeline = sending(
        name, queues={f"{name}.some": ["known"]}, optional=["optional"], retry=Retry(attempts=2, first=0.01)
    )
    async with Headrace([pipeline], store=tmp_path / "h.db", rabbitmq=url) as app, outsider(url) as other:
        await until(app, is_connected)
        await app.publish("unknown", 1, subject="a")
        await app.publish("optional", 2, subject="a")
        await app.publish("known", 3, subject="a")
        first = await other.take(f"{name}.some")
        view = await until(app, lambda view: view.behind == 0)
        (letter,) = await app.dead_letters()
        queue = await other.channel.get_queue(f"{name}.some", ensure=False)
        await queue.bind(f"{name}.events", "unknown")
        await app.redrive(letter.id)
        second = await other.take(f"{name}.some")

    assert (first.routing_key, second.routing_key) == ("known", "unknown")
    assert view.unroutable == 1
    assert "no queue is bound to exchange" in letter.error.message
    assert letter.attempts == 2


async def test_messages_say_what_they_are(url: str, tmp_path: Path) -> None:
    """Readers decide by properties, without opening the body."""
    name = new_name()
    async with (
        Headrace([sending(name)], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        published = await app.publish("thing.moved", {"to": 1}, subject="s")
        message = await other.take(f"{name}.all")

    assert message.message_id == published.id
    assert message.correlation_id == "s"
    assert message.routing_key == message.type == "thing.moved"
    assert message.content_type == "application/cloudevents+json"
    assert message.delivery_mode == 2
    assert message.app_id == "headrace"
    assert message.headers["sequence"] == 1


async def test_a_queue_with_other_arguments_is_explained_and_waited_for(url: str, tmp_path: Path) -> None:
    """A person has to decide; nothing is lost until then, and no restart is needed after it."""
    name = new_name()
    async with outsider(url) as other:
        old = await other.channel.declare_queue(f"{name}.all", durable=True)  # a classic one, as before
        async with Headrace([sending(name)], store=tmp_path / "h.db", rabbitmq=url) as app:
            await app.publish("thing.moved", 1, subject="s", id="e1")
            waiting = await until(app, lambda view: view.state == "waiting")
            await old.delete()
            await until(app, is_connected)
            message = await other.take(f"{name}.all")

    assert "with other properties" in waiting.error
    assert "PRECONDITION_FAILED" in waiting.error
    assert f"'{name}.all'" in waiting.error
    assert "rabbitmqctl delete_queue" in waiting.error
    assert message.message_id == "e1"


async def test_a_wrong_password_is_said_and_not_shown(
    broker: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log is read by many."""
    url = f"amqp://guest:{'wrong'}-word@127.0.0.1:{broker}/"
    async with Headrace([sending(new_name())], store=tmp_path / "h.db", rabbitmq=url) as app:
        view = await until(app, lambda view: view.state == "waiting")

    assert "does not let this user in; look at HEADRACE_RABBITMQ__URL" in view.error
    assert "bridge.refused" in caplog.text
    assert "wrong-word" not in caplog.text + str(view)


async def test_an_exchange_that_is_taken_away_comes_back(url: str, tmp_path: Path) -> None:
    """Somebody tidies up at the broker."""
    name = new_name()
    async with (
        Headrace([sending(name)], store=tmp_path / "h.db", rabbitmq=url) as app,
        outsider(url) as other,
    ):
        await until(app, is_connected)
        await other.channel.exchange_delete(f"{name}.events")
        await app.publish("thing.moved", 1, subject="s", id="e1")
        message = await other.take(f"{name}.all")

    assert message.message_id == "e1"


async def test_a_bridge_that_feeds_itself_ends(url: str, tmp_path: Path) -> None:
    """Our own events come back over our own queue: they are known by their ids, and nothing goes round."""
    name = new_name()
    pipeline = Pipeline(
        "lab", bridges=[RabbitMQ(f"{name}.events", topics="#", feeds=[Feed(f"{name}.back", topics=["#"])])]
    )
    async with Headrace([pipeline], store=tmp_path / "h.db", rabbitmq=url) as app, outsider(url) as other:
        for n in range(50):
            await app.publish("thing.moved", n, subject="s", id=f"e{n}")
        await until(app, lambda view: view.feeds[0].known >= 50)
        await other.say(f"{name}.events", said("x1", "thing.came", "s"))
        view = await until(app, lambda view: view.feeds[0].taken == 1 and view.behind == 0)
        events = await app.events(count=1_000)

    assert len(events) == 51
    # What came from the exchange does not go back there.
    assert (view.confirmed, view.feeds[0].known, view.feeds[0].refused) == (50, 50, 0)


async def test_a_replay_beside_the_ordinary_work_is_sent_whole(url: str, tmp_path: Path) -> None:
    """Both send the same events at the same time, and both come to their end."""
    name = new_name()
    async with Headrace([sending(name)], store=tmp_path / "h.db", rabbitmq=url) as app, outsider(url) as other:
        await publish_many(app, range(300), subjects=30)
        replay = await app.replay("lab.rabbitmq", after=0)
        await publish_many(app, range(300, 600), subjects=30)
        found = await other.collect(f"{name}.all", 600 + replay.events, distinct=False)
        await until(app, lambda view: view.behind == 0 and view.sending == 0)
        async with asyncio.timeout(60):
            while len(await app.subscriptions()) > 1:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.02)

    assert replay.events == 300
    assert len({message["id"] for message in found}) == 600
