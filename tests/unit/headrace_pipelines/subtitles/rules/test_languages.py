"""One tag for each language, whatever it is called outside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Wanted
from headrace_pipelines.subtitles.rules.languages import (
    NAMES,
    OPENSUBTITLES_CODES,
    PROVIDER_CODES,
    SAME_BY_DEFAULT,
    SameLanguages,
    UnknownFlag,
    UnknownLanguage,
    english_name,
    from_opensubtitles,
    parse_language,
    parse_same,
    parse_wanted,
    to_opensubtitles,
)


@pytest.mark.parametrize(
    "code, tag",
    [
        ("he", "he"), ("iw", "he"), ("heb", "he"), ("HE", "he"), ("iw-IL", "he-IL"), ("he-Hebr", "he"),
        ("slo", "sk"), ("slk", "sk"), ("scc", "sr"), ("scr", "hr"), ("chi", "zh"), ("zho", "zh"), ("cmn", "zh"),
        ("fre", "fr"), ("fra", "fr"), ("per", "fa"), ("fas", "fa"), ("ger", "de"), ("dut", "nl"), ("cze", "cs"),
        ("pob", "pt-BR"), ("pb", "pt-BR"), ("pt-br", "pt-BR"), ("pt_BR", "pt-BR"), ("pt-pt", "pt-PT"),
        ("zht", "zh-Hant"), ("zh-tw", "zh-Hant"), ("zh-TW", "zh-Hant"), ("zh-CN", "zh-Hans"), ("zh-hant", "zh-Hant"),
        ("zhe", "zh-x-dual"), ("ze", "zh-x-dual"), ("zh-x-dual", "zh-x-dual"),
        ("ea", "es-419"), ("spl", "es-419"), ("es-419", "es-419"), ("spn", "es-ES"),
        ("me", "sr-ME"), ("cnr", "sr-ME"), ("sr-latn", "sr-Latn"), ("sh", "sr-Latn"),
        ("nob", "nb"), ("no", "no"), ("fil", "fil"), ("yue", "yue"), ("zh-yue", "yue"), ("mo", "ro"), (" he ", "he"),
    ],
)  # fmt: skip
def test_codes_of_every_kind_are_known(code: str, tag: str) -> None:
    """Two codes for one language would mean two downloads of the same subtitle, or none."""
    assert parse_language(code) == tag
    assert parse_language(tag) == tag


@pytest.mark.parametrize("code", ["po", "pe", "zz", "xx-YY", "", "e", "../../x", "he/../../x", "und", "mul", "x-foo", "he-x-abc",
                                  "he-u-ca-hebrew", "a" * 500, "he\0", "עברית", "sub title"])  # fmt: skip
def test_an_unknown_code_is_an_error(code: str) -> None:
    """A code cut to two letters is another language: `slo` became Slovenian, `per` nothing at all."""
    with pytest.raises(UnknownLanguage, match=r"^unknown_language: .*Give one such as 'he', 'pt-BR', 'zh-Hant'"):
        parse_language(code)


@pytest.mark.parametrize(
    "code, nearest",
    [("hebrew", "he"), ("Hebrw", "he"), ("heeb", "heb"), ("pobb", "pob"), ("greek", "el"), ("qqqqqq", "")],
)
def test_the_nearest_match_is_named(code: str, nearest: str) -> None:
    """Who mistypes a code is told the right one, and need not look it up."""
    with pytest.raises(UnknownLanguage) as caught:
        parse_language(code)

    assert parse_language(caught.value.nearest or "he") == parse_language(nearest or "he")
    assert bool(caught.value.nearest) == bool(nearest)
    assert not nearest or f"did you mean '{caught.value.nearest}' ({english_name(nearest)})?" in str(caught.value)


@pytest.mark.parametrize("tag", sorted({*PROVIDER_CODES.values(), *OPENSUBTITLES_CODES, *NAMES}))
def test_tags_of_the_tables_stand_for_themselves(tag: str) -> None:
    """A table with another spelling of a tag would never be asked for it."""
    assert parse_language(tag) == tag


@given(st.text(max_size=20) | st.from_regex(r"[a-zA-Z]{2,3}([-_][a-zA-Z0-9]{2,4}){0,2}", fullmatch=True))
def test_a_tag_is_safe_in_a_file_name(code: str) -> None:
    """The tag becomes part of a path."""
    try:
        tag = parse_language(code)
    except UnknownLanguage:
        return

    assert tag.replace("-", "").isalnum()
    assert tag.isascii()
    assert parse_language(tag) == tag


@pytest.mark.parametrize(
    "code, name",
    [
        ("he", "Hebrew"), ("pt-BR", "Brazilian Portuguese"), ("el", "Greek"), ("zh-Hant", "Traditional Chinese"),
        ("es-419", "Latin American Spanish"), ("sr-Latn", "Serbian (Latin script)"), ("en-GB", "English (United Kingdom)"),
        ("ms", "Malay"), ("fa", "Persian"), ("nb", "Norwegian Bokmål"), ("yue", "Cantonese"), ("fr-CA", "French (Canada)"),
        ("ca-valencia", "Catalan (valencia)"), ("es-150", "Spanish (150)"),
    ],
)  # fmt: skip
def test_languages_have_english_names(code: str, name: str) -> None:
    """A language model follows "Brazilian Portuguese" better than "pt-BR", and so does a reader."""
    assert english_name(code) == name


@pytest.mark.parametrize(
    "tag, code",
    [
        ("he", "he"), ("pt-BR", "pt-br"), ("pt-PT", "pt-pt"), ("pt", "pt-pt"), ("zh-Hans", "zh-cn"), ("zh", "zh-cn"),
        ("zh-Hant", "zh-tw"), ("zh-HK", "zh-tw"), ("zh-Hant-HK", "zh-tw"), ("zh-x-dual", "ze"), ("es-419", "ea"),
        ("sr-ME", "me"), ("nb", "no"), ("en-GB", "en"), ("es-MX", "es"), ("ast", "at"), ("sat", "sx"), ("gsw", None),
    ],
)  # fmt: skip
def test_opensubtitles_is_asked_in_its_own_codes(tag: str, code: str | None) -> None:
    """With another code the site answers 400, or with nothing."""
    assert to_opensubtitles(tag) == code


@pytest.mark.parametrize(
    "code", ["pt-br", "pt-pt", "zh-cn", "zh-tw", "ze", "ea", "me", "sx", "he", "at", "zh-ca", "tm-td"]
)
def test_codes_of_opensubtitles_go_out_as_they_came_in(code: str) -> None:
    """What was found under one code is downloaded and reported under the same."""
    assert to_opensubtitles(from_opensubtitles(code)) == code


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("he", Wanted(language="he")),
        ("iw:hi", Wanted(language="he", hearing_impaired=True)),
        ("pob:forced", Wanted(language="pt-BR", forced=True)),
        ("en:SDH:forced", Wanted(language="en", hearing_impaired=True, forced=True)),
    ],
)
def test_wishes_are_read_and_written(text: str, wanted: Wanted) -> None:
    """Settings, keys of jobs and the interface all carry them as text."""
    assert parse_wanted(text) == wanted
    assert parse_wanted(str(wanted)) == wanted


def test_an_unknown_sort_is_an_error() -> None:
    """`he:force` must not fetch an ordinary subtitle for a film that needs a forced one."""
    with pytest.raises(
        UnknownFlag, match="'he:force' asks for 'force', which is no sort of subtitle; there are ':hi' and ':forced'"
    ):
        parse_wanted("he:force")


def test_same_languages_are_configured() -> None:
    """Whether Brazilian will do for Portuguese is a matter of taste."""
    strict, tolerant = SameLanguages(), parse_same("pt = pob, zh = zh-cn = zht")

    assert strict.satisfies("pt-BR", "pt-BR")
    assert not strict.satisfies("pt-BR", "pt")
    assert tolerant.satisfies("pt-BR", "pt")
    assert tolerant.satisfies("zh-Hant", "zh-Hans")
    assert not tolerant.satisfies("pt-PT", "pt")
    assert SAME_BY_DEFAULT.also(tolerant).satisfies("pt-PT", "pt")


def test_by_default_only_names_of_the_same_are_the_same() -> None:
    """Nobody who wants Portuguese from Portugal gets Brazilian unasked."""
    assert SAME_BY_DEFAULT.satisfies("nb", "no")
    assert SAME_BY_DEFAULT.satisfies("zh-Hans", "zh")
    assert not SAME_BY_DEFAULT.satisfies("pt-BR", "pt")
    assert not SAME_BY_DEFAULT.satisfies("zh-Hant", "zh")
    assert not SAME_BY_DEFAULT.satisfies("sl", "sk")
