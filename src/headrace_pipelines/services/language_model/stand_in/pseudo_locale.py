"""Text that looks translated: the same words in the letters of another language, and back."""

from __future__ import annotations

import re
import unicodedata

_LATIN = "abcdefghijklmnopqrstuvwxyz"


def _row(first: int, step: int = 1) -> str:
    return "".join(chr(first + step * index) for index in range(len(_LATIN)))


_LETTERS = {
    "hebrew": _row(0x05D0),
    "cyrillic": _row(0x0430),
    "greek": _row(0x03B1),
    "arabic": "".join(chr(code) for code in (*range(0x0627, 0x063B), *range(0x0641, 0x0647))),
    "devanagari": _row(0x0915),
    "bengali": "কখগঘঙচছজঝঞটঠডঢণতথদধনপফবভময",
    "thai": _row(0x0E01),
    "han": _row(0x4E00),
    "kana": _row(0x30A2, 2),
    "hangul": _row(0xAC00, 28),
    "georgian": _row(0x10D0),
    "armenian": _row(0x0561),
    "latin": "ábçdéfghíjklmñópqrstúvwxýž",
}
_WRITTEN_IN = {
    "hebrew": ("hebrew", "yiddish"),
    "cyrillic": "russian ukrainian bulgarian belarusian macedonian serbian kazakh kyrgyz mongolian tajik".split(),
    "greek": ("greek",),
    "arabic": ("arabic", "persian", "farsi", "urdu", "pashto"),
    "devanagari": ("hindi", "marathi", "nepali"),
    "bengali": ("bengali", "bangla"),
    "thai": ("thai",),
    "han": ("chinese", "cantonese", "mandarin"),
    "kana": ("japanese",),
    "hangul": ("korean",),
    "georgian": ("georgian",),
    "armenian": ("armenian",),
}
# Tags are no words, and neither are the escapes of positions.
_UNTOUCHED = re.compile(r"(<[^<>]*>|\{\\[^{}]*\})")


def letters_of(language: str) -> str:
    """Twenty-six letters of a language that is given by its English name; Latin ones with marks if it is not known."""
    words = set(re.findall(r"[a-z]+", language.lower()))
    if "latin" in words:
        return _LETTERS["latin"]
    known = (script for script, names in _WRITTEN_IN.items() if words & {script, *names})
    return _LETTERS[next(known, "latin")]


def pseudo_translate(text: str, language: str) -> str:
    """Each letter as one of the other language; tags, digits and punctuation stay."""
    letters = letters_of(language)
    return "".join(
        part if index % 2 else "".join(_letter(character, letters) for character in part)
        for index, part in enumerate(_UNTOUCHED.split(text))
    )


def pseudo_restore(text: str, language: str) -> str:
    """What was English before ``pseudo_translate``, in small letters where the other language has no large ones."""
    back = dict(zip(letters_of(language), _LATIN, strict=True))
    back |= {_large(other): letter.upper() for other, letter in back.items() if _large(other) != other}
    return "".join(back.get(character, character) for character in text)


def _letter(character: str, letters: str) -> str:
    if not character.isalpha():
        return character
    plain = unicodedata.normalize("NFKD", character)[0].lower()
    index = _LATIN.find(plain)
    other = letters[index] if index >= 0 else letters[ord(character) % len(letters)]
    return _large(other) if character.isupper() else other


def _large(letter: str) -> str:
    # Some have no large form, and two share one.
    return letter.upper() if letter.upper().lower() == letter else letter
