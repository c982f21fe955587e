"""Bytes become the text that was written, or an error."""

from __future__ import annotations

import codecs
import random

import pytest

from headrace_pipelines.subtitles.rules.encoding import EncodingUnknown, decode

from .legacy_texts import FILES, encoded, subtitle


@pytest.mark.parametrize("cues", [3, 300, 700])
@pytest.mark.parametrize("text, language, encoding", FILES)
def test_legacy_files_are_read_sign_by_sign(text: str, language: str, encoding: str, cues: int) -> None:
    """Half of the old files on subtitle sites would be garbage, and translated as garbage."""
    original = subtitle(text, cues)

    decoded = decode(encoded(original, encoding), language)

    assert decoded.text == original


def test_the_encoding_is_told() -> None:
    """A report on a file that looks wrong begins with how it was read."""
    assert decode("שלום\n".encode("cp1255"), "he").encoding == "cp1255"
    assert decode("שלום\n".encode(), "he").encoding == "utf-8"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_mark_decides(encoding: str) -> None:
    """Windows programs write UTF-16 with a mark; no code page may see it."""
    marks = {
        "utf-8": codecs.BOM_UTF8,
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE,
        "utf-32-be": codecs.BOM_UTF32_BE,
    }
    original = subtitle("he", 3)

    decoded = decode(marks[encoding] + original.encode(encoding), "he")

    assert (decoded.text, decoded.encoding) == (original, encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_its_mark_is_known_by_its_zeros(encoding: str) -> None:
    """Strict UTF-8 accepts every second byte being zero, and would keep the zeros."""
    original = subtitle("de", 3)

    assert decode(original.encode(encoding), "de").text == original


def test_no_language_is_needed_for_unicode() -> None:
    """A file that somebody uploads comes without a wish."""
    assert decode(subtitle("ja", 3).encode()).text == subtitle("ja", 3)


def test_the_detector_is_asked_when_the_language_does_not_fit() -> None:
    """A Russian file that came for a Hebrew wish must be seen to be Russian, not read as Hebrew garbage."""
    original = subtitle("ru", 300)

    decoded = decode(original.encode("cp1251"), "he")

    assert "Подожди, за дверью кто-то есть!" in decoded.text


def test_tags_and_headers_do_not_count_as_letters() -> None:
    """With its header and field names an ASS file in Hebrew is mostly Latin."""
    events = "\r\n".join(f"Dialogue: 0,0:00:0{n}.00,0:00:0{n}.90,Default,,0,0,0,,{{\\i1}}כן{{\\i0}}" for n in range(9))
    original = (
        f"[Script Info]\r\nTitle: A Long Latin Title\r\n\r\n[Events]\r\nFormat: Layer, Start, End\r\n{events}\r\n"
    )

    assert decode(original.encode("cp1255"), "he").text == original


def test_a_byte_that_fits_nowhere_is_an_error() -> None:
    """A question mark in its place would stay in the library for ever."""
    noise = random.Random(1).randbytes(4000)

    with pytest.raises(
        EncodingUnknown, match=r"encoding_unknown: .* for the language 'he'.* cp1255, iso8859_8"
    ) as caught:
        decode(noise, "he")

    assert caught.value.language == "he"


def test_utf8_with_a_broken_place_is_not_taken_for_a_code_page() -> None:
    """Every Western code page would accept it and show two strange letters for each accented one."""
    broken = bytearray(subtitle("fr", 300).encode())
    broken[broken.index("é".encode()) + 1] = 0x20

    with pytest.raises(EncodingUnknown, match="broken places"):
        decode(bytes(broken), "fr")


def test_nothing_is_text_too() -> None:
    """What is wrong with an empty file is that it is empty."""
    assert decode(b"", "he").text == ""
