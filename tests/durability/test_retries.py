"""What is known of failed attempts survives a restart: how many, when the next one is due, and until when it makes sense."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from headrace import Retry, flow, now, receive, step, use
from headrace._engine.engine import Limits
from headrace.errors import RateLimited, RunFailed, ServiceUnavailable
from headrace.testing import Harness

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class Service:
    """Fails so many times; notes when it was asked."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.failures = failures
        self.error = error or ServiceUnavailable("not yet")
        self.asked: list[datetime] = []

    def ask(self) -> str:
        self.asked.append(now())
        if len(self.asked) <= self.failures:
            raise self.error
        return "answer"

    def minutes(self) -> list[int]:
        """When it was asked, counted from the first time."""
        return [round((moment - self.asked[0]) / MINUTE) for moment in self.asked]


@step(retry=Retry(attempts=5, first=MINUTE, factor=3, ceiling=HOUR, on=ServiceUnavailable))
async def ask() -> str:
    return use(Service).ask()


@flow(id="asks")
async def asks() -> str:
    return await ask()


@step(retry=Retry(attempts=None, first=MINUTE, factor=1, deadline=10 * MINUTE))
async def ask_for_ten_minutes() -> str:
    return use(Service).ask()


@flow(id="asks-for-ten-minutes")
async def asks_for_ten_minutes() -> str:
    return await ask_for_ten_minutes()


async def test_a_step_that_fails_four_times_works_at_its_fifth_attempt() -> None:
    """The waits are those of the policy, to the minute."""
    service = Service(failures=4)
    async with Harness(asks, ports=service) as harness:
        assert await harness.run(asks) == "answer"

    assert service.minutes() == [0, 1, 4, 13, 40]


@pytest.mark.parametrize("graceful", [False, True], ids=["crash", "restart"])
@pytest.mark.parametrize("after", range(1, 5))
async def test_a_restart_between_attempts_keeps_their_number_and_due_times(after: int, graceful: bool) -> None:
    """A process that is restarted often would press a service that asked for patience, and never give up on one that is gone."""
    service = Service(failures=4)
    async with Harness(asks, ports=service) as harness:
        run = await harness.start(asks)
        await harness.advance(timedelta(minutes=(0, 0, 1, 4, 13)[after]))
        await (harness.restart() if graceful else harness.crash())
        await harness.settle()

        assert len(service.asked) == after
        assert await run.result() == "answer"

    assert service.minutes() == [0, 1, 4, 13, 40]


@flow(id="asks-and-listens")
async def asks_and_listens() -> str:
    async def listen() -> None:
        while True:
            await receive("word", str)

    listening = asyncio.create_task(listen())
    answer = await ask()
    listening.cancel()
    return answer


@pytest.mark.parametrize("dies", [False, True], ids=["left memory", "died"])
async def test_a_run_that_is_called_in_for_something_else_does_not_try_earlier(dies: bool) -> None:
    """A message brings it back into memory in the middle of a wait; the wait goes on."""
    service = Service(failures=4)
    async with Harness(asks_and_listens, ports=service, limits=Limits(idle_runs=0)) as harness:
        run = await harness.start(asks_and_listens)
        for _ in range(50):
            await harness.advance(MINUTE / 2)
            if dies:
                await harness.crash()
            await harness.send(run, "word", "still there?")
            await harness.settle()

        assert await run.result() == "answer"

    assert service.minutes() == [0, 1, 4, 13, 40]


async def test_a_restart_after_the_due_time_tries_at_once() -> None:
    """The wait is over, whether or not anybody was there to see it."""
    service = Service(failures=3)
    async with Harness(asks, ports=service) as harness:
        run = await harness.start(asks)
        await harness.advance(4 * MINUTE)
        await harness.crash(down_for=HOUR)

        assert await run.result() == "answer"

    assert service.minutes() == [0, 1, 4, 64]


async def test_crashes_give_a_hopeless_step_no_further_attempts() -> None:
    """A step that fails in a process that crashes would be tried for ever."""
    service = Service(failures=99)
    async with Harness(asks, ports=service) as harness:
        run = await harness.start(asks)
        for _ in range(8):
            await harness.settle()
            await harness.crash(down_for=HOUR)

        with pytest.raises(RunFailed, match="not yet"):
            await run.result()
        attempts = [entry.attempt for entry in harness.history(run)]

    assert len(service.asked) == 5
    assert attempts == [5]


async def test_the_deadline_of_a_policy_counts_from_the_call() -> None:
    """Also through restarts; otherwise each of them would grant the whole time anew."""
    service = Service(failures=99)
    async with Harness(asks_for_ten_minutes, ports=service) as harness:
        run = await harness.start(asks_for_ten_minutes)
        for _ in range(4):
            await harness.advance(2 * MINUTE)
            await harness.crash()
        with pytest.raises(RunFailed, match="not yet"):
            await run.result()

    assert service.minutes()[-1] == 10


async def test_a_service_that_says_when_is_asked_then() -> None:
    """Also when it says so just before a crash, and for longer than the policy's own ceiling."""
    service = Service(failures=1, error=RateLimited(retry_after=6 * HOUR))
    async with Harness(asks, ports=service) as harness:
        run = await harness.start(asks)
        await harness.settle()
        await harness.crash(down_for=HOUR)

        assert await run.result() == "answer"

    assert service.minutes() == [0, 360]


async def test_an_error_that_is_not_named_ends_the_step() -> None:
    """A mistake is told at once, not after an hour of repeating it."""
    service = Service(failures=99, error=PermissionError("no"))
    async with Harness(asks, ports=service) as harness:
        with pytest.raises(RunFailed, match="PermissionError"):
            await harness.run(asks)

    assert len(service.asked) == 1


@pytest.mark.parametrize("commit", range(1, 8))
async def test_a_crash_at_any_commit_loses_no_failed_attempt(commit: int) -> None:
    """At most one attempt is made twice: the one whose failure was not on disk yet."""
    service = Service(failures=2)
    async with Harness(asks, ports=service) as harness:
        harness.crash_once(at_commit=commit)
        assert await harness.run(asks) == "answer"

        assert len(service.asked) <= 4
        assert [entry.attempt for entry in harness.history("asks")] in ([2], [3])
