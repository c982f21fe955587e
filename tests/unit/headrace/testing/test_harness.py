from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace import (
    Event,
    Pipeline,
    Retry,
    Statement,
    continue_as_new,
    flow,
    on,
    publish,
    receive,
    send,
    sleep,
    start,
    step,
    use,
    wait_event,
)
from headrace._engine.engine import Limits
from headrace.errors import (
    ConfigurationError,
    EngineUnavailable,
    ReplayDiverged,
    RunFailed,
    ServiceUnavailable,
    StoreError,
)
from headrace.testing import FAULT_POINTS, FakeDisk, Flaky, Harness, InvariantBroken, Stuck, VirtualClock

MINUTE = timedelta(minutes=1)


@dataclass
class Shop:
    sold: list[str] = field(default_factory=list)

    async def sell(self, key: str) -> int:
        self.sold.append(key)
        return len(self.sold)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@step(retry=Retry(on=ServiceUnavailable, attempts=5))
async def sell() -> int:
    return await use(Shop).sell(step.key)


@flow(id="sales-{count}")
async def sales(count: int) -> int:
    for _ in range(count):
        await sell()
        await sleep(MINUTE)
    return count


@step
async def nap() -> str:
    await sleep(timedelta(hours=1))
    return "rested"


@flow
async def siesta() -> str:
    return await nap()


@flow(id="letter")
async def letter() -> str:
    return await receive("letter", str)


@flow(id="countdown")
async def countdown(left: int) -> str:
    await sell()
    if left > 0:
        continue_as_new(left - 1)
    return "lift-off"


@flow(id="story")
async def story() -> list[str]:
    told = [await countdown(1)]
    reader = await start(letter)
    await send(reader, "letter", "dear reader")
    told.append(await letter())
    await sleep(MINUTE)
    await publish("story.told", subject="story")
    await wait_event("applause", subject="story")
    return told


async def applaud(event: Event[None]) -> None:
    await publish("applause", subject=event.subject)


@flow
async def failing() -> None:
    raise ValueError("as planned")


pipeline = Pipeline(
    "shop",
    flows=[sales, siesta, letter, countdown, story, failing],
    triggers=[on("story.told", applaud)],
    wire=Shop,
)


# Time


async def test_an_hour_of_flow_time_passes_at_once(shop: Shop) -> None:
    """Tests of pipelines that wait for minutes would be skipped by everybody if they took minutes."""
    async with Harness(pipeline, ports=shop) as harness:
        counted = await harness.run(sales, 60)

        assert counted == len(shop.sold) == 60
        assert harness.elapsed == 60 * MINUTE


async def test_a_step_that_sleeps_lets_the_clock_jump() -> None:
    """A step that waits between two calls is under way, and still nothing happens before the clock moves."""
    async with Harness(pipeline) as harness:
        assert await harness.run(siesta) == "rested"
        assert harness.elapsed == timedelta(hours=1)


async def test_the_clock_stands_still_while_nobody_waits_for_a_result(shop: Shop) -> None:
    """A test that looks at a waiting run must not find it over because its own line took a while."""
    async with Harness(pipeline, ports=shop) as harness:
        run = await harness.start(sales, 3)
        await harness.settle()

        view = await run.view()

        assert (view.state, view.next_at) == ("waiting", harness.clock.moment + MINUTE)
        assert len(shop.sold) == 1


async def test_advance_stops_where_it_was_told_to(shop: Shop) -> None:
    """What happens in minute four has to be visible before minute five."""
    async with Harness(pipeline, ports=shop) as harness:
        run = await harness.start(sales, 10)

        await harness.advance(4.5 * MINUTE)

        assert len(shop.sold) == 5
        assert harness.elapsed == 4.5 * MINUTE
        assert (await run.view()).is_open


async def test_runs_that_left_memory_are_woken_by_the_clock_too(shop: Shop) -> None:
    """Due times of evicted runs stand on disk only; a clock that looks into memory alone would jump past them."""
    async with Harness(pipeline, ports=shop, limits=Limits(idle_runs=0)) as harness:
        runs = [await harness.start(sales, count) for count in (2, 5)]
        results = await asyncio.gather(*(run.result() for run in runs))

        assert results == [2, 5]
        assert harness.elapsed == 5 * MINUTE


