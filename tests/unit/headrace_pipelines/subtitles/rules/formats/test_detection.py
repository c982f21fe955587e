"""Formats are known by what is in them."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.model import Cue, Format
from headrace_pipelines.subtitles.rules.formats import write
from headrace_pipelines.subtitles.rules.formats.detection import detect, refuse_bitmaps
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

CUES = [Cue(start=1000, end=2000, text="Hello"), Cue(start=3000, end=4000, text="there")]


@pytest.mark.parametrize("name", ["", "film.srt", "film.txt"])
@pytest.mark.parametrize("format", Format)
def test_the_content_decides(format: Format, name: str) -> None:
    """A download has no name, and an uploaded one often the wrong extension."""
    assert detect(write(CUES, format, fps=25.0), name) is format


def test_blank_lines_and_marks_before_it_do_not_matter() -> None:
    """Editors leave both."""
    assert detect("\ufeff\r\n\r\nWEBVTT\r\n\r\n00:01.000 --> 00:02.000\r\nx\r\n") is Format.VTT


@pytest.mark.parametrize(
    "text, why",
    [
        ("", Unfit.EMPTY),
        (" \r\n\ufeff\n", Unfit.EMPTY),
        ("<!DOCTYPE html><html><body>502 Bad Gateway</body></html>", Unfit.MARKUP),
        ("<html>\n<head><title>Please log in</title>", Unfit.MARKUP),
        ('{"message": "API rate limit exceeded"}', Unfit.MARKUP),
        ('[{"a": 1}]', Unfit.MARKUP),
        ('{"cut": ', Unfit.MARKUP),
        ("Once upon a time", Unfit.NO_FORMAT),
    ],
)
def test_what_is_no_subtitle_is_told_why(text: str, why: Unfit) -> None:
    """Saved as a subtitle, an error page would be called done."""
    with pytest.raises(NotASubtitle, match=f"not a subtitle \\({why}\\): ") as caught:
        detect(text, "film.srt")

    assert caught.value.why is why


def test_pictures_of_text_are_refused() -> None:
    """A `.sub` may be either."""
    with pytest.raises(NotASubtitle, match="VobSub, which holds pictures") as caught:
        refuse_bitmaps(b"\x00\x00\x01\xba\x44\x00")
    with pytest.raises(NotASubtitle, match="PGS"):
        refuse_bitmaps(b"PG\x00\x00\x12")
    refuse_bitmaps(b"PG-13 is what it says")

    assert caught.value.why is Unfit.BITMAP
