"""Languages told apart by their small words."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.rules.function_words import likely_language

from .legacy_texts import SAID

LISTED = [name for name in SAID if name not in {"ar", "fa", "he", "ja", "ko", "th", "zh-Hans", "zh-Hant"}]
NEAR = [{"cs", "pl"}, {"es", "pt"}, {"hr", "sr-Latn"}, {"ru", "uk"}, {"bg", "ru"}, {"bg", "sr"}]


@pytest.mark.parametrize("name", LISTED)
def test_a_text_is_in_its_own_language(name: str) -> None:
    """A right subtitle that is refused is lost; a wrong one that is kept can be reported."""
    guess = likely_language(SAID[name] * 20, name.partition("-")[0])

    assert guess is None or guess.confidence <= 0.9


@pytest.mark.parametrize("name", LISTED)
def test_english_is_told_from_every_other_language(name: str) -> None:
    """English under the name of another language is what uploaders get wrong most."""
    english = (
        "What is it that you want of me? I do not know what we are to do. He is here for the money, and it is not his. "
    )

    guess = likely_language(english * 20, name)

    assert guess is not None
    assert (guess.language, guess.confidence > 0.9) == ("en", True)


def test_names_of_relatives_are_the_same_language() -> None:
    """Serbian in Latin letters has the words of Croatian."""
    assert likely_language(SAID["sr-Latn"] * 20, "sr") is None
    assert likely_language(SAID["sr-Latn"] * 20, "bs") is None


@pytest.mark.parametrize("language", ["he", "gsw", "ja"])
def test_languages_that_are_not_listed_are_not_judged(language: str) -> None:
    """Where nothing is known nothing is refused."""
    assert likely_language(SAID["de"] * 20, language) is None


def test_a_few_words_prove_nothing() -> None:
    """A forced subtitle may be three names."""
    assert likely_language("I do not know", "he") is None
    assert likely_language("I do not know", "de") is None
    assert likely_language("Zakopane Wroclaw Lodz " * 100, "de") is None
