from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace_pipelines.services.language_model.stand_in.pseudo_locale import (
    letters_of,
    pseudo_restore,
    pseudo_translate,
)

LANGUAGES = (
    "Hebrew Russian Greek Arabic Persian Hindi Bengali Thai Japanese Korean Georgian Armenian Spanish"
    " Simplified-Chinese"
).split()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_letter_has_another_one_and_comes_back(language: str) -> None:
    """A test that reads a translated file back sees what every cue was."""
    text = "The quick brown fox jumps over the lazy dog, 7 times!"

    other = pseudo_translate(text, language)

    assert len(set(letters_of(language))) == 26
    assert pseudo_restore(other, language).lower() == text.lower()
    assert len(other) == len(text)


def test_tags_and_positions_stay() -> None:
    """A translated tag is a broken file."""
    assert pseudo_translate("{\\an8}<i>ab</i> 12", "Hebrew") == "{\\an8}<i>אב</i> 12"


def test_large_letters_stay_large_where_there_are_any() -> None:
    """What shouts in English shouts in Spanish."""
    assert pseudo_translate("No!", "Spanish") == "Ñó!"
    assert pseudo_restore("Ñó!", "Spanish") == "No!"


@settings(deadline=None)
@given(st.text())
def test_any_text_keeps_its_length_and_its_lines(text: str) -> None:
    """Sources are not only English, and odd characters must not stop a demonstration."""
    other = pseudo_translate(text, "Hebrew")

    assert len(other) == len(text)
    assert other.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "language, letter",
    [("Serbian in Latin letters", "á"), ("Serbian", "\N{CYRILLIC SMALL LETTER A}"), ("Klingon", "á"), ("", "á")],
)
def test_unknown_languages_are_latin(language: str, letter: str) -> None:
    """There is always an answer."""
    assert pseudo_translate("a", language) == letter
