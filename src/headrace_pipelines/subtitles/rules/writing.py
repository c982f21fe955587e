"""How languages are written: scripts, letters, and the code pages of the time before UTF-8."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from .languages import primary, writing_script

# The first word of a letter's Unicode name tells its script; no table of ranges has to be kept.
_WORDS = {
    "Arab": ("ARABIC",),
    "Armn": ("ARMENIAN",),
    "Beng": ("BENGALI",),  # codespell:ignore beng
    "Cyrl": ("CYRILLIC",),
    "Deva": ("DEVANAGARI",),
    "Ethi": ("ETHIOPIC",),
    "Geor": ("GEORGIAN",),
    "Grek": ("GREEK",),
    "Gujr": ("GUJARATI",),
    "Guru": ("GURMUKHI",),
    "Hans": ("CJK",),
    "Hant": ("CJK",),
    "Hebr": ("HEBREW",),
    "Jpan": ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"),
    "Khmr": ("KHMER",),
    "Knda": ("KANNADA",),
    "Kore": ("HANGUL", "CJK"),
    "Laoo": ("LAO",),
    "Latn": ("LATIN",),
    "Mlym": ("MALAYALAM",),
    "Mymr": ("MYANMAR",),
    "Orya": ("ORIYA",),
    "Sinh": ("SINHALA",),
    "Syrc": ("SYRIAC",),
    "Taml": ("TAMIL",),
    "Telu": ("TELUGU",),
    "Thaa": ("THAANA",),
    "Thai": ("THAI",),
    "Tibt": ("TIBETAN",),
}
_RIGHT_TO_LEFT = {"Adlm", "Arab", "Hebr", "Nkoo", "Syrc", "Thaa"}
# Languages that are written in either, where the tag does not say.
_TWO_SCRIPTS = {
    "az": ("Latn", "Cyrl"),
    "ku": ("Latn", "Arab"),
    "sr": ("Cyrl", "Latn"),
    "uz": ("Latn", "Cyrl"),
    "mn": ("Cyrl",),
}
_PAGES = {
    "cp1250": ("bs", "cs", "hr", "hu", "pl", "ro", "sk", "sl", "sq"),
    "cp1253": ("el",),
    "cp1254": ("az", "ku", "tr", "uz"),
    "cp1256": ("ar", "fa", "ug", "ur"),
    "cp1257": ("et", "lt", "lv"),
    "cp1258": ("vi",),
    "cp874": ("th",),
    "cp949": ("ko",),
}
_PAGES_OF = {language: page for page, languages in _PAGES.items() for language in languages}


@dataclass(frozen=True, slots=True)
class CodePage:
    """An encoding in which a language was written, and the scripts that text in it must show."""

    encoding: str
    scripts: tuple[str, ...]


def scripts_of(tag: str) -> tuple[str, ...]:
    """The scripts in which a language is written, the likeliest first; one, if the tag names it."""
    likely = writing_script(tag)
    if f"-{likely.lower()}" in tag.lower():
        return (likely,)
    return _TWO_SCRIPTS.get(primary(tag), (likely,))


def is_right_to_left(tag: str) -> bool:
    return scripts_of(tag)[0] in _RIGHT_TO_LEFT


def code_pages(tag: str) -> tuple[CodePage, ...]:
    """The code pages to try for a language, in this order."""
    scripts, language = scripts_of(tag), primary(tag)
    if language == "ja":
        return CodePage("cp932", scripts), CodePage("euc_jp", scripts)
    if language in {"zh", "yue"}:
        order = ("cp950", "gb18030") if scripts == ("Hant",) else ("gb18030", "cp950")
        return tuple(CodePage(encoding, scripts) for encoding in order)
    if scripts == ("Hebr",):
        return CodePage("cp1255", scripts), CodePage("iso8859_8", scripts)
    if language == "sr":
        return tuple(CodePage("cp1251" if script == "Cyrl" else "cp1250", (script,)) for script in scripts)
    return tuple(CodePage(page, (script,)) for script in scripts if (page := _page(language, script)))


def _page(language: str, script: str) -> str:
    if script == "Cyrl":
        return "cp1251"
    if script == "Arab":
        return "cp1256"
    return _PAGES_OF.get(language, "cp1252" if script == "Latn" else "")


@lru_cache(maxsize=8192)
def _word(letter: str) -> str:
    return unicodedata.name(letter, "").removeprefix("FULLWIDTH ").partition(" ")[0]


def share_in_scripts(text: str, scripts: tuple[str, ...]) -> float | None:
    """How many of the letters are in these scripts, 0 to 1; None if there is no letter, or a script is not known here."""
    if not all(script in _WORDS for script in scripts):
        return None
    counts = Counter(_word(sign) for sign in text if sign.isalpha())
    if not counts:
        return None
    words = {word for script in scripts for word in _WORDS[script]}
    return sum(count for word, count in counts.items() if word in words) / counts.total()
