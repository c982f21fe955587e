"""Events that go out as webhooks: to endpoints that come and go while it runs, over real HTTP."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from headrace import EventType, Headrace, Pipeline
from headrace._app import endpoints
from headrace._app.endpoints import GONE, PING, WAITS, Outgoing, Schedule
from headrace._base.webhook import verify
from headrace.errors import Conflict, NotFound, ValueRefused
from headrace.testing import Harness
from tests.receiver import Answer, Received, Receiver

pytestmark = pytest.mark.usefixtures("each_store")

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Parcel(BaseModel):
    weight: float


PIPELINE = Pipeline("shop", events=[EventType("parcel.typed", Parcel)])


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().open() as opened:
        yield opened


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness(PIPELINE) as running:
        yield running


async def add(harness: Harness, receiver: Receiver, name: str = "billing", **more: Any) -> str:
    made = await harness.app.webhooks.add(name, receiver.url, allow_private=True, **more)
    assert made.about.enabled
    return made.secret


async def say(harness: Harness, *numbers: int, topic: str = "parcel.shipped", subject: str = "p") -> None:
    for number in numbers:
        await harness.publish(topic, {"number": number}, subject=subject, id=f"{subject}/{topic}/{number}")
    await harness.settle()


def numbers(received: list[Received]) -> list[int]:
    return [json.loads(one.body)["data"]["number"] for one in received]


async def test_events_go_out_from_the_moment_of_adding(harness: Harness, receiver: Receiver) -> None:
    """Signed, in order, those of its topics, and nothing of what was before."""
    await say(harness, 1)
    secret = await add(harness, receiver, topics=["parcel.*"])
    await say(harness, 2, 3)
    await say(harness, 4, topic="letter.sent")
    shown = await harness.app.webhooks.show("billing")

    assert numbers(receiver.seen) == [2, 3]
    for came in receiver.seen:
        verify(came.headers, came.body, secrets=[secret], now=harness.clock.now())
    assert shown.last is not None
    assert (shown.last.ok, shown.last.status, shown.last.event) == (True, 204, "p/parcel.shipped/3")


async def test_a_filter_speaks_of_the_data_as_they_stand_in_the_log(harness: Harness, receiver: Receiver) -> None:
    """An endpoint knows nothing of the pipeline's types, and must not stumble over them."""
    await add(harness, receiver, topics=["#"], filter="data.weight > 2")
    for weight in (1.0, 3.0):
        await harness.publish("parcel.typed", Parcel(weight=weight), subject="p")
    await harness.settle()

    assert [json.loads(came.body)["data"] for came in receiver.seen] == [{"weight": 3.0}]


async def test_the_same_event_has_the_same_id_in_every_attempt(harness: Harness, receiver: Receiver) -> None:
    """The receiver cannot know otherwise that it has had it; what comes behind it waits, other subjects do not."""
    await add(harness, receiver)
    receiver.will(Answer(500))
    await say(harness, 1)
    await say(harness, 2)
    await say(harness, 9, subject="other")
    meanwhile = numbers(receiver.seen)
    await harness.advance(MINUTE)

    assert meanwhile == [1, 9]
    assert numbers(receiver.seen) == [1, 9, 1, 2]
    assert receiver.seen[0].headers["webhook-id"] == receiver.seen[2].headers["webhook-id"] == "p/parcel%2Eshipped/1"
    assert receiver.seen[0].headers["webhook-signature"] != receiver.seen[2].headers["webhook-signature"]


async def test_what_cannot_be_delivered_in_a_day_is_a_dead_letter_that_can_be_tried_again(
    harness: Harness, receiver: Receiver
) -> None:
    """With the tools that there are for all subscriptions."""
    await add(harness, receiver)
    receiver.usual = Answer(500)
    await say(harness, 1)
    await harness.advance(HOUR)
    after_an_hour = len(receiver.seen)
    await harness.advance(2 * DAY)
    (letter,) = await harness.app.dead_letters()
    shown = await harness.app.webhooks.show("billing")
    receiver.usual = Answer(204)
    await harness.app.redrive(letter.id)
    await harness.settle()
    again = await harness.app.webhooks.show("billing")

    assert (after_an_hour, len(receiver.seen)) == (4, len(WAITS) + 2)
    assert (letter.subscription, letter.attempts, letter.error.type) == (
        "webhook:billing",
        8,
        "headrace.errors:ServiceUnavailable",
    )
    assert (shown.failures, shown.dead, shown.last and shown.last.error) == (8, 1, f"{receiver.url[:-6]} answered 500")
    assert (again.failures, again.dead) == (0, 0)


async def test_a_receiver_that_asks_for_a_pause_gets_it(harness: Harness, receiver: Receiver) -> None:
    """Whoever knocks on all the same is blocked."""
    await add(harness, receiver)
    receiver.will(Answer(429, {"retry-after": "3600"}), Answer(503, {"retry-after": "7200"}))
    await say(harness, 1)
    seen = []
    for _ in range(4):
        await harness.advance(HOUR)
        seen.append(len(receiver.seen))

    assert seen == [2, 2, 3, 3]


