from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.chunks import AFTER, BEFORE, Line, answer_tokens, divide, token_budget

Film = Callable[[int], tuple[Cue, ...]]
TEXTS = st.sampled_from(["Yes.", "And then", "word " * 30, "שלום וברכה", "♪", "a" * 5_000, ""])
CUES = st.lists(st.tuples(st.integers(0, 6_000), TEXTS), max_size=150)


def cues(*gaps_and_texts: tuple[int, str]) -> tuple[Cue, ...]:
    """Each cue lasts a second and begins so many milliseconds after the one before."""
    made: list[Cue] = []
    end = 0
    for gap, text in gaps_and_texts:
        made.append(Cue(start=end + gap, end=end + gap + 1_000, text=text))
        end += gap + 1_000
    return tuple(made)


def test_fifteen_hundred_cues_are_fifteen_chunks(film: Film) -> None:
    """Scenario 20. Thirty cues to a chunk cost four times the calls."""
    chunks = divide(film(1_500), target="he")

    assert [len(chunk.lines) for chunk in chunks] == [100] * 15
    assert [chunk.number for chunk in chunks] == list(range(1, 16))


def test_ids_are_places_in_the_document(film: Film) -> None:
    """Numbers that began anew in each chunk were looked up as if they did not (O7)."""
    chunks = divide(film(250), target="he")

    assert [line.id for chunk in chunks for line in chunk.lines] == list(range(1, 251))
    assert chunks[1].lines[0].id == len(chunks[0].lines) + 1


def test_the_context_is_what_stands_around(film: Film) -> None:
    """Who is spoken to is often said only a line before."""
    first, second, last = divide(film(250), target="he")

    assert (first.before, last.after) == ((), ())
    assert second.before == first.lines[-BEFORE:]
    assert second.after == last.lines[:AFTER]


def test_a_chunk_ends_between_scenes() -> None:
    """A scene that is cut has its jokes explained twice."""
    scenes = [(2_600 if number == 15 else 100, "And then") for number in range(30)]

    assert [len(chunk.lines) for chunk in divide(cues(*scenes), target="he", most_cues=20)] == [15, 15]


def test_a_chunk_ends_after_a_sentence_where_there_is_no_gap() -> None:
    """Half a sentence has no translation."""
    talk = [(100, "<i>the end.</i>" if number in (11, 17) else "and then") for number in range(30)]

    assert [len(chunk.lines) for chunk in divide(cues(*talk), target="he", most_cues=20)] == [18, 12]


def test_a_good_place_that_is_too_early_is_not_taken() -> None:
    """Chunks of three cues cost a call each."""
    talk = [(5_000 if number == 3 else 100, "and then") for number in range(30)]

    assert [len(chunk.lines) for chunk in divide(cues(*talk), target="he", most_cues=20)] == [20, 10]


@pytest.mark.parametrize("limit, budget", [(None, 8_000), (4_096, 3_276), (10_000, 8_000), (1_000_000, 8_000)])
def test_the_budget_is_a_share_of_the_limit_and_never_large(limit: int | None, budget: int) -> None:
    """Long answers lose lines, also with models that could take a novel."""
    assert token_budget(limit) == budget


def test_a_small_model_gets_small_chunks(film: Film) -> None:
    """A local model with a small context answers nothing when asked too much."""
    small, large = (divide(film(300), target="he", model_limit=limit) for limit in (2_048, 100_000))

    assert len(small) > 3 * len(large)
    assert all(answer_tokens(chunk.lines, "he") < 2_048 * 0.8 for chunk in small)


@settings(deadline=None)
@given(CUES, st.sampled_from([None, 1_200, 4_096]), st.integers(1, 100))
def test_every_cue_is_in_one_chunk(made: list[tuple[int, str]], limit: int | None, most: int) -> None:
    """A cue in no chunk stays untranslated in silence."""
    document = cues(*made)

    chunks = divide(document, target="he", model_limit=limit, most_cues=most)

    lines = [line for chunk in chunks for line in chunk.lines]
    assert lines == [Line(id=place, text=cue.text) for place, cue in enumerate(document, 1)]
    assert all(1 <= len(chunk.lines) <= most for chunk in chunks)


@settings(deadline=None)
@given(CUES)
def test_no_chunk_is_over_the_budget_unless_it_is_one_cue(made: list[tuple[int, str]]) -> None:
    """What does not fit is cut off in the middle."""
    for chunk in divide(cues(*made), target="he", model_limit=4_096):
        assert len(chunk.lines) == 1 or answer_tokens(chunk.lines, "he") <= token_budget(4_096)
