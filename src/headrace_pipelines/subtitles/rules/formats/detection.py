"""Which format a text is in. The content decides: extensions lie, and a download has none."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

from headrace_pipelines.subtitles.model import Format
from headrace_pipelines.subtitles.rules.naming import SUBTITLE_EXTENSIONS
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

from . import srt
from .advanced import declared_versions

_FRAMES = re.compile(r"^\s*\{\s*[0-9]+\s*\}\s*\{\s*[0-9]*\s*\}", re.MULTILINE)
_TTML = re.compile(r"<(?:[\w-]+:)?tt[\s>]")
_HTML = re.compile(r"<!doctype\s+html|<html[\s>]", re.IGNORECASE)
_HTML_INSIDE = re.compile(r"<(?:head|body|title|div)[\s>]", re.IGNORECASE)
_BITMAPS = ((b"\x00\x00\x01\xba", "VobSub"), (b"PG", "PGS"), (b"# VobSub index file", "a VobSub index"))
_LOOKED_AT = 64 * 1024


def refuse_bitmaps(data: bytes) -> None:
    """Pictures of text need their letters recognised, which is not done here."""
    for magic, name in _BITMAPS:
        if data.startswith(magic) and (magic != b"PG" or b"\0" in data[:64]):
            raise NotASubtitle(
                Unfit.BITMAP, f"it is {name}, which holds pictures of the text; take one that holds text"
            )


def detect(text: str, name: str = "") -> Format:
    """The format; the name is asked only where the content leaves it open."""
    start = text[:_LOOKED_AT].lstrip("\ufeff \t\r\n")
    if not start:
        raise NotASubtitle(Unfit.EMPTY, "there is nothing in it")
    found = _by_content(start)
    if found:
        return found
    if _HTML.search(start[:4096]) or _HTML_INSIDE.search(start[:4096]):
        raise NotASubtitle(Unfit.MARKUP, f"it is a web page, which begins {start[:60]!r}")
    if _is_json(text, start):
        raise NotASubtitle(Unfit.MARKUP, f"it is JSON, which begins {start[:60]!r}")
    by_name = SUBTITLE_EXTENSIONS.get(PurePosixPath(name).suffix.lower())
    if by_name is Format.SRT and srt.blocks(text):
        return Format.SRT
    raise NotASubtitle(Unfit.NO_FORMAT, f"it is in no format known here; it begins {start[:60]!r}")


def _by_content(start: str) -> Format | None:
    if re.match(r"WEBVTT(?:\s|$)", start):
        return Format.VTT
    if re.search(r"^\[(?:Script Info|Events|V4\+? Styles)\]", start, re.MULTILINE | re.IGNORECASE):
        old = "[v4 styles]" in start.lower() or "v4.00" in set(declared_versions(start))
        return Format.SSA if old and "[v4+ styles]" not in start.lower() else Format.ASS
    if start[:2048].lower().lstrip().startswith("<sami") or re.search(r"<sync\s+start", start, re.IGNORECASE):
        return Format.SAMI
    if _TTML.search(start[:4096]) and not _HTML.search(start[:4096]):
        return Format.TTML
    if _FRAMES.match(start):
        return Format.MICRODVD
    return Format.SRT if srt.blocks(start) else None


def _is_json(text: str, start: str) -> bool:
    if start[0] not in "{[":
        return False
    try:
        json.loads(text)
    except RecursionError:
        return True
    except ValueError:
        return bool(re.match(r"[\[{]\s*[\"{\[]", start))
    return True