async def test_a_receiver_that_wants_no_more_is_left_alone(harness: Harness, receiver: Receiver) -> None:
    """410 is how a customer leaves; what came meanwhile is there if it was a mistake."""
    await add(harness, receiver)
    receiver.will(Answer(410))
    await say(harness, 1, 2)
    await say(harness, 3, subject="other")
    await harness.advance(3 * DAY)
    gone = await harness.app.webhooks.show("billing")
    before = len(receiver.seen)
    await harness.app.webhooks.enable("billing")
    await harness.advance(MINUTE)
    back = await harness.app.webhooks.show("billing")

    assert (gone.enabled, gone.reason, gone.dead, before) == (False, GONE, 0, 1)
    assert (back.enabled, back.reason) == (True, "")
    assert sorted(numbers(receiver.seen)) == [1, 1, 2, 3]


async def test_what_comes_while_it_is_disabled_waits_for_it(harness: Harness, receiver: Receiver) -> None:
    """Also through a restart of the owner."""
    await add(harness, receiver)
    disabled = await harness.app.webhooks.disable("billing", "they move their server")
    await say(harness, 1)
    await harness.restart()
    await say(harness, 2)
    meanwhile = len(receiver.seen)
    await harness.app.webhooks.enable("billing")
    await harness.settle()

    assert (disabled.reason, meanwhile) == ("they move their server", 0)
    assert numbers(receiver.seen) == [1, 2]


async def test_a_disabled_endpoint_is_enabled_by_its_own_command(harness: Harness, receiver: Receiver) -> None:
    """Resumed as a subscription it would fail at every event, until all of them are dead."""
    await add(harness, receiver)
    await harness.app.webhooks.disable("billing")
    await say(harness, 1)
    with pytest.raises(Conflict, match="headrace webhooks enable billing"):
        await harness.app.resume_subscription("webhook:billing")
    await harness.advance(3 * DAY)

    assert (receiver.seen, await harness.app.dead_letters()) == ([], [])


async def test_an_endpoint_outlives_crashes(harness: Harness, receiver: Receiver) -> None:
    """It is a row; an event that was under way comes again, under the same id."""
    await add(harness, receiver)
    receiver.will(Answer(500))
    await say(harness, 1)
    await harness.crash()
    await harness.advance(MINUTE)
    await say(harness, 2)

    assert numbers(receiver.seen) == [1, 1, 2]


async def test_a_removed_endpoint_gets_nothing_more(harness: Harness, receiver: Receiver) -> None:
    """Not what was to be tried again either; its name is free, and begins anew."""
    await add(harness, receiver)
    receiver.will(Answer(500))
    await say(harness, 1)
    removed = await harness.app.webhooks.remove("billing")
    await say(harness, 2)
    await harness.restart()
    await harness.advance(DAY)
    left = (await harness.app.webhooks.list()).endpoints, await harness.app.subscriptions()
    await add(harness, receiver)
    await say(harness, 3)

    assert removed.name == "billing"
    assert left == ((), [])
    assert numbers(receiver.seen) == [1, 3]
    with pytest.raises(NotFound, match="no endpoint 'nobody'"):
        await harness.app.webhooks.remove("nobody")


async def test_dead_letters_of_a_removed_endpoint_are_settled(harness: Harness, receiver: Receiver) -> None:
    """Nobody could try them again, and the alarm would never be silent."""
    await add(harness, receiver)
    receiver.usual = Answer(400)
    await say(harness, 1)
    await harness.advance(3 * DAY)
    before = len(await harness.app.dead_letters())
    await harness.app.webhooks.remove("billing")
    (letter,) = await harness.app.dead_letters(state=None)

    assert (before, letter.state) == (1, "dismissed")


async def test_a_secret_is_changed_without_a_gap(harness: Harness, receiver: Receiver) -> None:
    """Both sign for a while, so that the receiver may change at any moment of it."""
    old = await add(harness, receiver)
    rotated = await harness.app.webhooks.rotate("billing", overlap=HOUR)
    await say(harness, 1)
    for secret in (old, rotated.secret):
        verify(receiver.seen[0].headers, receiver.seen[0].body, secrets=[secret], now=harness.clock.now())
    await harness.advance(HOUR)
    await say(harness, 2)
    shown = await harness.app.webhooks.show("billing")

    assert rotated.about.old_secret_until is not None
    assert shown.old_secret_until is None
    assert len(receiver.seen[0].headers["webhook-signature"].split()) == 2
    assert len(receiver.seen[1].headers["webhook-signature"].split()) == 1
    verify(receiver.seen[1].headers, receiver.seen[1].body, secrets=[rotated.secret], now=harness.clock.now())


