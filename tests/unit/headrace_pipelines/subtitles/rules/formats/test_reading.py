"""Lines and oddities, which all readers share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.rules.formats.reading import Oddities, lines_of, normal_text


@given(st.text(alphabet="ab \r\n\x85\u2028"))
def test_lines_joined_are_the_text(text: str) -> None:
    """What is taken apart byte for byte can be put together again."""
    assert "".join(lines_of(text)) == text


def test_signs_inside_a_text_end_no_line() -> None:
    """`str.splitlines` breaks a cue in two at a line separator of Unicode."""
    assert lines_of("a\x85b\u2028c\r\nd\r\r\ne\rf") == ["a\x85b\u2028c\r\n", "d\r\r\n", "e\r", "f"]


def test_blank_lines_are_taken_out() -> None:
    """Players take one for the end of the cue."""
    assert normal_text("\r\na\r\n\r\n  \r\nb\r\n") == "a\nb"


def test_oddities_of_one_sort_are_one_warning() -> None:
    """A file with 700 cues without index would bury everything else."""
    odd = Oddities()

    odd.note("a cue without index")
    odd.note("a cue without index")
    odd.note("something else")

    assert odd.warnings() == ("a cue without index (2 times)", "something else")