@step
async def doze() -> None:
    await sleep(MINUTE)


@flow
async def dozing() -> None:
    await doze()


@pytest.mark.parametrize("limits", [Limits(loop_steps=1), Limits(active_runs=1)], ids=["steps", "runs"])
async def test_the_clock_jumps_for_a_step_that_others_stand_in_line_for(limits: Limits) -> None:
    """Whoever waits for a slot waits for the clock like the one who has it; a clock that stood still would hold all for ever."""
    async with Harness(dozing, limits=limits) as harness:
        runs = [await harness.start(dozing) for _ in range(3)]
        await asyncio.gather(*(run.result() for run in runs))

        assert harness.elapsed == 3 * MINUTE


@step(timeout=MINUTE)
async def at_work() -> str:
    # What a call to a stand-in over the network looks like: real time passes, and nothing waits for the clock.
    for _ in range(20):
        await asyncio.to_thread(lambda: None)
    return "answered"


@flow
async def impatient() -> str:
    async with asyncio.timeout(30):
        return await at_work()


async def test_the_clock_waits_for_a_step_that_is_at_work() -> None:
    """It would jump to the time limits of a service that is about to answer, and no test of a real call would pass."""
    async with Harness(impatient) as harness:
        assert await harness.run(impatient) == "answered"
        assert harness.elapsed == timedelta(0)


async def test_a_step_that_was_stopped_by_a_restart_is_taken_up_again() -> None:
    """The file must not say that its run waits for something: nothing would come, and nobody would look."""
    async with Harness(dozing) as harness:
        run = await harness.start(dozing)
        await harness.settle()
        await harness.restart()

        await run.result()


async def test_what_the_test_has_planned_happens_on_the_way() -> None:
    """Stand-ins change with time: the letter arrives in the third minute, not when the clock has passed it by an hour."""
    async with Harness(pipeline) as harness:
        run = await harness.start(letter)
        harness.clock.call_after(3 * MINUTE, lambda: sent.append(asyncio.ensure_future(run.send("letter", "hello"))))
        sent: list[asyncio.Future[None]] = []

        assert await run.result() == "hello"
        assert harness.elapsed == 3 * MINUTE


async def test_time_begins_where_it_was_told_to() -> None:
    """Calendars matter to pipelines: a test about the last day of February begins there."""
    async with Harness(pipeline, start=datetime(2028, 2, 29, tzinfo=UTC)) as harness:
        run = await harness.start(letter)

        assert (await run.view()).created_at == datetime(2028, 2, 29, tzinfo=UTC)


async def test_the_loop_is_given_back_as_it_was() -> None:
    """Whatever runs on the loop after the harness must not find a selector that asks a closed harness."""
    loop = asyncio.get_running_loop()
    before = (getattr(loop, "_selector", None), loop.get_exception_handler())

    async with Harness(pipeline):
        pass

    assert (getattr(loop, "_selector", None), loop.get_exception_handler()) == before


# Services


async def test_ports_take_the_place_of_the_wiring(shop: Shop) -> None:
    """A test that reached the real services because a pipeline is wired to them would be a bad surprise."""
    async with Harness(pipeline, ports=(shop, "unused")) as harness:
        await harness.run(sales, 1)

    assert len(shop.sold) == 1


async def test_a_failing_service_is_tried_again(shop: Shop) -> None:
    """The waits between attempts are flow time as well."""
    async with Harness(pipeline, ports=Flaky(shop, times=2)) as harness:
        await harness.run(sales, 1)

        assert harness.elapsed == MINUTE + timedelta(seconds=1 + 2)
        assert [entry.attempt for entry in harness.history("sales-1") if entry.kind == "step"] == [3]


# Death


async def test_crash_after_a_step_runs_it_again_with_the_same_key(shop: Shop) -> None:
    """This is the promise that steps are written for: the effect may happen twice, its key says so."""
    async with Harness(pipeline, ports=shop) as harness:
        harness.crash_once(after=sell)
        await harness.run(sales, 2)

    assert shop.sold == ["sales-2/1/0", "sales-2/1/0", "sales-2/1/2"]
    assert harness.crashes == 1


