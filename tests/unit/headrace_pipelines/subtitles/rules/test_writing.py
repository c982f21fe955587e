"""Scripts and code pages of languages."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.rules.writing import code_pages, is_right_to_left, scripts_of, share_in_scripts

from .legacy_texts import SAID


@pytest.mark.parametrize(
    "tag, scripts",
    [
        ("he", ("Hebr",)), ("fa", ("Arab",)), ("ja", ("Jpan",)), ("zh", ("Hans",)), ("zh-HK", ("Hant",)),
        ("sr", ("Cyrl", "Latn")), ("sr-Latn", ("Latn",)), ("sr-Cyrl", ("Cyrl",)), ("pt-BR", ("Latn",)), ("el", ("Grek",)),
    ],
)  # fmt: skip
def test_scripts_of_a_language(tag: str, scripts: tuple[str, ...]) -> None:
    """A Serbian file in the other alphabet is no file in another language."""
    assert scripts_of(tag) == scripts


@pytest.mark.parametrize(
    "tag, pages",
    [
        ("he", ["cp1255", "iso8859_8"]), ("ar", ["cp1256"]), ("fa", ["cp1256"]), ("ru", ["cp1251"]), ("mk", ["cp1251"]),
        ("sr", ["cp1251", "cp1250"]), ("sr-Latn", ["cp1250"]), ("el", ["cp1253"]), ("tr", ["cp1254"]), ("pl", ["cp1250"]),
        ("lv", ["cp1257"]), ("th", ["cp874"]), ("vi", ["cp1258"]), ("zh", ["gb18030", "cp950"]),
        ("zh-Hant", ["cp950", "gb18030"]), ("ja", ["cp932", "euc_jp"]), ("ko", ["cp949"]), ("pt-BR", ["cp1252"]),
        ("nl", ["cp1252"]), ("ka", []),
    ],
)  # fmt: skip
def test_code_pages_of_a_language(tag: str, pages: list[str]) -> None:
    """They are what tells a Polish byte from a Turkish one."""
    assert [page.encoding for page in code_pages(tag)] == pages


@pytest.mark.parametrize("text", SAID)
def test_a_text_is_in_its_own_script(text: str) -> None:
    """The share decides whether a code page is the right one, and whether a subtitle is in the right language."""
    share = share_in_scripts(SAID[text], scripts_of(text))

    assert share is not None
    assert share > 0.95


def test_the_share_is_that_of_letters() -> None:
    """Digits, marks and blanks belong to every language."""
    assert share_in_scripts("שלום 123, abcd!", ("Hebr",)) == 0.5
    assert share_in_scripts("123 - 456", ("Hebr",)) is None
    assert share_in_scripts("whatever", ("Cher",)) is None


def test_half_width_kana_is_no_japanese_text() -> None:
    """Bytes of EUC-JP, read in code page 932, are valid and look like this."""
    assert share_in_scripts("ｵﾊﾖｳ", ("Jpan",)) == 0


def test_right_to_left_languages() -> None:
    """They are the ones that some players show with the full stop on the wrong side."""
    assert [tag for tag in ("he", "ar", "fa", "ur", "yi", "ru", "en", "zh") if is_right_to_left(tag)] == [
        "he",
        "ar",
        "fa",
        "ur",
        "yi",
    ]
