"""One event and what became of it; the story of a subject."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from headrace import Event, Lifecycle, Pipeline, Retry, flow, on, publish, sleep, step
from headrace._app import event_story as stories
from headrace._app.event_story import Causation, EventStory, SubjectStory, causation, event_story, subject_story
from headrace._jobs.travel import Leg
from headrace.errors import EventNotFound
from headrace.testing import Harness

MINUTE = timedelta(minutes=1)

doors: Lifecycle[Any] = Lifecycle(
    "door",
    moves=[("door.opened", None, "open"), ("door.closed", "open", "shut"), ("door.stuck", "*", "stuck")],
    terminal=["shut", "stuck"],
    ends={"completed": "door.closed", "failed": "door.stuck"},
)


async def listen(event: Event[Any]) -> None:
    if event.subject in ("back", "side"):
        raise OSError("no answer")


@step
async def tell(door: str) -> None:
    await publish("door.told", subject=door)


@flow(id="close-{door}")
async def close(door: str) -> None:
    await publish("door.pushed", subject=door)
    await tell(door)
    await sleep(MINUTE)


PIPELINE = Pipeline(
    "house",
    flows=[close],
    lifecycles=[doors],
    triggers=[
        on("door.opened", close, name="closers", args=lambda event: (event.subject,), job=doors),
        on("door.*", listen, name="once", retry=Retry(attempts=1)),
        on("door.*", listen, name="patient", retry=Retry(attempts=None, first=600)),
    ],
)


@pytest.fixture
async def house() -> AsyncIterator[Harness]:
    async with Harness(PIPELINE) as running:
        await running.publish("door.opened", subject="front", id="first")
        await running.advance(MINUTE)
        yield running


def story(house: Harness, event_id: str) -> EventStory:
    triggers = {name: trigger for name, (_, trigger) in house.app.registry.triggers.items()}
    return house.app.database.read(
        lambda reader: event_story(reader, event_id, triggers=triggers, lifecycles={"door": doors})
    )


def history(house: Harness, subject: str, kind: str = "", **more: Any) -> SubjectStory:
    return house.app.database.read(
        lambda reader: subject_story(reader, subject, kind, lifecycles={"door": doors}, **more)
    )


async def test_every_subscription_tells_what_it_made_of_an_event(house: Harness) -> None:
    """'Did anybody see it?' is the first question about an event."""
    await house.publish("door.opened", subject="back", id="second")
    await house.settle()

    fine = {one.subscription: one.fate for one in story(house, "first").readings}
    bad = {one.subscription: one for one in story(house, "second").readings}

    assert fine == {"house.closers": "passed", "house.once": "passed", "house.patient": "passed"}
    assert (bad["house.once"].fate, bad["house.once"].letter) == ("dead", 1)
    assert (bad["house.patient"].fate, bad["house.patient"].attempt) == ("held", 1)
    assert bad["house.closers"].target == "flow close"


async def test_what_is_not_read_yet_is_to_come(house: Harness) -> None:
    """A paused subscription has not passed it."""
    await house.app.pause_subscription("house.once")
    await house.publish("door.opened", subject="garden", id="third")

    readings = {one.subscription: one.fate for one in story(house, "third").readings}

    assert readings["house.once"] == "to come"


async def test_a_redriven_letter_is_told_with_its_next_attempt(house: Harness) -> None:
    """Both are true: it was dead, and it is tried again."""
    await house.publish("door.opened", subject="side", id="fourth")
    await house.settle()
    await house.app.pause_subscription("house.once")
    await house.app.redrive(1)

    reading = next(one for one in story(house, "fourth").readings if one.subscription == "house.once")

    assert (reading.fate, reading.letter, reading.attempt) == ("held", 1, 0)


async def test_neighbours_and_cause_are_told(house: Harness) -> None:
    """From an event one goes on to the one before, the one behind, and the run that said it."""
    pushed = next(entry.event for entry in history(house, "front").entries if entry.event.topic == "door.pushed")

    found = story(house, pushed.id)

    assert found.cause == Causation(run_id="close-front", number=1, command=0)
    assert (found.earlier, found.later and found.later.topic) == (None, "door.told")


@pytest.mark.parametrize(
    "cause,expected",
    [
        ("order-1/2/3", Causation(run_id="order-1", number=2, command=3)),
        ("a/b/c/1/0", Causation(run_id="a/b/c", number=1, command=0)),
        ("order-1/1/end", Causation(run_id="order-1", number=1, command=None)),
        ("", None),
        ("something", None),
        ("x/y", None),
    ],
)
def test_a_cause_is_the_key_of_a_step_or_command(cause: str, expected: Causation | None) -> None:
    """Ids of runs may have slashes in them."""
    assert causation(cause) == expected


async def test_a_story_has_states_and_the_time_between(house: Harness) -> None:
    """How long each thing took is why people look."""
    found = history(house, "front", "door")

    assert [(entry.event.topic, entry.leg, entry.gap) for entry in found.entries] == [
        ("door.closed", Leg("open", "shut"), MINUTE),
        ("door.opened", Leg("", "open"), None),
    ]
    assert (found.kinds, found.page.event_count) == (("", "door"), 2)


async def test_a_subject_that_is_no_job_has_no_states(house: Harness) -> None:
    """The same id may be both."""
    found = history(house, "front", "")

    assert (found.page.job, [entry.leg for entry in found.entries]) == ("", [None, None])


async def test_an_unknown_kind_is_passed_over(house: Harness) -> None:
    """A bookmark may name a lifecycle that has no job of this id."""
    assert history(house, "front", "window").page.job == "door"
    assert history(house, "nobody").entries == ()


async def test_stories_are_paged_and_keep_their_gaps(house: Harness) -> None:
    """The last one of a page has one before it too."""
    first = history(house, "front", "door", count=1)

    assert (first.page.next, first.entries[0].gap) == (2, MINUTE)
    second = history(house, "front", "door", count=1, before=first.page.next)
    assert (second.page.next, second.entries[0].gap) == (None, None)


async def test_only_so_many_events_are_followed(house: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job with a million events must not hold its page; later states are not told then."""
    monkeypatch.setattr(stories, "FOLLOWED", 1)

    assert [entry.leg for entry in history(house, "front", "door").entries] == [None, Leg("", "open")]


async def test_what_is_not_in_the_log_is_refused(house: Harness) -> None:
    """A failed look is no empty page."""
    with pytest.raises(EventNotFound):
        story(house, "nothing")
