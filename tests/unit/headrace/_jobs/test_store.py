"""Events that come in any order, several times, through a real store."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from headrace import Event, Lifecycle, Pipeline
from headrace.testing import Harness

pytestmark = pytest.mark.usefixtures("each_store")


def remember(before: list[str] | None, event: Event[str]) -> list[str]:
    return [*(before or []), event.data]


MOVES = [
    ("j.made", None, "made"),
    ("j.begun", ("made", "paused"), "begun"),
    ("j.paused", "begun", "paused"),
    ("j.done", "begun", "done"),
    ("j.lost", "*", "lost"),
]
JOBS = Lifecycle(
    "j",
    moves=MOVES,
    terminal=["done", "lost"],
    notes=["j.seen"],
    retry=("j.again", "made"),
    data=list[str],
    fold=remember,
)
PIPELINE = Pipeline("p", lifecycles=[JOBS])
TOPICS = [*sorted(JOBS.topics)]


@pytest.mark.parametrize("seed", range(20))
async def test_a_job_is_what_its_applied_events_make_of_it(seed: int) -> None:
    """Duplicates, any order, deaths of the process: the state is that of a plain walk over the history, and nothing is lost."""
    chance = random.Random(seed)
    said: list[tuple[str, str, str]] = []
    async with Harness(PIPELINE, seed=seed) as harness:
        for _ in range(chance.randrange(3)):
            harness.crash_once(at_commit=chance.randrange(1, 40))
        for number in range(chance.randrange(10, 60)):
            if said and chance.random() < 0.2:
                event_id, topic, subject = chance.choice(said)
            else:
                event_id, topic, subject = f"e{number}", chance.choice(TOPICS), chance.choice("abc")
                said.append((event_id, topic, subject))
            await harness.publish(topic, event_id, subject=subject, id=event_id)
        events = await harness.events()
        jobs = {job.id: job for job in await harness.app.jobs("j")}

    assert [event.id for event in events] == [event_id for event_id, _, _ in said]
    walked: defaultdict[str, tuple[str | None, int, list[str]]] = defaultdict(lambda: (None, 0, []))
    for event in events:
        state, generation, data = walked[event.subject]
        following = _walk(state, event.topic)
        assert event.applied == (following is not None), f"{event.topic} at {state}: {event.reason}"
        if following is not None:
            again = event.topic == "j.again"
            walked[event.subject] = (following, generation + (state is None or again), [*data, event.id])
    assert {id: (job.state, job.generation, job.data) for id, job in jobs.items()} == {
        subject: found for subject, found in walked.items() if found[0] is not None
    }


def _walk(state: str | None, topic: str) -> str | None:
    """The table of moves, read by somebody else."""
    if topic == "j.again":
        return "made" if state in ("done", "lost") else None
    if topic == "j.seen":
        return state
    for move, source, target in MOVES:
        if move != topic:
            continue
        if source is None:
            return target if state is None else None
        if source == "*":
            return target if state not in (None, "done", "lost") else None
        return target if state in ((source,) if isinstance(source, str) else source) else None
    raise AssertionError(topic)
