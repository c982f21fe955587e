from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.rules.marks import cells, has_words, lines, marks, visible


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("<i>Hi</i>", "<i>שלום</i>", True),
        ("<i>Hi</i>", "שלום", False),
        ("<i>Hi</i>", "</i>שלום<i>", True),
        ("<I>Hi</I>", "<i>שלום</i>", True),
        ('<font color="#fff">a</font>', '<font  color="#FFF">b</font>', True),
        ('<font color="#fff">a</font>', '<font color="#000">b</font>', False),
        ("{\\an8}Hi", "{\\an8}שלום", True),
        ("{\\an8}Hi", "{\\an2}שלום", False),
        ("♪ la ♪", "♪ לה ♪", True),
        ("♪ la ♪", "♪ לה", False),
        ("- a\n- b", "– א\n— ב", True),
        ("- a\n- b", "- א ב", False),
        ("<i>- a</i>", "<i>- א</i>", True),
        ("-5 degrees", "מינוס 5 מעלות", True),
        ("well-known", "a - b", True),
        ("a < b", "א < ב", True),
        ("-a", "\u200f-א", True),
    ],
)
def test_a_translation_carries_the_marks_over(one: str, other: str, same: bool) -> None:
    """A lost tag leaves the rest of the film in italics; a lost dash makes one speaker of two."""
    assert (marks(one) == marks(other)) is same


def test_what_is_seen_has_no_marks() -> None:
    """Lengths and letters are those of the words."""
    assert visible("{\\an8}<i>Hello,\nyou</i>\u200f") == "Hello, you"
    assert cells("<b>你好</b> a") == 6
    assert lines("<i>a</i>\n\n<i></i>\nb") == 2


@pytest.mark.parametrize("text", ["", "♪ ♪", "<i>...</i>", "1945", "- ?", "{\\an8}!"])
def test_some_cues_have_nothing_to_translate(text: str) -> None:
    """They are not sent: models like to invent words for them."""
    assert not has_words(text)
    assert has_words(text + "a")
