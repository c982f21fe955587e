"""Languages: BCP 47 tags inside, whatever anybody writes outside.

Codes of providers are asked first, because they take codes that ISO 639-3 gave to somebody else: ``pob`` is Brazilian
Portuguese on every subtitle site, and a retired code for Poqomchi' in the standard. A code that is not known is an
error. It is never cut to one that is: ``slo`` is Slovak, and ``sl`` Slovenian.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from headrace_pipelines.subtitles.model import Wanted

from .packages import extra

with extra():
    import babelfish  # type: ignore[import-untyped]  # it has no hints
    import langcodes

BILINGUAL_CHINESE = "zh-x-dual"
"""Chinese and English in each cue; there is no registered tag for it."""

PROVIDER_CODES = {
    "arb": "ar",
    "at": "ast",
    "az-zb": "azb",
    "chs": "zh-Hans",
    "cht": "zh-Hant",
    "cmn": "zh",
    "ea": "es-419",
    "ex": "ext",
    "ma": "mni",
    "me": "sr-ME",
    "pb": "pt-BR",
    "pes": "fa",
    "pm": "pt-MZ",
    "pob": "pt-BR",
    "pom": "pt-MZ",
    "pr": "fa-AF",
    "sp": "es-ES",
    "spl": "es-419",
    "spn": "es-ES",
    "sx": "sat",
    "sy": "syr",
    "tm-td": "tet",
    "ze": BILINGUAL_CHINESE,
    "zh-ca": "yue",
    "zh-cn": "zh-Hans",
    "zh-sg": "zh-Hans",
    "zh-tw": "zh-Hant",
    "zhe": BILINGUAL_CHINESE,
    "zht": "zh-Hant",
}

# Where OpenSubtitles has a code of its own; all others are the two letters of ISO 639-1.
OPENSUBTITLES_CODES = {
    "ast": "at",
    "azb": "az-zb",
    "es-419": "ea",
    "ext": "ex",
    "fa-AF": "pr",
    "mni": "ma",
    "nb": "no",
    "nn": "no",
    "pt": "pt-pt",
    "pt-BR": "pt-br",
    "pt-MZ": "pm",
    "pt-PT": "pt-pt",
    "sat": "sx",
    "sr-ME": "me",
    "syr": "sy",
    "tet": "tm-td",
    "yue": "zh-ca",
    "zh": "zh-cn",
    "zh-Hans": "zh-cn",
    "zh-Hant": "zh-tw",
    "zh-HK": "zh-tw",
    "zh-MO": "zh-tw",
    BILINGUAL_CHINESE: "ze",
}

NAMES = {
    "el": "Greek",
    "es-419": "Latin American Spanish",
    "es-ES": "European Spanish",
    "pt-BR": "Brazilian Portuguese",
    "pt-PT": "European Portuguese",
    "sr-ME": "Montenegrin",
    "yue": "Cantonese",
    "zh-Hans": "Simplified Chinese",
    "zh-Hant": "Traditional Chinese",
    BILINGUAL_CHINESE: "Chinese and English",
}

_NO_LANGUAGE = {"mis", "mul", "und", "zxx"}  # codespell:ignore mis
_FLAGS = {"hi": "hearing_impaired", "sdh": "hearing_impaired", "forced": "forced"}


class UnknownLanguage(ValueError):
    """A code that neither a provider nor a standard knows; ``nearest`` may be what was meant."""

    def __init__(self, code: str, nearest: str = "") -> None:
        super().__init__(code, nearest)
        self.code = code
        self.nearest = nearest

    def __str__(self) -> str:
        meant = f"did you mean {self.nearest!r} ({english_name(self.nearest)})? " if self.nearest else ""
        return f"unknown_language: {self.code!r} is no code of a language; {meant}Give one such as 'he', 'pt-BR', 'zh-Hant'"


class UnknownFlag(ValueError):
    """What stands behind the colon is no sort of subtitle."""

    def __init__(self, text: str, flag: str) -> None:
        super().__init__(text, flag)
        self.text = text
        self.flag = flag

    def __str__(self) -> str:
        return f"{self.text!r} asks for {self.flag!r}, which is no sort of subtitle; there are ':hi' and ':forced'"


# --- codes -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def parse_language(code: str) -> str:
    """The tag of a language: from ISO 639-1, 639-2 or 639-3, a withdrawn code, a provider's, or a tag itself."""
    plain = code.strip().replace("_", "-").lower()
    if plain in PROVIDER_CODES:
        return PROVIDER_CODES[plain]
    if plain == BILINGUAL_CHINESE:
        return BILINGUAL_CHINESE
    if not plain.isascii() or len(plain) > 35:
        raise UnknownLanguage(code[:60], _nearest(plain[:60]))
    try:
        tag = langcodes.Language.get(langcodes.standardize_tag(plain))
    except ValueError:
        raise UnknownLanguage(code, _nearest(plain)) from None
    # Extensions say how to sort or count, and a private part means something to one party only.
    known = (tag.language or "").isalpha() and tag.language not in _NO_LANGUAGE and not (tag.extensions or tag.private)
    if not known or not tag.is_valid():
        raise UnknownLanguage(code, _nearest(plain))
    return PROVIDER_CODES.get(tag.to_tag().lower(), tag.to_tag())


