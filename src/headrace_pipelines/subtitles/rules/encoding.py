"""Bytes to text. What is stored is what was written: a byte that fits no encoding is an error, never a question mark.

The wanted language is asked before any detector, because it knows more: a detector takes a third of French in code page
1252 and half of Russian in 1251 for something else, and nothing but the language tells 1250, 1252 and 1254 apart.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from .packages import extra
from .unfit import Unusable
from .writing import CodePage, code_pages, share_in_scripts

ENOUGH_IN_SCRIPT = 0.6
_ENOUGH_COMMON = 0.8
_DETECTED_FROM = 256 * 1024

# The longer marks first: UTF-32 begins like UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Level one of the two Chinese sets, which hold what people write; the first byte tells the level.
_COMMON = {"gb18030": ("gb2312", range(0xB0, 0xD8)), "cp950": ("big5", range(0xA4, 0xC7))}
_ADVANCED_EVENT = re.compile(r"^Dialogue:(?:[^,\n]*,){9}(.*)$", re.MULTILINE)
_MARKUP = re.compile(r"<[^<>]*>|\{[^{}]*\}|&\w+;|-->")


class EncodingUnknown(Unusable):
    """No encoding fits the bytes."""

    def __init__(self, language: str, tried: tuple[str, ...], reason: str = "") -> None:
        super().__init__(language, tried, reason)
        self.language = language
        self.tried = tried
        self.reason = reason

    @property
    def word(self) -> str:
        return "encoding_unknown"

    def __str__(self) -> str:
        why = self.reason or f"tried {', '.join(self.tried)}"
        wanted = f" for the language {self.language!r}" if self.language else ""
        return f"encoding_unknown: the bytes are no text in any encoding expected{wanted} ({why}); take another subtitle, or save it as UTF-8"


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str


def decode(data: bytes, language: str | None = None) -> Decoded:
    """The text, and the encoding in which it stood; the language is the one in which it should be."""
    pages = code_pages(language) if language else ()
    found = _by_mark(data) or _as_unicode(data)
    if found:
        return found
    if _is_damaged_utf8(data):
        raise EncodingUnknown(language or "", ("utf-8",), "it is UTF-8 with broken places, as after a broken transfer")
    for page in pages:
        if text := _as_page(data, page, alone=len(pages) == 1):
            return Decoded(text, page.encoding)
    detected = _detected(data)
    if detected is None:
        raise EncodingUnknown(language or "", ("utf-8", *(page.encoding for page in pages), "a detector"))
    return detected


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _strictly(data[len(mark) :], encoding)
            if text is not None:
                return Decoded(text, encoding)
    return None


def _as_unicode(data: bytes) -> Decoded | None:
    # A zero is a valid sign of UTF-8 and stands in no text: with half of the bytes zero it is UTF-16 without its mark.
    if b"\0" not in data:
        text = _strictly(data, "utf-8")
        return None if text is None else Decoded(text, "utf-8")
    for encoding in ("utf-16-le", "utf-16-be"):
        text = _strictly(data, encoding)
        if text is not None and "\0" not in text and "\n" in text and "-->" in text:
            return Decoded(text, encoding)
    return None


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether nearly all of it is UTF-8: every code page would accept it, and show two strange letters for each."""
    text = data.decode("utf-8", "surrogateescape")
    broken = sum("\udc80" <= sign <= "\udcff" for sign in text)
    whole = sum(sign > "\x7f" for sign in text) - broken
    return whole >= 10 and broken * 20 <= whole


def _as_page(data: bytes, page: CodePage, *, alone: bool) -> str | None:
    text = _strictly(data, page.encoding)
    if text is None or "\0" in text:
        return None
    words = spoken(text)
    share = share_in_scripts(words, page.scripts)
    if share is not None and share < ENOUGH_IN_SCRIPT:
        return None
    if page.encoding in _COMMON and not alone and not _is_common_chinese(words, page.encoding):
        return None
    # Code page 1258 keeps accents of Vietnamese apart from their letters; everybody else writes them as one.
    return unicodedata.normalize("NFC", text) if page.encoding == "cp1258" else text


def _is_common_chinese(text: str, encoding: str) -> bool:
    """Whether it reads like Chinese: each of the two encodings decodes the other's bytes, into rare signs."""
    narrow, first_bytes = _COMMON[encoding]
    signs = [sign for sign in text if "\u4e00" <= sign <= "\u9fff"]
    common = sum(sign.encode(narrow, "ignore")[:1] in {bytes([byte]) for byte in first_bytes} for sign in signs)
    return not signs or common >= _ENOUGH_COMMON * len(signs)


def _detected(data: bytes) -> Decoded | None:
    with extra():
        from charset_normalizer import from_bytes
    best = from_bytes(data[:_DETECTED_FROM]).best()
    if best is None:
        return None
    text = _strictly(data, best.encoding)
    return None if text is None or "\0" in text else Decoded(text, best.encoding)


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def spoken(text: str) -> str:
    """What is said, without the markup, whose letters are Latin in every language."""
    if "[Events]" in text:
        text = "\n".join(_ADVANCED_EVENT.findall(text))
    return _MARKUP.sub(" ", text)
