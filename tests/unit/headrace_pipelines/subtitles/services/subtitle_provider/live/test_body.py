from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.services.subtitle_provider.live.body import what_is_wrong

ADVERT = b"1\n00:00:00,000 --> 04:00:00,000\nSupport us and become VIP member\nto remove all ads from www.OpenSubtitles.org\n"
CUE = b"1\n00:00:01,000 --> 00:00:02,000\nHi.\n\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbf\r\n ",
        b"<!DOCTYPE html><html></html>",
        b"\n\n<html lang=en>",
        "\ufeff<html>".encode("utf-16-le"),
        b'{"message": "not today"}',
        ADVERT,
        ADVERT[:104],
        ADVERT.decode().encode("utf-16"),
    ],
)
def test_what_is_no_subtitle(content: bytes) -> None:
    """It would be written beside the film, and the job reported as done."""
    assert what_is_wrong(content)


@pytest.mark.parametrize("content", [CUE, CUE * 50 + ADVERT, b"{1}{25}Hi.", "שלום".encode("cp1255"), ADVERT + CUE * 40])
def test_what_may_be_one(content: bytes) -> None:
    """Adverts at the ends of real subtitles are for those who clean them."""
    assert what_is_wrong(content) == ""
