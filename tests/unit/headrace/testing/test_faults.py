from __future__ import annotations

import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from headrace import step
from headrace._base import faultpoints
from headrace.errors import RateLimited, ServiceUnavailable
from headrace.testing import FAULT_POINTS, Crash, Fault, Flaky, crash_at, kill_environment
from tests.tree import SOURCE


@step
async def one() -> None: ...


@step
async def other() -> None: ...


def test_every_point_in_the_source_is_listed() -> None:
    """A point that is not listed is never tried by anybody; one that is gone would let its test pass without a fault."""
    hits = re.compile(r"\bfaultpoints\.hit\(\s*\"([^\"]+)\"")
    found = {name for path in SOURCE.rglob("*.py") for name in hits.findall(path.read_text())}

    assert found == set(FAULT_POINTS)


def test_strikes_at_the_nth_time_and_once() -> None:
    """A fault that struck again after the restart would be another test than the one that was written."""
    fault = Fault("timer.due", nth=2)

    struck = [fault.meets("timer.due", None) for _ in range(4)]

    assert struck == [False, True, False, False]
    assert fault.has_struck


def test_strikes_at_the_chosen_step_only() -> None:
    """crash_once(after=store_clip) must not kill the process after another step that comes first."""
    fault = Fault("step.after", step=other)

    assert [fault.meets("step.after", about) for about in (one, other)] == [False, True]


def test_an_unknown_point_is_refused() -> None:
    """A misspelt fault would never strike, and the test would be green without having tested anything."""
    with pytest.raises(ValueError, match=r"step\.before"):
        Fault("step.early")


def test_crash_at_raises_where_it_was_asked_to_and_is_gone_afterwards() -> None:
    """A fault left armed would strike in the next test."""
    with crash_at("record.before", nth=2) as fault:
        faultpoints.hit("record.before")
        with pytest.raises(Crash) as crash:
            faultpoints.hit("record.before")
    faultpoints.hit("record.before")

    assert crash.value.point == "record.before"
    assert fault.has_struck


def test_except_exception_does_not_survive_a_crash() -> None:
    """Nothing in the code under test may catch its own death."""
    assert not issubclass(Crash, Exception)


PROGRAM = """
from headrace._base import faultpoints
from headrace.testing import arm_from_environment
with arm_from_environment() as fault:
    faultpoints.hit("record.before")
    print("alive", flush=True)
    faultpoints.hit("record.before")
print("survived", fault)
"""


@pytest.mark.slow
@pytest.mark.parametrize("nth,code,said", [(2, -signal.SIGKILL, "alive\n"), (3, 0, None)])
def test_a_child_process_is_killed_where_its_environment_says(nth: int, code: int, said: str | None) -> None:
    """A simulated death still runs `finally` and `atexit`; only a real one shows what a restart finds."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=kill_environment("record.before", nth),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == code, ended.stderr
    assert said is None or ended.stdout == said


@dataclass
class Posts:
    found: list[str] = field(default_factory=lambda: ["post"])

    async def search(self) -> list[str]:
        return self.found

    def count(self) -> int:
        return len(self.found)


async def test_a_flaky_service_fails_and_recovers() -> None:
    """Retries are the reason for most of a pipeline's code paths; failing services must be easy to write."""
    posts = Flaky(Posts(), times=2, error=RateLimited)

    with pytest.raises(RateLimited):
        await posts.search()
    with pytest.raises(RateLimited):
        posts.count()

    assert await posts.search() == ["post"]
    assert isinstance(posts, Posts)
    assert posts.found == ["post"]


async def test_only_the_named_calls_of_a_service_fail() -> None:
    """A story in which the search works and the download does not needs both in one service."""
    posts = Flaky(Posts(), calls={"search"})

    assert posts.count() == 1
    with pytest.raises(ServiceUnavailable):
        await posts.search()
