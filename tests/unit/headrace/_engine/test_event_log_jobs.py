"""Jobs that events move, and runs that work for them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from headrace import Event, EventType, Lifecycle, Pipeline, Retry, flow, on, publish, sleep, start, step, use
from headrace.errors import Conflict, DefinitionError, NotFound, RunCancelled, RunFailed
from headrace.testing import FAULT_POINTS, Harness

pytestmark = pytest.mark.usefixtures("each_store")

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Order:
    steps: int = 0
    last: str = ""


def fold(before: Order | None, event: Event[Any]) -> Order:
    return Order((before.steps if before else 0) + 1, event.topic)


orders = Lifecycle(
    "order",
    moves=[
        ("order.placed", None, "placed"),
        ("order.packed", "placed", "packed"),
        ("order.sent", ("placed", "packed"), "sent"),
        ("order.failed", "*", "failed"),
        ("order.cancelled", "*", "cancelled"),
    ],
    terminal=["sent", "failed", "cancelled"],
    notes=["order.seen"],
    retry=("order.retried", "placed"),
    ends={"completed": "order.sent", "failed": "order.failed", "cancelled": "order.cancelled"},
    data=Order,
    fold=fold,
)


@dataclass
class Stock:
    """What is out there; ``missing`` orders cannot be packed."""

    missing: set[str] = field(default_factory=set)
    packed: list[str] = field(default_factory=list)


@step(retry=Retry(attempts=2, first=60))
async def pack(order: str) -> None:
    stock = use(Stock)
    if order in stock.missing:
        raise LookupError(f"{order} is not in stock")
    stock.packed.append(step.key)


@flow
async def deliver(event: Event[Any]) -> str:
    await pack(event.subject)
    await publish("order.packed")
    await sleep(10 * MINUTE)
    return "by train"


@flow(timeout=MINUTE)
async def dawdle(event: Event[Any]) -> None:
    await sleep(60 * MINUTE)


@flow
async def delegate(event: Event[Any]) -> None:
    await start(helper, event.subject)
    await sleep(5 * MINUTE)


@flow
async def helper(order: str) -> None:
    await publish("order.packed")


def shop(flow_: Any = deliver) -> Pipeline:
    return Pipeline(
        "shop",
        flows=[flow_, helper] if flow_ is delegate else [flow_],
        lifecycles=[orders],
        triggers=[on(("order.placed", "order.retried"), flow_, job=orders)],
    )


pipeline, dawdling, delegating = shop(), shop(dawdle), shop(delegate)


async def test_events_move_a_job_and_fold_its_data() -> None:
    """Workers say what happened and know nothing of states."""
    async with Harness(pipeline, ports=Stock()) as harness:
        placed = await harness.publish("order.placed", subject="o-1")
        await harness.settle()
        packed = await harness.app.job("order", "o-1")
        await harness.advance(10 * MINUTE)
        sent = await harness.app.job("order", "o-1")

        assert (placed.job, placed.applied, placed.generation) == ("order", True, 1)
        assert (packed.state, packed.data) == ("packed", Order(2, "order.packed"))
        assert (sent.state, sent.terminal, sent.data.last) == ("sent", True, "order.sent")


async def test_late_and_double_events_are_kept_and_move_nothing() -> None:
    """Redelivery and reordering must do no harm; the history tells what happened to each."""
    async with Harness(Pipeline("plain", lifecycles=[orders])) as harness:
        topics = ["order.packed", "order.placed", "order.placed", "order.seen", "order.sent", "order.packed"]
        answers = [await harness.publish(topic, subject="o-1") for topic in topics]
        job = await harness.app.job("order", "o-1")
        history = await harness.app.job_history("order", "o-1")

    assert [answer.applied for answer in answers] == [False, True, False, True, True, False]
    assert [answer.sequence for answer in answers] == [1, 2, 3, 4, 5, 6]
    assert [event.reason != "" for event in history] == [True, False, True, False, False, True]
    assert (job.state, job.data) == ("sent", Order(3, "order.sent"))


async def test_a_failed_run_fails_its_job_in_the_same_breath() -> None:
    """Nobody has to look for jobs whose worker is gone."""
    async with Harness(pipeline, ports=Stock(missing={"o-1"})) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.advance(2 * MINUTE)
        job = await harness.app.job("order", "o-1")
        history = await harness.app.job_history("order", "o-1")

    assert job.state == "failed"
    assert history[-1].data == {"error_type": "LookupError", "error_message": "o-1 is not in stock"}


async def test_a_run_that_takes_too_long_fails_its_job() -> None:
    """What ``timed_out`` is called was not declared, so it is a failure."""
    async with Harness(dawdling) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.advance(2 * MINUTE)
        job = await harness.app.job("order", "o-1")
        history = await harness.app.job_history("order", "o-1")

    assert job.state == "failed"
    assert history[-1].data["error_type"] == "timed_out"


async def test_a_retry_is_a_new_generation_with_a_run_of_its_own() -> None:
    """The first one's late events must not touch it, and the first run's result must not answer for it."""
    stock = Stock(missing={"o-1"})
    async with Harness(pipeline, ports=stock) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.advance(2 * MINUTE)
        stock.missing.clear()
        await harness.app.retry_job("order", "o-1")
        await harness.advance(11 * MINUTE)
        job = await harness.app.job("order", "o-1")

    assert (job.state, job.generation) == ("sent", 2)
    assert len(stock.packed) == 1


async def test_cancelling_the_run_cancels_the_job() -> None:
    """A person stops what they see, and means all of it."""
    async with Harness(pipeline, ports=Stock()) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.settle()
        (run,) = harness.runs()
        await harness.cancel(run.id)
        await harness.settle()

        assert (await harness.app.job("order", "o-1")).state == "cancelled"


@pytest.mark.parametrize("force", [False, True], ids=["asked", "forced"])
async def test_cancelling_the_job_cancels_the_run(force: bool) -> None:
    """The same from the other side."""
    async with Harness(pipeline, ports=Stock()) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.settle()
        if force:
            await harness.publish("order.cancelled", subject="o-1")
        else:
            await harness.app.cancel_job("order", "o-1")
        await harness.settle()
        (run,) = harness.runs()

        assert run.state == "cancelled"
        assert (await harness.app.job("order", "o-1")).state == "cancelled"
        history = await harness.app.job_history("order", "o-1")
        assert [event.topic for event in history if event.applied].count("order.cancelled") == 1


async def test_children_work_for_the_same_job() -> None:
    """What they say carries the job's generation; their end is not the job's end."""
    async with Harness(delegating) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.settle()
        job = await harness.app.job("order", "o-1")
        history = await harness.app.job_history("order", "o-1")

    assert job.state == "packed"
    assert history[-1].generation == 1


async def test_what_does_not_exist_is_said() -> None:
    """Wrong ids are typed every day."""
    async with Harness(pipeline, ports=Stock()) as harness:
        with pytest.raises(NotFound, match="no job 'o-9'"):
            await harness.app.job("order", "o-9")
        with pytest.raises(NotFound, match="no lifecycle"):
            await harness.app.job("odrer", "o-9")
        await harness.publish("order.placed", subject="o-1")
        with pytest.raises(Conflict, match="has not ended"):
            await harness.app.retry_job("order", "o-1")


async def test_a_fold_that_raises_refuses_the_event() -> None:
    """The publisher learns of it; half an event would be worse."""
    picky = Lifecycle(
        "picky",
        moves=[("p.made", None, "made"), ("p.done", "made", "done")],
        terminal=["done"],
        fold=lambda _, event: event.data["must"],
    )
    async with Harness(Pipeline("picky", lifecycles=[picky])) as harness:
        with pytest.raises(KeyError):
            await harness.publish("p.made", {}, subject="p-1")
        assert await harness.events() == []


@pytest.mark.parametrize("nth", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("point", sorted(set(FAULT_POINTS) - {"step.before", "step.after"}))
async def test_wherever_the_process_dies_a_job_ends_once(point: str, nth: int) -> None:
    """Each event once, each state once, and the run's end and the job's end in one breath."""
    async with Harness(pipeline, ports=Stock(missing={"o-2"})) as harness:
        harness.crash_once(at=point, nth=nth)
        await asyncio.gather(*(harness.publish("order.placed", subject=f"o-{number}") for number in (1, 2, 3)))
        await harness.advance(20 * MINUTE)
        jobs = [await harness.app.job("order", f"o-{number}") for number in (1, 2, 3)]
        histories = [await harness.app.job_history("order", f"o-{number}") for number in (1, 2, 3)]

    assert [job.state for job in jobs] == ["sent", "failed", "sent"]
    assert [event.topic for event in histories[0]] == ["order.placed", "order.packed", "order.sent"]
    assert [event.topic for event in histories[1]] == ["order.placed", "order.failed"]


async def test_waiting_for_a_job_says_how_it_ended() -> None:
    """A bound run can still be awaited like any other."""
    async with Harness(pipeline, ports=Stock(missing={"o-1"})) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.settle()
        (run,) = harness.runs()

        with pytest.raises((RunFailed, RunCancelled), match="not in stock"):
            await harness.app.handle(run.id).result()


async def test_no_run_begins_for_a_job_that_was_cancelled_before_its_turn() -> None:
    """The order was cancelled while the subscription was paused; packing it now would be wrong."""
    stock = Stock()
    async with Harness(pipeline, ports=stock) as harness:
        await harness.app.pause_subscription("shop.deliver")
        await harness.publish("order.placed", subject="o-1")
        await harness.app.cancel_job("order", "o-1")
        await harness.app.resume_subscription("shop.deliver")
        await harness.settle()
        again = await harness.app.retry_job("order", "o-1")
        await harness.advance(11 * MINUTE)
        job = await harness.app.job("order", "o-1")

        assert again.generation == 2
        assert (job.state, job.generation) == ("sent", 2)
        assert len(harness.runs()) == len(stock.packed) == 1


async def test_a_replay_begins_no_run_for_an_earlier_life_of_a_job() -> None:
    """It would replace the run of the present one."""
    stock = Stock(missing={"o-1"})
    async with Harness(pipeline, ports=stock) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.advance(2 * MINUTE)
        stock.missing.clear()
        await harness.app.retry_job("order", "o-1")
        await harness.settle()
        await harness.app.replay("shop.deliver", after=0)
        await harness.advance(11 * MINUTE)
        job = await harness.app.job("order", "o-1")

        assert (job.state, job.generation) == ("sent", 2)
        assert [run.state for run in harness.runs()] == ["failed", "completed"]


parcels: Lifecycle[Any] = Lifecycle(
    "parcel",
    moves=[
        ("parcel.asked", None, "asked"),
        ("parcel.packed", "asked", "packed"),
        ("parcel.begun", "packed", "under_way"),
        ("parcel.delivered", "under_way", "delivered"),
        ("parcel.failed", "*", "failed"),
    ],
    terminal=["delivered", "failed"],
    handovers=["packed"],
    ends={"completed": "parcel.delivered", "failed": "parcel.failed"},
)


@flow(id="packing-{event.subject}")
async def packing(event: Event[Any]) -> None:
    await publish("parcel.packed")
    await sleep(event.data["lingers"] * MINUTE)


@flow(id="driving-{event.subject}")
async def driving(event: Event[Any]) -> None:
    await publish("parcel.begun")
    await sleep(5 * MINUTE)


@pytest.mark.parametrize("lingers", [0, 2, 9])
async def test_one_run_hands_a_job_over_to_the_next(lingers: int) -> None:
    """The first has done its part; whether it ends before the second begins, or outlives it, the job does not fail for it."""
    works = [on("parcel.asked", packing, job=parcels), on("parcel.packed", driving, job=parcels)]
    post = Pipeline("post", flows=[packing, driving], lifecycles=[parcels], triggers=works)
    async with Harness(post) as harness:
        await harness.publish("parcel.asked", {"lingers": lingers}, subject="p-1")
        await harness.advance(10 * MINUTE)
        history = await harness.app.job_history("parcel", "p-1")

        assert [event.topic for event in history] == [
            "parcel.asked",
            "parcel.packed",
            "parcel.begun",
            "parcel.delivered",
        ]


async def test_a_job_that_nobody_takes_over_stays_where_it_is() -> None:
    """It waits for a worker that is perhaps not deployed yet; its state says so."""
    post = Pipeline("post", flows=[packing], lifecycles=[parcels], triggers=[on("parcel.asked", packing, job=parcels)])
    async with Harness(post) as harness:
        await harness.publish("parcel.asked", {"lingers": 0}, subject="p-1")
        await harness.settle()

        assert (await harness.app.job("parcel", "p-1")).state == "packed"


@flow(id="mending-{order}-{generation}")
async def mending(order: str, generation: int, known: Order) -> int:
    return known.steps


async def test_a_run_gets_the_job_that_it_works_for() -> None:
    """The event of a retry carries nothing; what the run has to know stands on the job."""
    works = on(
        ("order.placed", "order.retried"),
        mending,
        args=lambda event, job: (event.subject, job.generation, job.data),
        job=orders,
    )
    workshop = Pipeline("workshop", flows=[mending], lifecycles=[orders], triggers=[works])
    async with Harness(workshop) as harness:
        await harness.publish("order.placed", subject="o-1")
        await harness.settle()
        await harness.app.retry_job("order", "o-1")
        await harness.settle()

        results = [await harness.app.handle(f"mending-o-1-{generation}").result() for generation in (1, 2)]
        assert results == [1, 3]


def test_arguments_that_take_a_job_need_its_lifecycle() -> None:
    """An event that is about no job has none to give."""
    with pytest.raises(DefinitionError, match="say of which lifecycle"):
        on("order.placed", mending, args=lambda event, job: (job.id, 1, job.data))


async def test_jobs_are_counted_and_listed_page_by_page() -> None:
    """A list of ten thousand jobs is read in pages, and its head says how many there are."""
    async with Harness(Pipeline("plain", lifecycles=[orders])) as harness:
        for number in range(5):
            await harness.publish("order.placed", subject=f"o-{number}")
        await harness.publish("order.packed", subject="o-1")
        first = await harness.app.jobs(orders, count=2)
        second = await harness.app.jobs(orders, before=first[-1].position, count=9)

        assert [job.id for job in first + second] == ["o-1", "o-4", "o-3", "o-2", "o-0"]
        assert await harness.app.job_counts(orders) == {"placed": 4, "packed": 1}


@flow(id="weighing-{event.subject}")
async def weighing(event: Event[Any]) -> str:
    await publish("parcel.packed")
    await publish("parcel.begun")
    return "heavy"


async def test_a_result_that_does_not_fit_its_event_fails_the_job() -> None:
    """Done with data that nobody can read would be worse: whoever reads the history would meet the error, not whoever made it."""
    works = [on("parcel.asked", weighing, job=parcels)]
    post = Pipeline(
        "post", flows=[weighing], lifecycles=[parcels], triggers=works, events=[EventType("parcel.delivered", int)]
    )
    async with Harness(post) as harness:
        await harness.publish("parcel.asked", subject="p-1")
        await harness.settle()
        history = await harness.app.job_history("parcel", "p-1")

        assert history[-1].topic == "parcel.failed"
        assert "parcel.delivered" in history[-1].data["error_message"]


@dataclass(frozen=True)
class Lost:
    why: str


lost_parcels: Lifecycle[Any] = Lifecycle(
    "parcel",
    moves=[("parcel.asked", None, "weighed"), ("parcel.lost", "*", "lost")],
    terminal=["lost"],
    ends={
        "failed": ("parcel.lost", lambda outcome: Lost(outcome.error_type)),
        "cancelled": ("parcel.lost", lambda outcome: Lost(outcome.state)),
    },
)


@flow
async def stay(event: Event[Any]) -> None:
    await sleep(60 * MINUTE)


async def test_an_end_may_be_told_by_a_value_of_the_declared_type() -> None:
    """A function of ``ends=`` is written beside the types of the events; that it gave one stopped the engine."""
    works = [on("parcel.asked", stay, job=lost_parcels)]
    post = Pipeline(
        "post", flows=[stay], lifecycles=[lost_parcels], triggers=works, events=[EventType("parcel.lost", Lost)]
    )
    async with Harness(post) as harness:
        await harness.publish("parcel.asked", subject="p-1")
        await harness.settle()
        await harness.app.cancel_job("parcel", "p-1")
        await harness.settle()
        history = await harness.app.job_history("parcel", "p-1")

        assert history[-1].data == Lost("cancelled")
        assert harness.app.failure is None


@dataclass(frozen=True)
class Stopped:
    error_message: str
    error_type: str = ""


async def test_a_job_that_nobody_works_for_is_cancelled_in_the_type_of_its_event() -> None:
    """What the runtime says itself is plain JSON, and has to become what the event declares."""
    post = Pipeline("post", flows=[], lifecycles=[lost_parcels], events=[EventType("parcel.lost", Stopped)])
    async with Harness(post) as harness:
        await harness.publish("parcel.asked", subject="p-1")
        await harness.app.cancel_job("parcel", "p-1")
        history = await harness.app.job_history("parcel", "p-1")

        assert history[-1].data == Stopped("cancelled by a person", "cancelled")