async def test_crash_before_a_step_runs_it_once(shop: Shop) -> None:
    """A death before the effect must not look like one after it."""
    async with Harness(pipeline, ports=shop) as harness:
        harness.crash_once(before=sell, nth=2)
        await harness.run(sales, 2)

    assert shop.sold == ["sales-2/1/0", "sales-2/1/2"]
    assert harness.crashes == 1


@pytest.mark.parametrize("commit", range(1, 9))
async def test_crash_at_any_commit_goes_on(shop: Shop, commit: int) -> None:
    """What is on disk when nobody has been told of it yet is where double effects and lost wake-ups come from."""
    async with Harness(pipeline, ports=shop, replay_prefixes=True) as harness:
        fault = harness.crash_once(at_commit=commit)
        await harness.run(sales, 2)

    assert list(dict.fromkeys(shop.sold)) == ["sales-2/1/0", "sales-2/1/2"]
    assert fault.has_struck


@pytest.mark.parametrize("point", sorted(set(FAULT_POINTS) - {"cancel.before"}))
async def test_crash_at_every_point_leads_to_the_same_end(shop: Shop, point: str) -> None:
    """A point at which a death changes the result, or hangs the run, is a defect of the runtime."""
    flaky = Flaky(shop, times=1)
    async with Harness(pipeline, ports=flaky, limits=Limits(idle_runs=0), replay_prefixes=2) as harness:
        fault = harness.crash_once(at=point)
        told = await harness.run(story)

    assert told == ["lift-off", "dear reader"]
    assert set(shop.sold) == {"countdown/1/0", "countdown/2/0"}
    assert fault.has_struck
    assert harness.crashes == 1


async def test_a_caller_of_a_dying_process_gets_no_answer(shop: Shop) -> None:
    """Waiting for ever would hide the crash, and an answer would be a lie."""
    async with Harness(pipeline, ports=shop) as harness:
        run = await harness.start(letter)
        harness.crash_once(at="message.before")

        with pytest.raises(EngineUnavailable, match="may be done or not"):
            await harness.send(run, "letter", "lost")
        await harness.send(run, "letter", "found")

        assert await run.result() == "found"


async def test_a_message_may_be_there_though_nobody_confirmed_it() -> None:
    """The sender of a message that was stored and not confirmed sends it twice; tests have to be able to show that."""
    async with Harness(pipeline) as harness:
        run = await harness.start(letter)
        await harness.settle()  # the next commit is that of the message
        harness.crash_once(at_commit=1)

        with pytest.raises(EngineUnavailable):
            await run.send("letter", "unconfirmed")

        assert await run.result() == "unconfirmed"


async def test_time_passes_while_the_process_is_down(shop: Shop) -> None:
    """A sleep that ran out during an outage is over at once, and is not slept again."""
    async with Harness(pipeline, ports=shop) as harness:
        run = await harness.start(sales, 2)
        await harness.settle()
        await harness.crash(down_for=timedelta(hours=8))
        await harness.settle()

        assert len(shop.sold) == 2
        await run.result()
        assert harness.elapsed == timedelta(hours=8) + MINUTE


async def test_a_graceful_restart_changes_nothing(shop: Shop) -> None:
    """Upgrades restart the process a hundred times as often as crashes do."""
    async with Harness(pipeline, ports=shop) as harness:
        run = await harness.start(sales, 3)
        for _ in range(3):
            await harness.settle()
            await harness.restart()

        assert await run.result() == 3
        assert len(shop.sold) == 3


async def test_one_way_to_die_at_a_time() -> None:
    """A call that names two moments means something that this one does not do."""
    async with Harness(pipeline) as harness:
        with pytest.raises(ConfigurationError, match="one of"):
            harness.crash_once(after=sell, at="timer.due")


async def test_a_failing_disk_is_told_to_whoever_waits(shop: Shop) -> None:
    """On a disk that cannot sync nothing may be acknowledged; the harness must not wait for better times."""
    with FakeDisk() as disk:
        async with Harness(pipeline, ports=shop, disk=disk, replay_check=False) as harness:
            await harness.run(sales, 1)
            disk.fail("sync")

            with pytest.raises(StoreError):
                await harness.run(sales, 2)
            disk.heal()


