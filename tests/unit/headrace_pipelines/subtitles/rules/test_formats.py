"""From the bytes of a file to cues, and back."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.model import Cue, Document, Format
from headrace_pipelines.subtitles.rules.formats import LARGEST, read, to_bytes, write
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

from .legacy_texts import FILES, encoded, subtitle

ODD = """\
0:00:01.000 --> 0:00:02.500
{\\an8}<font color="#ff0000">אחת</font>

2
00:00:03,000 --> 00:00:04,000  X1:100 X2:200 Y1:10 Y2:20
שתיים

וחצי

3
00:00:05,000 --> 00:00:06,000
<i>שלוש</i>

4
00:00:07,0"""


@pytest.mark.parametrize("text, language, encoding", FILES)
def test_old_files_have_all_their_cues(text: str, language: str, encoding: str) -> None:
    """700 cues in, 700 cues out, and every sign as it was written."""
    original = subtitle(text, 700)

    document = read(encoded(original, encoding), language=language)
    written = to_bytes(write(document.cues), crlf=True)

    assert (len(document.cues), document.warnings) == (700, ())
    assert written.decode() == original.removesuffix("\r\n")


def test_an_odd_file_is_read_and_saved() -> None:
    """Every one of these faults made another program lose cues, places or the whole file."""
    document = read(ODD.encode("cp1255"), language="he")

    assert document == Document(
        format=Format.SRT,
        encoding="cp1255",
        cues=(
            Cue(start=1000, end=2500, text='{\\an8}<font color="#ff0000">אחת</font>'),
            Cue(start=3000, end=4000, text="שתיים\nוחצי", place="X1:100 X2:200 Y1:10 Y2:20"),
            Cue(start=5000, end=6000, text="<i>שלוש</i>"),
        ),
        warnings=(
            "a cue without index",
            "a blank line inside a cue was taken out",
            "the last cue broke off within its times; it was left out",
        ),
    )
    assert read(to_bytes(write(document.cues)), language="he").cues == document.cues


@pytest.mark.parametrize("format", Format)
def test_every_format_is_read_as_it_is_written(format: Format) -> None:
    """Who keeps the original format gets a file that can be read again."""
    cues = (Cue(start=1000, end=2000, text="<i>Hello</i>"), Cue(start=3000, end=4000, text="two\nlines"))

    document = read(to_bytes(write(cues, format, fps=25.0)), language="en")

    assert (document.format, document.cues) == (format, cues)


def test_bytes_for_players() -> None:
    """Some old televisions read neither UTF-8 without its mark nor bare line feeds."""
    assert to_bytes("a\nb\n") == b"a\nb\n"
    assert to_bytes("a\nb\n", mark=True, crlf=True) == b"\xef\xbb\xbfa\r\nb\r\n"


def test_a_huge_file_is_not_even_looked_at() -> None:
    """A film in place of its subtitle would keep a processor busy for minutes."""
    with pytest.raises(NotASubtitle, match="5,000,001 bytes, and 5,000,000 is the limit") as caught:
        read(b"0" * (LARGEST + 1), language="en")

    assert caught.value.why is Unfit.TOO_LARGE


def test_the_frame_rate_is_passed_on() -> None:
    """Without it MicroDVD has no times."""
    assert read(b"{25}{50}Hello\n{75}{100}there\n", language="en", fps=25.0).cues[0].start == 1000


def test_a_large_file_is_read_in_time() -> None:
    """Seven hundred cues take milliseconds; thirty times as many must not take minutes."""
    rows = "\n".join(f"{n}\n00:00:01,000 --> 00:00:02,000\n{'1:' * 20}\n" for n in range(20_000))

    assert len(read(rows.encode(), language="en").cues) == 20_000


HEADS = {
    "srt": "1\n00:00:01,000 --> 00:00:02,000\n",
    "vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n",
    "ass": "[Script Info]\n\n[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,",
    "sub": "{1}{1}25\n{1}{2}",
    "smi": "<SAMI><BODY><SYNC Start=1><P>",
    "ttml": "<tt><body>",
    "none": "",
}
PIECES = [
    "\r",
    "\n",
    " ",
    "<",
    "<a",
    "{",
    "1:",
    "00:00:01,000 -->",
    ">",
    "<p>",
    "a",
    "-",
    "[",
    '{"a":',
    ". ",
    "א",
    "<i> ",
]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("head", HEADS)
def test_no_file_keeps_a_processor_busy(head: str, piece: str) -> None:
    """Files come from strangers: a pattern that looks back and forth would take hours for a megabyte of one sign."""
    hostile = (HEADS[head] + piece * (150_000 // len(piece)) + "x").encode()

    try:
        document = read(hostile, language="he", name="film.srt")
    except NotASubtitle:
        return
    write(document.cues)
