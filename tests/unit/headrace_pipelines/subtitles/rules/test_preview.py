from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.preview import alone, having, readable, side_by_side, timecode


def cue(start: int, text: str) -> Cue:
    return Cue(start=start, end=start + 900, text=text)


ENGLISH = (cue(0, "<i>Hello</i>"), cue(1_000, "there"), cue(2_000, "you"))
SPANISH = (cue(0, "Hola"), cue(1_000, "there"), cue(2_000, "tú"))


def test_cues_stand_beside_each_other() -> None:
    """With what was not translated marked."""
    lines = side_by_side(ENGLISH, SPANISH, flagged=(2,))

    assert [(line.number, line.original, line.translation, line.is_flagged) for line in lines] == [
        (1, "Hello", "Hola", False),
        (2, "there", "there", True),
        (3, "you", "tú", False),
    ]


def test_an_edited_file_loses_a_pair_and_not_those_behind_it() -> None:
    """Somebody took a cue out and put another one in."""
    lines = side_by_side(ENGLISH, (SPANISH[0], cue(1_500, "nuevo"), SPANISH[2]))

    assert [(line.original, line.translation) for line in lines] == [
        ("Hello", "Hola"), ("there", None), (None, "nuevo"), ("you", "tú"),
    ]  # fmt: skip


def test_two_at_the_same_moment_keep_their_order() -> None:
    """Two people speak at once, above and below."""
    lines = side_by_side((cue(5, "a"), cue(5, "b")), (cue(5, "A"), cue(5, "B")))

    assert [(line.original, line.translation) for line in lines] == [("a", "A"), ("b", "B")]


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)))
def test_no_cue_is_lost_or_shown_twice(left: list[int], right: list[int]) -> None:
    """Whatever both files hold."""
    lines = side_by_side([cue(at, f"l{at}") for at in sorted(left)], [cue(at, f"r{at}") for at in right])

    assert sorted(line.original for line in lines if line.original) == sorted(f"l{at}" for at in left)
    assert sorted(line.translation for line in lines if line.translation) == sorted(f"r{at}" for at in right)
    assert [line.start for line in lines] == sorted(line.start for line in lines)


def test_words_are_found_on_both_sides() -> None:
    """One remembers one language, another the other."""
    lines = side_by_side(ENGLISH, SPANISH, flagged=(2,))

    assert [line.number for line in having(lines, "HOLA")] == [1]
    assert [line.number for line in having(lines, "you tú")] == [3]
    assert [line.number for line in having(lines, flagged=True)] == [2]
    assert having(alone(ENGLISH), "hola") == ()


@pytest.mark.parametrize(
    "text, read", [("{\\an8}<b>Up</b>", "Up"), ("a < b", "a < b"), ("{curly}", "{curly}"), ("♪ la ♪\n", "♪ la ♪")]
)
def test_what_only_players_understand_is_left_out(text: str, read: str) -> None:
    """People compare words, not tags."""
    assert readable(text) == read


@pytest.mark.parametrize(
    "milliseconds, text", [(0, "0:00.0"), (61_550, "1:01.5"), (3_723_400, "1:02:03.4"), (-5, "0:00.0")]
)
def test_times_are_as_short_as_can_be(milliseconds: int, text: str) -> None:
    """The column of times must not take the room of the words."""
    assert timecode(milliseconds) == text