# Runs that cannot end


async def test_a_run_that_nothing_can_wake_is_given_up() -> None:
    """Without it a forgotten message would show up as a test that hangs until its timeout, and says nothing."""
    async with Harness(pipeline) as harness:
        run = await harness.start(letter)

        with pytest.raises(Stuck, match="message 'letter'"):
            await run.result()


@flow
async def unfitting() -> None:
    await sell()
    await asyncio.get_running_loop().run_in_executor(None, print)


async def test_a_run_that_is_blocked_is_told_to_whoever_waits_for_it(shop: Shop) -> None:
    """A blocked run waits for new code, which no test brings; the reason is what the author needs."""
    async with Harness(unfitting, ports=shop) as harness:
        with pytest.raises(Stuck, match="it is blocked"):
            await harness.run(unfitting)


async def test_a_run_that_is_blocked_fails_the_test_that_did_not_look(shop: Shop) -> None:
    """A flow that breaks the rules in the background must not pass because the test looked elsewhere."""
    with pytest.raises(Stuck, match="did not ask"):
        async with Harness(unfitting, ports=shop) as harness:
            await harness.start(unfitting)
            await harness.settle()


async def test_a_test_that_looked_at_a_blocked_run_is_content(shop: Shop) -> None:
    """Tests of blocked runs are tests, too."""
    async with Harness(unfitting, ports=shop) as harness:
        run = await harness.start(unfitting)
        await harness.settle()

        assert (await run.view()).state == "blocked"


# Replays


@flow
async def unordered() -> None:
    for _ in {"a", "b", "c", "d", "e", "f", "g", "h"}:
        await sleep(MINUTE)
    for word in {"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"}:
        await note(word)


@step
async def note(word: str) -> None: ...


async def test_the_order_of_a_set_is_found_out() -> None:
    """It is the same in every run of one process, so only a process with another hash seed can tell."""
    with pytest.raises(ReplayDiverged, match="note") as diverged:
        async with Harness(unordered) as harness:
            await harness.run(unordered)

    assert diverged.value.position >= 8, (
        "the words are told apart by their digests, and the first may be the same by chance"
    )
    assert "--headrace-seed=0" in diverged.value.__notes__[0]


numbers: Iterator[int] = itertools.count()


@flow
async def impure() -> int:
    await sleep(MINUTE)
    return next(numbers)


async def test_another_result_is_a_divergence() -> None:
    """A flow may issue the same commands and still come to another end; whoever replays it to answer a caller would lie."""
    with pytest.raises(ReplayDiverged, match="the result"):
        async with Harness(impure) as harness:
            next(numbers)
            await harness.run(impure)


async def test_the_check_can_be_left_out() -> None:
    """Tests about divergence itself need a harness that does not mind."""
    async with Harness(impure, replay_check=False) as harness:
        await harness.run(impure)


async def test_a_failed_run_is_replayed_to_the_same_error() -> None:
    """Most tests are about what goes wrong; a replay that ends well instead is as wrong as one that ends otherwise."""
    async with Harness(pipeline) as harness:
        with pytest.raises(RunFailed, match="as planned"):
            await harness.run(failing)

    assert harness.replays.elsewhere == ("shop.failing",)
    assert dict(harness.replays.here) == {}


async def test_a_flow_inside_a_function_is_replayed_here_and_that_is_said() -> None:
    """No other process can import it; silence would promise a check that did not happen."""

    @flow
    async def local() -> int:
        return 1

    async with Harness(local) as harness:
        await harness.run(local)

    assert dict(harness.replays.here) == {"test.local": "it is defined inside a function"}
    assert harness.replays.elsewhere == ()


async def test_a_divergence_is_found_in_a_flow_that_is_replayed_here() -> None:
    """The second-best check is a check all the same."""
    known = itertools.count()

    @flow
    async def local() -> int:
        return next(known)

    with pytest.raises(ReplayDiverged, match="the result"):
        async with Harness(local) as harness:
            await harness.run(local)


