from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.rules.writing import english_name, scripts_of, share_in


@pytest.mark.parametrize(
    "tag, name",
    [
        ("he", "Hebrew"),
        ("pt-BR", "Brazilian Portuguese"),
        ("zh-Hant", "Traditional Chinese"),
        ("es-419", "Latin American Spanish"),
        ("ht", "Haitian Creole"),
        ("de-AT", "German (AT)"),
        ("xx", "the language with the tag 'xx'"),
    ],
)
def test_models_are_told_names(tag: str, name: str) -> None:
    """Codes were taken for other languages: `slo` for Slovenian, `pt` for either Portuguese."""
    assert english_name(tag) == name


@pytest.mark.parametrize(
    "tag, scripts",
    [
        ("he", ("HEBREW",)),
        ("en-GB", ("LATIN",)),
        ("sr", ("CYRILLIC", "LATIN")),
        ("sr-Latn", ("LATIN",)),
        ("ja", ("HIRAGANA", "KATAKANA", "CJK")),
        ("xx", ()),
    ],
)
def test_a_language_has_its_letters(tag: str, scripts: tuple[str, ...]) -> None:
    """Some languages have two alphabets; a tag may say which."""
    assert scripts_of(tag) == scripts


@pytest.mark.parametrize(
    "tag, text, share",
    [
        ("he", "שלום", 1),
        ("he", "Hello", 0),
        ("he", "שלום Bob", 4 / 7),
        ("he", "12:30 ♪", 1),
        ("ja", "これはカメラと言う", 1),
        ("zh", "你好ＡＢ", 0.5),
        ("en", "ｆｕｌｌ", 1),  # noqa: RUF001 - as wide as Chinese
        ("xx", "anything", 1),
    ],
)
def test_how_much_of_a_text_is_in_the_letters_of_a_language(tag: str, text: str, share: float) -> None:
    """The cheapest sign that a line was not translated; what is not known is not judged."""
    assert share_in(scripts_of(tag), text) == pytest.approx(share)
