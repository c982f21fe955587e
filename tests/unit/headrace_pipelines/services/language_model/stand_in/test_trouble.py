from __future__ import annotations

import pytest

from headrace_pipelines.services.language_model.stand_in.question import Question, openai_question
from headrace_pipelines.services.language_model.stand_in.trouble import Trouble, changed, merged, twice, without

ITEMS = [(1, "a"), (2, "b"), (3, "c")]
QUESTION = openai_question({"model": "m", "messages": []})


def test_a_trouble_happens_so_often() -> None:
    """`times=2` is two, not until the end of the test."""
    trouble = Trouble(times=2, when=lambda _: True)

    assert [trouble.strikes(QUESTION) for _ in range(4)] == [True, True, False, False]
    assert trouble.happened == 2


def test_a_trouble_can_be_for_ever_until_it_is_lifted() -> None:
    """Scenario 20: a chunk fails for ever, then the fault is lifted."""
    trouble = Trouble(times=None, when=lambda _: True)

    assert all(trouble.strikes(QUESTION) for _ in range(9))
    trouble.lift()
    assert not trouble.strikes(QUESTION)


def test_a_trouble_that_does_not_apply_is_not_used_up() -> None:
    """Chunks are asked for in any order."""

    def never(_: Question) -> bool:
        return False

    trouble = Trouble(times=1, when=never)

    assert not trouble.strikes(QUESTION)
    assert trouble.times == 1


@pytest.mark.parametrize("number, left", [(2, [(1, "a"), (2, "b c")]), (3, ITEMS), (9, ITEMS)])
def test_merging_takes_the_next_line_along(number: int, left: list[tuple[int, str]]) -> None:
    """The classic failure of the whole field."""
    assert merged(number)(ITEMS) == left


def test_what_else_happens_to_lines() -> None:
    """Each is one way in which models get lines wrong."""
    assert without(2)(ITEMS) == [(1, "a"), (3, "c")]
    assert twice(2)(ITEMS) == [(1, "a"), (2, "b"), (2, "b"), (3, "c")]
    assert changed(2, "x")(ITEMS) == [(1, "a"), (2, "x"), (3, "c")]
