"""What every engine promises, whatever runs the flows. No test here knows which engine it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headrace import Headrace, Pipeline
from headrace._store.location import PostgresUrl
from headrace.errors import (
    RunAlreadyEnded,
    RunAlreadyExists,
    RunCancelled,
    RunFailed,
    RunNotFound,
    RunTimedOut,
    ValueRefused,
)
from tests.contracts import flows
from tests.contracts.flows import Parcel, World


@pytest.fixture
def world() -> World:
    return World()


KEY = b"of thirty-two bytes, as it must."

Begin = Callable[[Pipeline], AbstractAsyncContextManager[Headrace]]


def embedded(request: pytest.FixtureRequest) -> Begin:
    folder: Path = request.getfixturevalue("tmp_path")
    return lambda pipeline: Headrace([pipeline], store=folder / "store.db")


def embedded_on_postgres(request: pytest.FixtureRequest) -> Begin:
    place: PostgresUrl = request.getfixturevalue("postgres")
    return lambda pipeline: Headrace([pipeline], store=place)


def encrypted(request: pytest.FixtureRequest) -> Begin:
    folder: Path = request.getfixturevalue("tmp_path")
    return lambda pipeline: Headrace([pipeline], store=folder / "store.db", keys=[KEY])


def encrypted_on_postgres(request: pytest.FixtureRequest) -> Begin:
    place: PostgresUrl = request.getfixturevalue("postgres")
    return lambda pipeline: Headrace([pipeline], store=place, keys=[KEY])


# Another engine is one more function here.
ENGINES = {
    "embedded": embedded,
    "encrypted": encrypted,
    "embedded on postgres": embedded_on_postgres,
    "encrypted on postgres": encrypted_on_postgres,
}


@pytest.fixture(params=ENGINES)
def begin(request: pytest.FixtureRequest) -> Begin:
    return ENGINES[request.param](request)


@pytest.fixture
async def app(begin: Begin, world: World) -> AsyncIterator[Headrace]:
    pipeline = Pipeline("contract", flows=flows.pipeline.flows, wire=lambda: world)
    async with begin(pipeline) as app:
        yield app


async def until(happened: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    """Give way until something is so; the test's own time limit ends a wait in vain."""
    while True:
        answer = happened()
        if answer if isinstance(answer, bool) else await answer:
            return
        await asyncio.to_thread(lambda: None)


async def test_a_run_returns_what_its_flow_returns(app: Headrace, world: World) -> None:
    """The simplest promise of all."""
    assert await app.run(flows.greet, "ann") == "ANN"

    assert world.effects == {"ann": 1}


async def test_gathered_branches_keep_their_results_apart(app: Headrace) -> None:
    """Results of branches that finish in another order than they began would be swapped."""
    names = [f"n{number}" for number in range(20)]

    assert await app.run(flows.branches, names) == [f"parsed-{name}" for name in names]


async def test_a_task_group_sees_completions_in_their_order(app: Headrace) -> None:
    """Shared state written by tasks would not follow the order of completion."""
    assert await app.run(flows.group, ["slow", "middle", "quick"]) == ["quick", "middle", "slow"]


async def test_a_flow_can_catch_the_error_of_a_step_by_its_class(app: Headrace) -> None:
    """Flows could not tell errors apart."""
    assert await app.run(flows.catches) == "LookupError ('lost', 7)"


async def test_a_failed_run_tells_why(app: Headrace) -> None:
    """The cause of a failure would be lost on its way to the caller."""
    run = await app.start(flows.fails, "tom")

    with pytest.raises(RunFailed) as raised:
        await run.result()

    assert isinstance(raised.value.__cause__, LookupError)
    assert (await run.view()).state == "failed"


async def test_a_failing_step_is_tried_again_as_its_policy_says(app: Headrace) -> None:
    """Passing troubles would end runs."""
    assert await app.run(flows.persistent, "p", 4) == 5


async def test_retries_end_with_the_last_error(app: Headrace, world: World) -> None:
    """A step would be tried for ever, or its error be lost."""
    with pytest.raises(RunFailed, match="failure 5"):
        await app.run(flows.persistent, "q", 99)

    assert world.failures["q"] == 5


async def test_an_error_that_is_not_worth_it_is_not_retried(app: Headrace, world: World) -> None:
    """Hopeless work would be repeated."""
    with pytest.raises(RunFailed, match="PermissionError"):
        await app.run(flows.hopeless, "r")

    assert world.failures["r"] == 1


async def test_retry_after_is_honoured(app: Headrace) -> None:
    """A service that asks for patience would be pressed."""
    assert await app.run(flows.patient, "s") >= 0.29


async def test_step_timeouts_reach_the_loop_and_threads(app: Headrace) -> None:
    """A hanging step would hang its run."""
    assert await app.run(flows.timed_out_steps) == ["StepTimedOut", "StepTimedOut"]