async def test_a_ping_says_how_it_went(harness: Harness, receiver: Receiver) -> None:
    """Before the first event does; also of one that is disabled, and it is tried once."""
    secret = await add(harness, receiver)
    good = await harness.app.webhooks.test("billing")
    await harness.app.webhooks.disable("billing")
    receiver.will(Answer(500))
    bad = await harness.app.webhooks.test("billing")
    await harness.advance(DAY)

    verify(receiver.seen[0].headers, receiver.seen[0].body, secrets=[secret], now=harness.clock.now() - 86_400_000_000)
    assert (good.ok, good.status, good.topic) == (True, 204, PING)
    assert (bad.ok, bad.status, "answered 500" in bad.error) == (False, 500, True)
    assert len(receiver.seen) == 2
    assert await harness.events() == []


async def test_private_addresses_need_leave(harness: Harness, receiver: Receiver) -> None:
    """Each endpoint for itself, whatever connections others have."""
    await add(harness, receiver, "inside")
    await harness.app.webhooks.add("outside", receiver.url)
    await say(harness, 1)
    outside = await harness.app.webhooks.test("outside")

    assert len(receiver.seen) == 1
    assert "--allow-private" in outside.error
    assert outside.status is None


@pytest.fixture
def hanging() -> Iterator[Receiver]:
    with Receiver().open() as opened:
        opened.usual = Answer(hangs=True)
        yield opened


async def test_one_endpoint_does_not_hold_up_another(harness: Harness, receiver: Receiver, hanging: Receiver) -> None:
    """One hangs, and has a bounded number of attempts under way; the other has its events at once."""
    await add(harness, hanging, "slow")
    await add(harness, receiver, "quick")
    for number in range(20):
        await harness.publish("n", {"number": number}, subject=str(number))
    for _ in range(20):
        await asyncio.to_thread(receiver.next)
    for _ in range(endpoints.AT_ONCE):
        await asyncio.to_thread(hanging.next)
    at_once = len(hanging.seen)
    await harness.app.webhooks.remove("slow")
    hanging.closing.set()

    assert at_once == endpoints.AT_ONCE


async def test_so_many_at_once_and_no_more(
    receiver: Receiver, harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver that comes back after a night is not run over by what waited; nothing is left behind either."""
    await add(harness, receiver)
    await harness.app.webhooks.disable("billing")
    for number in range(50):
        await harness.publish("n", {"number": number}, subject=str(number))
    await harness.app.webhooks.enable("billing")
    await harness.settle()

    assert sorted(numbers(receiver.seen)) == list(range(50))
    assert receiver.connections <= endpoints.AT_ONCE


async def test_what_makes_no_sense_is_refused(harness: Harness, receiver: Receiver) -> None:
    """Nothing of it is kept."""
    add_one = harness.app.webhooks.add
    for name, url, more in (
        ("Billing", receiver.url, {}),
        ("a b", receiver.url, {}),
        ("a", "not-an-address", {}),
        ("a", receiver.url, {"topics": ["a..b"]}),
        ("a", receiver.url, {"topics": []}),
        ("a", receiver.url, {"filter": "data +"}),
    ):
        with pytest.raises(ValueRefused):
            await add_one(name, url, **more)
    await add_one("a", receiver.url)
    with pytest.raises(Conflict):
        await add_one("a", receiver.url)

    assert [endpoint.name for endpoint in (await harness.app.webhooks.list()).endpoints] == ["a"]


async def test_an_endpoint_is_a_subscription_like_any_other(harness: Harness, receiver: Receiver) -> None:
    """It is listed, paused and replayed to with the same tools."""
    await say(harness, 1, 2)
    await add(harness, receiver, topics=["parcel.#"])
    (listed,) = await harness.app.subscriptions()
    replayed = await harness.app.replay("webhook:billing", after=0)
    await harness.settle()
    await harness.app.pause_subscription("webhook:billing")
    await say(harness, 3)
    paused = numbers(receiver.seen)
    await harness.app.resume_subscription("webhook:billing")
    await harness.settle()

    assert (listed.name, listed.topics, listed.declared) == ("webhook:billing", ("parcel.#",), True)
    assert replayed.events == 2
    assert paused == [1, 2]
    assert numbers(receiver.seen) == [1, 2, 3]


def test_waits_are_those_that_are_given() -> None:
    """A little longer by chance, so that a thousand events that failed together do not come back together; never shorter."""
    schedule, chance = Schedule(waits=(MINUTE, HOUR)), random.Random(7)
    for attempt, wait in ((1, MINUTE), (2, HOUR)):
        found = schedule.wait_after(attempt, ConnectionError(), DAY, chance)
        assert found is not None
        assert wait <= found <= 1.1 * wait

    assert schedule.wait_after(3, ConnectionError(), DAY, chance) is None
    assert timedelta(hours=24) < sum(Outgoing().waits, timedelta()) < timedelta(hours=30)


async def test_waits_can_be_set(receiver: Receiver, tmp_path: Path) -> None:
    """A receiver of one's own may be given up at once."""
    receiver.usual = Answer(500)
    async with Headrace([], store=tmp_path / "a.db", outgoing=Outgoing(waits=())) as app:
        await app.webhooks.add("billing", receiver.url, allow_private=True)
        await app.publish("n", {"number": 1}, subject="a")
        while not await app.dead_letters():
            await asyncio.to_thread(app.counts)

    assert len(receiver.seen) == 1
