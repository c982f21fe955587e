"""What languages are called in English, and with which letters they are written."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_LATIN = """
    af Afrikaans | sq Albanian | ast Asturian | az Azerbaijani | eu Basque | bs Bosnian | br Breton | ca Catalan |
    hr Croatian | cs Czech | da Danish | nl Dutch | en English | eo Esperanto | et Estonian | fil Filipino | fi Finnish |
    fr French | gl Galician | de German | ht Haitian Creole | ha Hausa | hu Hungarian | is Icelandic | ig Igbo |
    id Indonesian | ga Irish | it Italian | jv Javanese | rw Kinyarwanda | ku Kurdish | la Latin | lv Latvian |
    lt Lithuanian | lb Luxembourgish | ms Malay | mg Malagasy | mt Maltese | mi Maori | cnr Montenegrin | no Norwegian |
    nb Norwegian Bokmål | nn Norwegian Nynorsk | oc Occitan | pl Polish | pt Portuguese | ro Romanian | gd Scottish Gaelic |
    sk Slovak | sl Slovenian | so Somali | es Spanish | su Sundanese | sw Swahili | sv Swedish | tl Tagalog | tr Turkish |
    tk Turkmen | vi Vietnamese | cy Welsh | xh Xhosa | yo Yoruba | zu Zulu
"""
_OTHERS = """
    ar Arabic ARABIC | fa Persian ARABIC | ur Urdu ARABIC | ps Pashto ARABIC | ckb Sorani Kurdish ARABIC | sd Sindhi ARABIC |
    ug Uyghur ARABIC | he Hebrew HEBREW | iw Hebrew HEBREW | yi Yiddish HEBREW | be Belarusian CYRILLIC |
    bg Bulgarian CYRILLIC | kk Kazakh CYRILLIC,LATIN | ky Kyrgyz CYRILLIC | mk Macedonian CYRILLIC |
    mn Mongolian CYRILLIC,MONGOLIAN | ru Russian CYRILLIC | sr Serbian CYRILLIC,LATIN | tg Tajik CYRILLIC |
    tt Tatar CYRILLIC | uk Ukrainian CYRILLIC | uz Uzbek LATIN,CYRILLIC | el Greek GREEK | hy Armenian ARMENIAN |
    ka Georgian GEORGIAN | hi Hindi DEVANAGARI | mr Marathi DEVANAGARI | ne Nepali DEVANAGARI | sa Sanskrit DEVANAGARI |
    bn Bengali BENGALI | as Assamese BENGALI | pa Punjabi GURMUKHI,ARABIC | gu Gujarati GUJARATI | or Odia ORIYA |
    ta Tamil TAMIL | te Telugu TELUGU | kn Kannada KANNADA | ml Malayalam MALAYALAM | si Sinhala SINHALA | th Thai THAI |
    lo Lao LAO | my Burmese MYANMAR | km Khmer KHMER | bo Tibetan TIBETAN | dz Dzongkha TIBETAN | dv Dhivehi THAANA |
    am Amharic ETHIOPIC | ti Tigrinya ETHIOPIC | zh Chinese CJK | yue Cantonese CJK | ja Japanese HIRAGANA,KATAKANA,CJK |
    ko Korean HANGUL,CJK
"""
_VARIANTS = {
    "pt-BR": "Brazilian Portuguese",
    "pt-PT": "European Portuguese",
    "es-419": "Latin American Spanish",
    "es-ES": "European Spanish",
    "es-MX": "Mexican Spanish",
    "fr-CA": "Canadian French",
    "en-GB": "British English",
    "en-US": "American English",
    "zh-Hans": "Simplified Chinese",
    "zh-CN": "Simplified Chinese",
    "zh-Hant": "Traditional Chinese",
    "zh-TW": "Traditional Chinese as written in Taiwan",
    "zh-HK": "Traditional Chinese as written in Hong Kong",
    "sr-Latn": "Serbian in Latin letters",
    "sr-Cyrl": "Serbian in Cyrillic letters",
}
_SUBTAGS = {
    "Latn": ("LATIN",),
    "Cyrl": ("CYRILLIC",),
    "Arab": ("ARABIC",),
    "Hebr": ("HEBREW",),
    "Deva": ("DEVANAGARI",),
    "Hans": ("CJK",),
    "Hant": ("CJK",),
}


def _table() -> dict[str, tuple[str, tuple[str, ...]]]:
    latin = (entry.split(None, 1) for entry in _LATIN.split("|"))
    table: dict[str, tuple[str, tuple[str, ...]]] = {tag: (name.strip(), ("LATIN",)) for tag, name in latin}
    for entry in _OTHERS.split("|"):
        tag, *name, scripts = entry.split()
        table[tag] = (" ".join(name), tuple(scripts.split(",")))
    return table


_LANGUAGES = _table()


def english_name(language: str) -> str:
    """What a model knows the language of a BCP 47 tag by; a model takes ``pt-BR`` or ``slo`` for anything."""
    if language in _VARIANTS:
        return _VARIANTS[language]
    primary, *rest = language.split("-")
    name = _LANGUAGES.get(primary, ("", ()))[0]
    if not name:
        return f"the language with the tag {language!r}"
    return f"{name} ({'-'.join(rest)})" if rest else name


def scripts_of(language: str) -> tuple[str, ...]:
    """The scripts that a language is written in, as Unicode calls them; empty if that is not known."""
    primary, *rest = language.split("-")
    for subtag in rest:
        if subtag in _SUBTAGS:
            return _SUBTAGS[subtag]
    return _LANGUAGES.get(primary, ("", ()))[1]


def share_in(scripts: tuple[str, ...], text: str) -> float:
    """The share of letters that belong to these scripts; 1 for a text without letters."""
    letters = [character for character in text if character.isalpha()]
    if not letters or not scripts:
        return 1.0
    return sum(_name(letter).startswith(scripts) for letter in letters) / len(letters)


@lru_cache(maxsize=4096)
def _name(letter: str) -> str:
    name = unicodedata.name(letter, "")
    return name.removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ")
