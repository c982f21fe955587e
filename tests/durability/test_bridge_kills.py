"""A process with a bridge is killed at the worst moments; a broker and three foreign processes see to it that nobody is kind to it."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from headrace import Headrace, Lifecycle, Pipeline, RabbitMQ
from headrace._bridge.declaration import Feed
from headrace.testing.faults import kill_environment
from tests.broker import url_at
from tests.durability.bridge_program import SUBJECTS, pipeline
from tests.durability.outsider import check_order, is_connected, new_name, outsider, said, until
from tests.tree import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240), pytest.mark.allow_blocking]

EVENTS = 400
TRIES = int(os.environ.get("TRIES", "8"))


def start(module: str, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.durability.{module}", *arguments],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


class Victim:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        self.name = new_name()

    def start(self, events: int = EVENTS, *, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
        where = (str(self.folder), self.url, self.name)
        return start("bridge_program", *where, str(events), str(EVENTS), environment=environment)

    async def prepare(self) -> None:
        """Declare everything, and let the others have their say already."""
        async with Headrace([pipeline(self.name)], store=self.folder / "store.db", rabbitmq=self.url) as app:
            await until(app, is_connected)
        async with outsider(self.url) as other:
            for n in range(EVENTS):
                body = said(f"x{n}", "other.said", f"o{n % SUBJECTS}", n)
                await other.say("", body, key=f"{self.name}.in")

    async def check_at_the_end(self, events: int = EVENTS) -> int:
        """How many messages were sent more than once."""
        async with outsider(self.url) as other:
            found = await other.collect(f"{self.name}.all", events)
        async with Headrace([pipeline(self.name)], store=self.folder / "store.db", rabbitmq=self.url) as app:
            fed = await app.events("other.#", count=10_000)
            letters = await app.dead_letters()
        assert {message["id"] for message in found} == {f"e{n}" for n in range(events)}, "an event did not arrive"
        check_order(found)
        assert sorted(event.id for event in fed) == sorted(f"x{n}" for n in range(EVENTS)), (
            "a message is lost or doubled"
        )
        assert letters == []
        return len(found) - events


@pytest.fixture
async def victim(broker: int, tmp_path: Path) -> Victim:
    victim = Victim(tmp_path, url_at(broker))
    await victim.prepare()
    return victim


@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    # About to be sent; confirmed, and the position is not written; about to be taken in; taken in, and not acknowledged.
    ["handler.before", "handler.after", "publish.before", "publish.after", "store.before_commit", "store.after_commit"],
)
async def test_a_process_that_is_killed_at_a_named_point_loses_nothing(victim: Victim, point: str) -> None:
    """Between the broker's word and the store's there is always a moment; none may be a bad one."""
    nth = random.Random(point).randrange(5, 60)

    first = victim.start(environment=kill_environment(point, nth))
    _, errors = await asyncio.to_thread(first.communicate, timeout=60)
    last = victim.start()
    output, more = await asyncio.to_thread(last.communicate, timeout=60)

    assert first.returncode == -9, f"{point} was not passed {nth} times: {errors}"
    assert output == "begun\nall done\n", more
    await victim.check_at_the_end()


@pytest.mark.slow
async def test_a_process_that_is_killed_again_and_again_loses_nothing(victim: Victim) -> None:
    """Moments that nobody thought of."""
    seed = int(os.environ.get("SEED", "0")) or random.randrange(2**32)
    chance = random.Random(seed)
    print(f"repeat with: SEED={seed} pytest {__file__}")
    deaths, events = 0, EVENTS
    for life in range(TRIES):
        events = EVENTS + 200 * life  # each life finds some new work, so that it is not done before it is killed
        process = victim.start(events)
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        await asyncio.sleep(chance.random() * 0.3)
        process.kill()
        await asyncio.to_thread(process.communicate)
        deaths += process.returncode == -9
    output, errors = await asyncio.to_thread(victim.start(events).communicate, timeout=60)

    assert output == "begun\nall done\n", errors
    assert deaths > TRIES / 2, "it was done before it could be killed; raise EVENTS"
    print(f"{deaths} deaths, {await victim.check_at_the_end(events)} messages were sent again")


@pytest.mark.slow
@pytest.mark.parametrize("prefetch", [1, 100])
async def test_three_competing_workers_leave_no_job_in_a_wrong_state(
    broker: int, tmp_path: Path, prefetch: int
) -> None:
    """Consumers that overtake each other, say things twice and die: jobs move by their lifecycle, whatever comes first."""
    url, name, jobs = url_at(broker), new_name(), 2_000
    life: Lifecycle[None] = Lifecycle(
        "subtitle",
        moves=[
            ("subtitle.requested", None, "queued"),
            ("subtitle.started", "queued", "in_progress"),
            ("subtitle.ready", ("queued", "in_progress"), "done"),
        ],
        terminal=["done"],
    )
    bridge = RabbitMQ(
        f"{name}.events",
        topics=["subtitle.#"],
        queues={f"{name}.work": ["subtitle.requested"]},
        feeds=[Feed(f"{name}.results", topics=["subtitle.started", "subtitle.ready"])],
    )
    lab = Pipeline("lab", lifecycles=[life], bridges=[bridge])
    workers: list[subprocess.Popen[str]] = []

    def begin_worker() -> None:
        seed = f"{prefetch}/{len(workers)}"
        workers.append(start("bridge_worker", url, f"{name}.work", f"{name}.events", str(prefetch), seed))

    try:
        async with Headrace([lab], store=tmp_path / "h.db", rabbitmq=url) as app:
            await until(app, is_connected)
            for _ in range(3):
                begin_worker()
            for batch in range(0, jobs, 200):
                await asyncio.gather(
                    *(app.publish("subtitle.requested", {}, subject=f"j{n}") for n in range(batch, batch + 200))
                )
            await until(app, lambda view: view.feeds[0].taken > jobs // 4)
            workers[0].kill()
            begin_worker()
            await until(app, lambda view: view.feeds[0].taken >= 2 * jobs, seconds=120)
            states = Counter([job.state for job in await app.jobs(life, count=jobs + 1)])
            histories = [await app.job_history(life, f"j{n}") for n in range(jobs)]
            view = app.bridges[0]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()

    assert states == {"done": jobs}
    assert all([event.sequence for event in history] == [1, 2, 3] for history in histories)
    late = sum(event.applied is False for history in histories for event in history)
    assert late > jobs // 10, "the workers were too orderly to show anything"
    assert view.feeds[0].refused == 0
    print(f"prefetch {prefetch}: {late} events came too late, {view.feeds[0].known} twice")
