"""What a link gave: a subtitle, or one of the things that come in its place."""

from __future__ import annotations

_ADVERT_AT_MOST = 1_000
_ADVERT_CUES = 2
_ADVERT_WORDS = (b"opensubtitles", b"osdb.link", b"become vip", b"vip member")


def what_is_wrong(content: bytes) -> str:
    """Why it is no subtitle; empty if it may be one."""
    if not content.strip(b"\0\r\n\t \xef\xbb\xbf\xff\xfe"):
        return "the file is empty"
    text = content.replace(b"\0", b"").lower()  # UTF-16 too
    head = text[:512].lstrip(b"\r\n\t \xef\xbb\xbf\xff\xfe")
    if head.startswith((b"<!doctype html", b"<html", b"<head")):
        return "a web page came in its place"
    if head.startswith(b"{") and b'"message"' in head and b"-->" not in text:
        return "an error message came in its place"
    small = len(text) < _ADVERT_AT_MOST and text.count(b"-->") <= _ADVERT_CUES
    if small and any(word in text for word in _ADVERT_WORDS):
        return "an advert of the provider came in its place"
    return ""