def from_opensubtitles(code: str) -> str:
    """The tag for a code of OpenSubtitles; its codes are among those that `parse_language` knows."""
    return parse_language(code)


def to_opensubtitles(tag: str) -> str | None:
    """The code under which OpenSubtitles keeps a language, or None if it has none."""
    tag = parse_language(tag)
    if tag in OPENSUBTITLES_CODES:
        return OPENSUBTITLES_CODES[tag]
    if primary(tag) == "zh":
        return "zh-tw" if writing_script(tag) == "Hant" else "zh-cn"
    base = primary(tag)
    base = OPENSUBTITLES_CODES.get(base, base)
    return base if len(base) == 2 or base in OPENSUBTITLES_CODES.values() else None


def primary(tag: str) -> str:
    """The language alone: ``pt`` of ``pt-BR``."""
    return tag.partition("-")[0]


def writing_script(tag: str) -> str:
    """The script in which a language is most likely written, in the four letters of ISO 15924."""
    return langcodes.Language.get(tag).maximize().script or ""


def _nearest(text: str) -> str:
    names = _codes_by_name()
    if text in names:
        return names[text]
    codes = [*dict.fromkeys([*names.values(), *PROVIDER_CODES])]
    alike = get_close_matches(text, [*names], n=1, cutoff=0.8) or get_close_matches(text, codes, n=1, cutoff=0.5)
    return names.get(alike[0], alike[0]) if alike else ""


@lru_cache(maxsize=1)
def _codes_by_name() -> dict[str, str]:
    listed = {row.alpha2: row.name for row in babelfish.LANGUAGE_MATRIX if row.alpha2}
    return {_plain_name(name).lower(): code for code, name in listed.items()} | {
        name.lower(): tag for tag, name in NAMES.items()
    }


# --- names -------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def english_name(code: str) -> str:
    """What a language is called in English: what a language model and a reader of a message are told."""
    tag = parse_language(code)
    if tag in NAMES:
        return NAMES[tag]
    parts = langcodes.Language.get(tag)
    name = NAMES.get(parts.language or "") or _listed_name(parts)
    details = []
    if parts.script:
        details.append(f"{_plain_name(babelfish.Script(parts.script).name)} script")
    if parts.territory:
        details.append(_country_name(parts.territory))
    details += parts.variants or []
    return f"{name} ({', '.join(details)})" if details else name


def _listed_name(parts: langcodes.Language) -> str:
    try:
        return _plain_name(babelfish.Language(parts.to_alpha3()).name)
    except (ValueError, LookupError):
        return parts.language or ""


def _country_name(code: str) -> str:
    try:
        return " ".join(word.capitalize() for word in babelfish.Country(code).name.split())
    except ValueError:
        return code  # a region such as 419


def _plain_name(name: str) -> str:
    """Without what a catalogue adds: "Modern Greek (1453-)", "Malay (macrolanguage)"."""
    return name.partition(" (")[0]


# --- wishes ------------------------------------------------------------------------------------------------------------


def parse_wanted(text: str) -> Wanted:
    """Read ``he``, ``he:hi`` or ``he:forced``; ``str()`` writes it again."""
    code, *flags = text.strip().split(":")
    unknown = [flag for flag in flags if flag.lower() not in _FLAGS]
    if unknown:
        raise UnknownFlag(text, unknown[0])
    chosen = {_FLAGS[flag.lower()] for flag in flags}
    return Wanted(
        language=parse_language(code), hearing_impaired="hearing_impaired" in chosen, forced="forced" in chosen
    )


@dataclass(frozen=True, slots=True)
class SameLanguages:
    """Which tags count as the same language, such as ``no`` and ``nb``; others are the same only if they are equal."""

    classes: tuple[frozenset[str], ...] = ()

    def satisfies(self, offered: str, wanted: str) -> bool:
        return offered == wanted or any(offered in one and wanted in one for one in self.classes)

    def also(self, more: SameLanguages) -> SameLanguages:
        return SameLanguages(self.classes + more.classes)


def parse_same(text: str) -> SameLanguages:
    """Read classes as they stand in the settings: ``"pt = pt-BR, zh = zh-Hans = zh-Hant"``."""
    return same_languages(part.split("=") for part in text.split(",") if part.strip())


def same_languages(classes: Iterable[Iterable[str]]) -> SameLanguages:
    return SameLanguages(tuple(frozenset(parse_language(code) for code in one) for one in classes))


# A plain tag, and the one that it means on nearly every subtitle; whether Brazilian will do for Portuguese is taste.
SAME_BY_DEFAULT = same_languages(
    text.split()
    for text in ("no nb", "pt pt-PT", "es es-ES", "zh zh-Hans", "en en-US en-GB", "fr fr-FR", "de de-DE", "sr sr-Cyrl")
)
