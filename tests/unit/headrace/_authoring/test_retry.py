from __future__ import annotations

import random
from datetime import timedelta

import pytest

from headrace import Retry
from headrace._authoring.retry import NO_RETRY
from headrace.errors import DefinitionError, OutcomeUnknown, RateLimited, ServiceUnavailable, ValueRefused

CHANCE = random.Random(1)
NO_TIME = timedelta(0)
PASSING = ServiceUnavailable("for a moment")


def waits(policy: Retry, failures: int, error: BaseException = PASSING) -> list[float | None]:
    found = [policy.wait_after(attempt, error, NO_TIME, CHANCE) for attempt in range(1, failures + 1)]
    return [None if wait is None else wait.total_seconds() for wait in found]


def test_waits_grow_by_the_factor_up_to_the_ceiling() -> None:
    """A service that is down is asked less and less often, and still often enough."""
    assert waits(Retry(attempts=None, first=1, factor=2, ceiling=10), 6) == [1, 2, 4, 8, 10, 10]


def test_a_wait_never_overflows() -> None:
    """A step that is tried for months must not end because its wait cannot be computed."""
    assert waits(Retry(attempts=None, first=1, factor=10, ceiling=60), 1_000)[-1] == 60


def test_attempts_are_counted_with_the_first_one() -> None:
    """Three attempts are the first one and two more."""
    assert waits(Retry(attempts=3, first=1), 3) == [1, 2, None]


def test_without_a_policy_there_is_one_attempt() -> None:
    """Repeating an effect is for its author to allow."""
    assert waits(NO_RETRY, 1) == [None]


@pytest.mark.parametrize("jitter", [0.1, 1.0])
def test_jitter_makes_waits_shorter_only(jitter: float) -> None:
    """Many runs that failed together are spread out, and no wait is longer than was promised."""
    found = [Retry(first=10, jitter=jitter).wait_after(1, PASSING, NO_TIME, CHANCE) for _ in range(200)]
    seconds = [wait.total_seconds() for wait in found if wait is not None]

    assert len(set(seconds)) > 100
    assert 10 * (1 - jitter) <= min(seconds)
    assert max(seconds) <= 10


def test_a_service_that_asks_for_patience_gets_it() -> None:
    """Also beyond the ceiling; and a shorter wish does not make a wait shorter."""
    policy = Retry(attempts=None, first=10, factor=1, ceiling=20)

    assert waits(policy, 1, RateLimited(retry_after=timedelta(minutes=5))) == [300]
    assert waits(policy, 1, RateLimited(retry_after=timedelta(seconds=2))) == [10]


@pytest.mark.parametrize("elapsed, wait", [(0, 10), (50, 10), (51, None), (3_600, None)])
def test_no_attempt_starts_after_the_deadline(elapsed: int, wait: int | None) -> None:
    """What comes too late need not be done."""
    found = Retry(attempts=None, first=10, deadline=60).wait_after(1, PASSING, timedelta(seconds=elapsed), CHANCE)

    assert found == (None if wait is None else timedelta(seconds=wait))


def test_only_the_named_errors_are_worth_another_attempt() -> None:
    """A mistake does not become right by repetition."""
    policy = Retry(on=(ServiceUnavailable, TimeoutError))

    assert waits(policy, 1, TimeoutError()) == [1]
    assert waits(policy, 1, RateLimited(retry_after=NO_TIME)) == [1]
    assert waits(policy, 1, LookupError()) == [None]


@pytest.mark.parametrize("error", [DefinitionError("x"), ValueRefused("x"), OutcomeUnknown("pay", "run/1/2")], ids=repr)
def test_hopeless_errors_are_not_tried_again(error: Exception) -> None:
    """Whatever the policy says: the code or the value is wrong, or a person must decide."""
    assert waits(Retry(attempts=None), 1, error) == [None]


@pytest.mark.parametrize(
    "options", [{"attempts": 0}, {"factor": 0.5}, {"jitter": 2}, {"first": -1}, {"deadline": -1}, {"on": "Timeout"}]
)
def test_a_policy_without_sense_is_refused(options: dict[str, object]) -> None:
    """At import, not at the first failure in a year."""
    with pytest.raises(DefinitionError, match=next(iter(options))):
        Retry(**options)  # type: ignore[arg-type]  # that is the point
