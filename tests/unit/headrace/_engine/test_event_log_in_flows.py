"""What flows say and hear: publish and wait_event."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest

from headrace import Event, EventType, Pipeline, Retry, flow, publish, sleep, step, wait_event
from headrace.errors import DefinitionError, RunFailed, ValueRefused
from headrace.testing import FAULT_POINTS, Harness

pytestmark = pytest.mark.usefixtures("each_store")

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Goal:
    team: str
    minute: int


goal_scored = EventType("goal.scored", Goal)


@flow(id="reporter-{match}")
async def reporter(match: str) -> str:
    first = await wait_event("goal.scored", subject=match)
    second = await wait_event("goal.#", subject=match)
    return f"{first.data.team} {first.data.minute}, {second.data.team} {second.data.minute}"


@flow
async def referee(match: str, minutes: list[int]) -> list[int]:
    positions = []
    for minute in minutes:
        await sleep(MINUTE)
        published = await publish("goal.scored", Goal("home", minute), subject=match)
        positions.append(published.sequence)
    return positions


@flow
async def patient(match: str) -> str:
    try:
        event = await wait_event("whistle", subject=match, timeout=5 * MINUTE)
    except TimeoutError:
        return "nobody whistled"
    return event.source


@flow
async def both(match: str) -> list[str]:
    events = await asyncio.gather(wait_event("b", subject=match), wait_event("a", subject=match))
    third = await wait_event("c", subject=match)
    return [event.topic for event in (*events, third)]


@step(retry=Retry(attempts=2))
async def announce(match: str) -> int:
    first = await publish("announced", {"match": match}, subject=match)
    second = await publish("announced", {"match": match}, subject=match)
    if step.attempt == 1:
        raise ConnectionError
    return second.sequence - first.sequence


@flow
async def announcer(match: str) -> int:
    return await announce(match)


@flow
async def liar() -> None:
    await publish("goal.scored", object(), subject="m1")


@flow
async def quoting(subject: str, source: str) -> None:
    await publish("quoted", {"data": [1.5, "\u00e9"]}, subject=subject, source=source)


pipeline = Pipeline(
    "football", flows=[reporter, referee, patient, both, announcer, liar, quoting], events=[goal_scored]
)


async def test_a_flow_hears_what_another_one_says() -> None:
    """The two ways in and out of the log, in declared types."""
    async with Harness(pipeline) as harness:
        listening = await harness.start(reporter, "m1")
        speaking = await harness.start(referee, "m1", [7, 44])

        assert await listening.result() == "home 7, home 44"
        assert await speaking.result() == [1, 2]


async def test_an_early_event_is_not_missed() -> None:
    """Between its start and its wait a flow does other things, and events do not wait for that."""
    async with Harness(pipeline) as harness:
        await harness.publish("goal.scored", Goal("away", 1), subject="m1")
        run = await harness.start(reporter, "m1")
        await harness.settle()
        await harness.publish("goal.scored", Goal("away", 2), subject="m2")
        await harness.publish("goal.scored", Goal("home", 3), subject="m1")
        await harness.publish("goal.scored", Goal("home", 4), subject="m1")

        assert await run.result() == "home 3, home 4"


async def test_waits_at_the_same_time_hear_events_in_any_order() -> None:
    """Both begin where the run began, so neither hides the other's event."""
    async with Harness(pipeline) as harness:
        run = await harness.start(both, "m1")
        for topic in ("a", "b", "c"):
            await harness.publish(topic, subject="m1")

        assert await run.result() == ["b", "a", "c"]


async def test_a_wait_may_end_without_an_event() -> None:
    """The event that comes later belongs to nobody, and the file has no wait left."""
    async with Harness(pipeline) as harness:
        run = await harness.start(patient, "m1")

        assert await run.result() == "nobody whistled"
        await harness.publish("whistle", subject="m1")


async def test_a_waiting_run_says_what_it_waits_for() -> None:
    """Somebody will look at it in the dashboard and wonder."""
    async with Harness(pipeline) as harness:
        run = await harness.start(reporter, "m1")
        await harness.settle()
        view = await run.view()

        assert (view.state, view.reason) == ("waiting", "event 'goal.scored' of m1")


async def test_a_step_publishes_the_same_event_in_each_attempt() -> None:
    """A step runs at least once; what it says must not multiply with its attempts."""
    async with Harness(pipeline) as harness:
        assert await harness.run(announcer, "m1") == 1
        events = await harness.events()

    assert [event.topic for event in events] == ["announced", "announced"]


async def test_data_that_does_not_fit_fails_the_flow_where_it_stands() -> None:
    """The flow may catch it; the log has nothing of it."""
    async with Harness(pipeline) as harness:
        with pytest.raises(RunFailed, match="ValueRefused"):
            await harness.run(liar)
        assert await harness.events() == []


async def test_texts_that_look_like_data_do_no_harm() -> None:
    """The journal has what was published as one text; subjects and sources are free to look like a part of it."""
    trap = 'x","data":{"y":1}'
    async with Harness(pipeline) as harness:
        await harness.run(quoting, trap, trap)
        (event,) = await harness.events("quoted")

    assert (event.subject, event.source, event.data) == (trap, trap, {"data": [1.5, "\u00e9"]})


@pytest.mark.parametrize("topic", ["", "goal.*", "a b"])
async def test_what_is_no_topic_is_refused(topic: str) -> None:
    """Nobody could subscribe to it."""
    async with Harness(pipeline) as harness:
        with pytest.raises(ValueRefused):
            await harness.publish(topic, subject="m1")


async def test_plain_code_is_told_how_to_publish() -> None:
    """Outside there is no log without an app."""
    with pytest.raises(DefinitionError, match=r"app\.publish"):
        await publish("goal.scored", subject="m1")


async def test_the_same_id_gets_the_first_answer_again() -> None:
    """Whoever got no answer asks again, and must not make two facts of one."""
    async with Harness(pipeline) as harness:
        first = await harness.publish("whistle", {"by": 1}, subject="m1", id="w-1")
        second = await harness.publish("whistle", {"by": 2}, subject="m2", id="w-1")

    assert (second.position, second.subject, second.duplicate) == (first.position, "m1", True)


POINTS = [
    "publish.before",
    "publish.after",
    "record.before",
    "store.before_commit",
    "store.after_commit",
    "replay.after",
]


@pytest.mark.parametrize("nth", range(1, 9))
@pytest.mark.parametrize("point", POINTS)
async def test_nothing_is_said_twice_and_nothing_missed(point: str, nth: int) -> None:
    """Wherever the process dies, the log has each goal once, in order, and the listener hears the first two."""
    assert point in FAULT_POINTS
    async with Harness(pipeline) as harness:
        harness.crash_once(at=point, nth=nth)
        listening = await harness.start(reporter, "m1")
        speaking = await harness.start(referee, "m1", [7, 44])

        assert await speaking.result() == [1, 2]
        assert await listening.result() == "home 7, home 44"
        events: list[Event[Goal]] = await harness.events()

    assert [event.data.minute for event in events] == [7, 44]
