from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.rules.answers import Checked, Problem
from headrace_pipelines.subtitles.rules.repair import (
    Repair,
    Verdict,
    after_answer,
    after_cut,
    after_refusal,
    allowed,
    begin,
    verdict,
)


def answered(repair: Repair, bad: Iterable[int]) -> Repair:
    """What is asked for is answered, apart from these lines."""
    ask = repair.next
    assert ask is not None
    bad = set(bad)
    return after_answer(
        repair,
        Checked(
            accepted={number: f"t{number}" for number in ask.ids if number not in bad},
            problems={number: Problem.MARKS for number in ask.ids if number in bad},
        ),
    )


def story(repair: Repair, bad: Iterable[int]) -> list[tuple[int, tuple[int, ...]]]:
    """Which model is asked for what, while these lines never come out right."""
    asked: list[tuple[int, tuple[int, ...]]] = []
    bad = set(bad)
    while (ask := repair.next) is not None:
        asked.append((ask.model, ask.ids))
        repair = answered(repair, bad)
    return asked


def test_a_good_answer_is_the_end() -> None:
    """One call for a chunk is what nearly all chunks take."""
    repair = answered(begin((1, 2, 3)), ())

    assert (repair.next, repair.accepted, repair.flagged) == (None, {1: "t1", 2: "t2", 3: "t3"}, {})
    assert repair.asked == 1


def test_nothing_to_ask_is_over_at_once() -> None:
    """A chunk of nothing but music needs no model."""
    assert begin(()).next is None


def test_the_ladder_for_one_bad_line() -> None:
    """Only the bad line is asked for again; a single line cannot be halved; then the other model; then it is flagged."""
    assert story(begin((1, 2, 3), models=2), {2}) == [(0, (1, 2, 3)), (0, (2,)), (0, (2,)), (1, (2,))]


def test_the_ladder_for_many_bad_lines() -> None:
    """Asked again twice, then in halves, then one by one."""
    assert story(begin(range(1, 7)), {1, 2, 3}) == [
        (0, (1, 2, 3, 4, 5, 6)),
        (0, (1, 2, 3)),
        (0, (1, 2, 3)),
        (0, (1, 2)),
        (0, (1,)),
        (0, (2,)),
        (0, (3,)),
    ]


def test_a_line_that_was_left_over_of_several_is_asked_alone() -> None:
    """Alone it often succeeds, without neighbours to be put into."""
    repair = begin((1, 2))
    for bad in ({1, 2}, {1, 2}, {1}):
        repair = answered(repair, bad)

    assert repair.next is not None
    assert (repair.next.ids, repair.next.repetitions) == ((1,), 0)


def test_the_next_question_says_what_was_wrong() -> None:
    """The same question gets the same answer."""
    ask = answered(begin((1, 2)), {2}).next

    assert ask is not None
    assert ask.problems == {2: Problem.MARKS}


def test_a_cut_answer_is_halved_at_once() -> None:
    """Scenario 23: nothing of it is taken, and the same length would be cut again."""
    repair = after_cut(begin((1, 2, 3)))

    assert [ask.ids for ask in repair.pending] == [(1, 2), (3,)]
    assert repair.accepted == {}


def test_a_single_line_that_is_cut_goes_to_the_other_model() -> None:
    """It cannot be made shorter."""
    repair = after_cut(begin((1,), models=2))

    assert repair.next is not None
    assert repair.next.model == 1
    assert after_cut(repair).flagged == {1: Problem.CUT}


def test_a_refusal_is_narrowed_down_to_its_line() -> None:
    """One line that a filter dislikes must not cost the other ninety-nine."""
    repair, asked = begin(tuple(range(1, 101))), 0
    while (ask := repair.next) is not None:
        asked += 1
        repair = after_refusal(repair) if 42 in ask.ids else answered(repair, ())

    assert repair.flagged == {42: Problem.REFUSED}
    assert len(repair.accepted) == 99
    assert asked <= 16


def test_what_is_lost_anyway_is_not_paid_for() -> None:
    """Whatever model answers in the wrong language fails at every line, two hundred times a chunk."""
    repair = begin(tuple(range(1, 101)), allowance=3)
    while repair.next is not None:
        repair = answered(repair, range(1, 101))

    assert len(repair.flagged) == 100
    assert sum(problem is Problem.NOT_TRIED for problem in repair.flagged.values()) == 96
    assert repair.asked <= 3 + 7 + 2 * 4


@settings(deadline=None)
@given(st.data(), st.integers(1, 40), st.integers(1, 3))
def test_every_line_ends_accepted_or_flagged(data: st.DataObject, count: int, models: int) -> None:
    """And soon: no answers, however bad, make it go on for ever, and no accepted line is asked for again."""
    repair = begin(tuple(range(count)), models=models)
    while (ask := repair.next) is not None:
        assert not set(ask.ids) & (set(repair.accepted) | set(repair.flagged))
        match data.draw(st.sampled_from(["answer", "cut", "refusal"])):
            case "cut":
                repair = after_cut(repair)
            case "refusal":
                repair = after_refusal(repair)
            case _:
                repair = answered(repair, data.draw(st.sets(st.sampled_from(ask.ids))))
        assert repair.asked <= 3 + (4 + models) * count

    assert set(repair.accepted) | set(repair.flagged) == set(range(count))
    assert not set(repair.accepted) & set(repair.flagged)


@pytest.mark.parametrize(
    "cues, flagged, expected",
    [
        (1_500, 0, Verdict.COMPLETE),
        (1_500, 1, Verdict.WITH_WARNINGS),
        (1_500, 15, Verdict.WITH_WARNINGS),
        (1_500, 16, Verdict.INCOMPLETE),
        (99, 1, Verdict.INCOMPLETE),
        (0, 0, Verdict.COMPLETE),
    ],
)
def test_one_cue_in_a_hundred_may_stay_untranslated(cues: int, flagged: int, expected: Verdict) -> None:
    """A file with every tenth line in English was called done."""
    assert verdict(cues, flagged) is expected
    assert (flagged <= allowed(cues)) == (expected is not Verdict.INCOMPLETE)