async def test_the_error_of_the_test_itself_comes_first() -> None:
    """What the check at the end finds is a note; the failed assertion is what its author looks for."""
    with pytest.raises(KeyError) as failure:
        async with Harness(impure) as harness:
            next(numbers)
            await harness.run(impure)
            raise KeyError("mine")

    assert "ReplayDiverged" in failure.value.__notes__[0]


# The store


async def test_a_broken_store_fails_the_test(tmp_path: Path) -> None:
    """A defect of the runtime that leaves orphans behind must not be found months later in a user's file."""
    with pytest.raises(InvariantBroken, match="nothing_is_due_after_the_end"):
        async with Harness(pipeline, store=tmp_path / "kept.db") as harness:
            await harness.run(siesta)
            broken = Statement("broken", "UPDATE runs SET next_at = 1")
            await harness.app.database.write(lambda tx: tx.run(broken))


async def test_a_run_that_is_stuck_under_way_fails_the_test() -> None:
    """The file says that it goes on, and nobody does anything for it: in production it would stay so until the next restart."""
    stuck = Statement("stuck", "UPDATE runs SET state = 'running', reason = '', next_at = NULL")
    with pytest.raises(InvariantBroken, match="I9: run 'letter' #1 is running, and nothing is under way"):
        async with Harness(pipeline) as harness:
            await harness.start(letter)
            await harness.settle()
            await harness.app.database.write(lambda tx: tx.run(stuck))


async def test_a_store_of_the_tests_own_is_kept(shop: Shop, tmp_path: Path) -> None:
    """Stores of earlier versions are opened by tests, and a failed test's file is worth a look."""
    async with Harness(pipeline, store=tmp_path / "kept.db", ports=shop) as harness:
        await harness.run(sales, 1)
    async with Harness(pipeline, store=tmp_path / "kept.db", ports=shop) as harness:
        await harness.run(sales, 1)

        assert [view.id for view in harness.runs()] == ["sales-1"]
        assert len(shop.sold) == 1


async def test_ids_come_from_the_seed() -> None:
    """A failure that depends on an id or on a flow's random numbers has to come back when it is asked to."""
    ids = []
    for seed in (1, 1, 2):
        async with Harness(pipeline, seed=seed) as harness:
            run = await harness.start(siesta)
            ids.append(run.id)

    assert ids[0] == ids[1] != ids[2]


async def test_outside_its_block_a_harness_says_what_is_missing() -> None:
    """The usual slip: the harness is made and not entered."""
    with pytest.raises(EngineUnavailable, match="async with"):
        await Harness(pipeline).run(siesta)


def test_a_harness_without_anything_to_run_is_refused() -> None:
    """It would say that no flow is known, one line later and with less sense."""
    with pytest.raises(ConfigurationError, match="needs the pipelines"):
        Harness()


class Turnstile:
    """A service that lets one through each minute, by the clock of the test."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._free_at = clock.moment
        self.passed: list[datetime] = []

    async def go_through(self) -> None:
        self._free_at = due = max(self._free_at, self._clock.moment) + MINUTE
        there = asyncio.Event()
        self._clock.call_after(due - self._clock.moment, there.set)
        await there.wait()
        self.passed.append(self._clock.moment)


@step
async def go_through() -> None:
    await use(Turnstile).go_through()


@flow
async def queue_up(people: int) -> int:
    await asyncio.gather(*(go_through() for _ in range(people)))
    return people


async def test_services_may_go_by_the_clock_of_the_harness() -> None:
    """A client that keeps to five requests a second is tested in no time, too."""
    clock = VirtualClock()
    turnstile = Turnstile(clock)
    async with Harness(queue_up, ports=turnstile, clock=clock) as harness:
        await harness.run(queue_up, 3)
        run = await harness.start(queue_up, 2)
        await harness.settle()
        waiting = len(turnstile.passed)
        await harness.advance(5 * MINUTE)

        assert await run.result() == 2
        assert waiting == 3
        assert [moment - clock.moment for moment in turnstile.passed[-2:]] == [-4 * MINUTE, -3 * MINUTE]
