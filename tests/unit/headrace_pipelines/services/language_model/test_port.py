from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headrace.errors import ServiceRefused, UnexpectedAnswer
from headrace_pipelines.services.language_model.port import (
    Answer,
    BudgetSpent,
    ContextTooLong,
    Finish,
    KeyRefused,
    ModelUnknown,
    QuotaUsedUp,
    Usage,
)


def answer(text: str) -> Answer:
    return Answer(text=text, finish=Finish.STOP, model="m")


def test_an_answer_is_read_as_json_fenced_or_not() -> None:
    """Every pipeline that asks for JSON would else strip fences by itself."""
    assert answer('```json\n{"a": [1]}\n```').json() == {"a": [1]}
    assert answer("[1]").json() == [1]


def test_an_answer_that_is_no_json_says_what_it_is() -> None:
    """Whoever reads the error wants to see what the model said instead."""
    with pytest.raises(UnexpectedAnswer, match="m did not answer JSON but 'Certainly!"):
        answer("Certainly! " + "x" * 500).json()


def test_usage_adds_up() -> None:
    """The cost of a job is the sum over its questions."""
    one = Usage(prompt_tokens=1, completion_tokens=2, reasoning_tokens=1)

    assert one + one == Usage(prompt_tokens=2, completion_tokens=4, reasoning_tokens=2)
    assert (one + one).total == 6


@pytest.mark.parametrize("error", [KeyRefused, ModelUnknown, ContextTooLong, QuotaUsedUp, BudgetSpent])
def test_what_no_attempt_can_change_is_a_refusal(error: type[ServiceRefused]) -> None:
    """Steps retry by class: an unpaid bill that looked like a rate limit was retried for ever (O24)."""
    assert issubclass(error, ServiceRefused)


def test_a_quota_says_until_when_it_is_used_up() -> None:
    """A flow sleeps until then."""
    until = datetime(2026, 1, 2, 8, tzinfo=UTC)

    assert QuotaUsedUp("all gone", until=until).until == until
    assert QuotaUsedUp("unpaid").until is None