async def test_asyncio_timeout_ends_a_step(app: Headrace, world: World) -> None:
    """The flow would go on while the step it gave up still works."""
    assert await app.run(flows.impatient) == "gave up"

    assert world.seen == ["impatient began", "impatient cancelled"]


async def test_cancelling_lets_a_flow_clean_up(app: Headrace, world: World) -> None:
    """Resources of cancelled runs would stay behind."""
    run = await app.start(flows.careful, "x")
    await until(lambda: bool(world.seen))

    await run.cancel()
    with pytest.raises(RunCancelled):
        await run.result()

    assert world.effects == {"x cleaned up": 1}
    assert (await run.view()).state == "cancelled"


async def test_cancelling_twice_is_harmless_and_afterwards_it_is_refused(app: Headrace, world: World) -> None:
    """Impatient callers would do damage, or get no clear answer."""
    run = await app.start(flows.careful, "y")
    await until(lambda: bool(world.seen))

    await asyncio.gather(run.cancel(), run.cancel())
    with pytest.raises(RunCancelled):
        await run.result()
    with pytest.raises(RunAlreadyEnded, match="cancelled"):
        await run.cancel()

    assert world.effects == {"y cleaned up": 1}


async def test_a_flow_may_survive_being_cancelled(app: Headrace, world: World) -> None:
    """asyncio lets code catch CancelledError; so do we."""
    run = await app.start(flows.stubborn, "z")
    await until(lambda: bool(world.seen))

    await run.cancel()

    assert await run.result() == "went on"


async def test_force_ends_a_run_without_asking_it(app: Headrace, world: World) -> None:
    """A run that refuses to stop could not be stopped."""
    run = await app.start(flows.stubborn, "f")
    await until(lambda: bool(world.seen))

    await run.cancel(force=True)

    with pytest.raises(RunCancelled):
        await run.result()


async def test_a_child_is_waited_for(app: Headrace, world: World) -> None:
    """Calling a flow in a flow would not give its result."""
    world.gate("kid").set()

    assert await app.run(flows.parent, "kid") == "kid"

    assert (await app.get("child-kid")).state == "completed"


async def test_cancelling_a_parent_cancels_the_child_it_waits_for(app: Headrace, world: World) -> None:
    """Children of cancelled parents would go on working for nobody."""
    run = await app.start(flows.parent, "kid")
    await until(lambda: "kid began" in world.seen)

    await run.cancel()
    with pytest.raises(RunCancelled):
        await run.result()

    assert (await app.get("child-kid")).state == "cancelled"
    assert world.effects == {"kid cleaned up": 1}


async def test_the_failure_of_a_child_reaches_its_parent_with_the_cause(app: Headrace) -> None:
    """A parent could not tell why its child failed."""
    assert await app.run(flows.parent_of_failing) == "RunFailed because of LookupError"


async def test_a_started_run_outlives_the_flow_that_started_it(app: Headrace) -> None:
    """start() would be a call."""
    ref = await app.run(flows.launcher, "rocket")
    assert ref.id == "go-rocket"
    assert (await app.get(ref.id)).finished_at is None

    await app.send(ref, "go", "now")

    assert await app.handle(ref.id).result() == "now"


async def test_fifty_starts_of_one_id_make_one_run(app: Headrace, world: World) -> None:
    """Idempotent starts are what callers build exactly-once on."""
    runs = await asyncio.gather(*(app.start(flows.greet, "same") for _ in range(50)))

    assert {(run.id, run.number) for run in runs} == {("greet-same", 1)}
    assert await runs[0].result() == "SAME"
    assert world.effects == {"same": 1}


async def test_a_completed_run_is_joined_and_a_failed_one_started_again(app: Headrace, world: World) -> None:
    """Finished work would be done again, or failed work never."""
    await app.run(flows.greet, "once")
    joined = await app.start(flows.greet, "once")
    with pytest.raises(RunFailed):
        await app.run(flows.fails, "again")
    again = await app.start(flows.fails, "again")

    assert joined.number == 1
    assert again.number == 2
    assert world.effects["once"] == 1


async def test_policies_reject_and_replace(app: Headrace, world: World) -> None:
    """Callers could not say what a taken id means to them."""
    first = await app.start(flows.careful, "p")
    await until(lambda: bool(world.seen))

    with pytest.raises(RunAlreadyExists):
        await app.start_as(flows.careful, None, "reject", "p")
    second = await app.start_as(flows.careful, None, "replace", "p")
    world.gate("p").set()
    await second.result()

    assert (first.number, second.number) == (1, 2)
    assert (await app.get("careful-p", 1)).state == "replaced"
    with pytest.raises(RunCancelled):
        await first.result()


async def test_messages_are_kept_until_somebody_receives_them_in_order(app: Headrace) -> None:
    """A message sent before its receive would be lost."""
    run = await app.start(flows.collector, "c", 3)
    for number in range(3):
        await run.send("number", number)

    assert await run.result() == [0, 1, 2]


