"""Subtitle files: reading what is out there, and writing what players understand."""

from __future__ import annotations

from collections.abc import Iterable

from headrace_pipelines.subtitles.model import Cue, Document, Format
from headrace_pipelines.subtitles.rules.encoding import decode
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

from . import advanced, microdvd, sami, srt, ttml, vtt
from .detection import detect, refuse_bitmaps
from .reading import Reading

LARGEST = 5_000_000
"""Bytes; the longest film in the most verbose format stays far below."""

__all__ = ["LARGEST", "detect", "parse", "read", "to_bytes", "write"]


def read(data: bytes, *, language: str | None = None, name: str = "", fps: float | None = None) -> Document:
    """Read a subtitle file of any format and encoding; the language is the one in which it should be."""
    if len(data) > LARGEST:
        raise NotASubtitle(Unfit.TOO_LARGE, f"it has {len(data):,} bytes, and {LARGEST:,} is the limit")
    refuse_bitmaps(data)
    decoded = decode(data, language)
    format = detect(decoded.text, name)
    reading = parse(decoded.text, format, fps=fps, language=language)
    return Document(format=format, cues=reading.cues, warnings=reading.warnings, encoding=decoded.encoding)


def parse(text: str, format: Format, *, fps: float | None = None, language: str | None = None) -> Reading:
    """The cues of a text whose format is known."""
    match format:
        case Format.SRT:
            return srt.read(text)
        case Format.VTT:
            return vtt.read(text)
        case Format.ASS | Format.SSA:
            return advanced.read(text, format)
        case Format.MICRODVD:
            return microdvd.read(text, fps)
        case Format.SAMI:
            return sami.read(text, language)
        case Format.TTML:
            return ttml.read(text)


def write(cues: Iterable[Cue], format: Format = Format.SRT, *, fps: float | None = None) -> str:
    """A text in this format; MicroDVD needs the frame rate."""
    match format:
        case Format.SRT:
            return srt.write(cues)
        case Format.VTT:
            return vtt.write(cues)
        case Format.ASS | Format.SSA:
            return advanced.write(cues, format)
        case Format.MICRODVD:
            return microdvd.write(cues, fps)
        case Format.SAMI:
            return sami.write(cues)
        case Format.TTML:
            return ttml.write(cues)


def to_bytes(text: str, *, mark: bool = False, crlf: bool = False) -> bytes:
    """UTF-8, with a byte order mark or the line ends of Windows for players that ask for them."""
    lines = text.replace("\n", "\r\n") if crlf else text
    return (b"\xef\xbb\xbf" if mark else b"") + lines.encode()