async def test_flows_send_messages_to_each_other(app: Headrace) -> None:
    """Runs could not talk."""
    run = await app.start(flows.collector, "d", 3)

    await app.run(flows.talker, run.id)

    assert await run.result() == [0, 1, 2]


async def test_a_message_for_nobody_is_an_error(app: Headrace) -> None:
    """Messages would vanish without a word."""
    assert await app.run(flows.talks_to_nobody) == "RunNotFound"
    with pytest.raises(RunNotFound):
        await app.send("nobody", "number", 1)
    await app.run(flows.greet, "ended")
    with pytest.raises(RunAlreadyEnded):
        await app.send("greet-ended", "number", 1)


async def test_a_run_can_continue_as_new_and_keeps_its_unread_messages(app: Headrace) -> None:
    """Endless flows would grow endless journals, or lose messages on the way."""
    run = await app.start(flows.counter, "k")
    for number in (1, 10, 100):
        await app.send(run.id, "add", number)

    assert await run.result() == 111
    assert (await app.get("counter-k")).number == 3


async def test_sleep_waits_and_a_past_instant_does_not(app: Headrace) -> None:
    """Time would stand still in flows."""
    assert 0.05 <= await app.run(flows.sleeper, 0.05) < 5


async def test_arguments_are_copied_at_the_call_and_results_at_the_return(app: Headrace) -> None:
    """Live and replay would differ when a flow changes what it passed or got."""
    assert await app.run(flows.mutator) == [[1, 2], [1, 99, 3]]


async def test_values_come_back_as_their_annotation_says(app: Headrace) -> None:
    """NaN, tuples, sets and instants would change on their way."""
    parcel = Parcel(float("nan"), (1, "one"), frozenset({"b", "a"}), datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))

    assert await app.run(flows.exact, parcel)


async def test_results_are_delivered_as_they_are_recorded(app: Headrace) -> None:
    """The first run would see a tuple where every replay sees a list."""
    assert await app.run(flows.as_recorded) == "{'1': [2, 3]}"


async def test_a_result_that_does_not_fit_its_annotation_is_refused(app: Headrace) -> None:
    """Wrong values would be recorded and poison every replay."""
    with pytest.raises(RunFailed) as raised:
        await app.run(flows.ill_typed)

    assert isinstance(raised.value.__cause__, ValueRefused)


@pytest.mark.parametrize("size", [0, 100_000, 140_000, 5_000_000])
async def test_values_of_every_allowed_size_pass(app: Headrace, size: int) -> None:
    """Large values would not fit into a row."""
    assert await app.run(flows.large, size) == size


async def test_a_value_that_is_too_large_is_refused_with_advice(app: Headrace) -> None:
    """Somebody would store films in the journal."""
    with pytest.raises(RunFailed, match="store the bytes elsewhere"):
        await app.run(flows.large, 17 * 2**20)


async def test_a_run_that_is_late_is_ended_with_clean_up(app: Headrace, world: World) -> None:
    """Deadlines would be wishes."""
    with pytest.raises(RunTimedOut):
        await app.run(flows.late)

    assert world.effects == {"late cleaned up": 1}


async def test_draws_differ_between_runs(app: Headrace) -> None:
    """All runs would roll the same dice."""
    one, other = await app.run(flows.draws), await app.run(flows.draws)

    assert len({*one, *other}) >= 9


async def test_a_run_that_comes_first_to_a_patch_goes_the_new_way(app: Headrace) -> None:
    """New runs would go the old way."""
    assert await app.run(flows.modern) == "new"


async def test_an_at_most_once_step_runs_once_when_nothing_happens(app: Headrace, world: World) -> None:
    """The careful way would not even work on a good day."""
    assert await app.run(flows.careful_once, "o") == "o"

    assert world.effects == {"o": 1}


async def test_a_step_inside_a_step_is_refused_with_the_way_out(app: Headrace) -> None:
    """The inner step would silently not be durable."""
    assert "parse.fn" in await app.run(flows.calls_step_in_step)


async def test_tasks_that_a_flow_leaves_behind_are_cancelled_and_waited_for(app: Headrace, world: World) -> None:
    """As asyncio.run does; otherwise their steps would go on for nobody."""
    assert await app.run(flows.leaves_tasks_behind) == "done"

    assert world.effects == {"task cleaned up": 1}


async def test_every_open_run_says_what_it_waits_for(app: Headrace, world: World) -> None:
    """Nobody could tell waiting from hanging."""
    run = await app.start(flows.waits_for_go, "w")

    async def waits() -> bool:
        return (await run.view()).state == "waiting"

    await until(waits)

    view = await run.view()
    assert view.reason == "message 'go'"
    assert "flows.py:" in view.location
