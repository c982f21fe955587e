"""WebVTT."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.formats import vtt

FILE = """\ufeffWEBVTT - A film
Kind: captions

STYLE
::cue { color: yellow }

NOTE
00:00:00.000 is no cue

intro
00:01.000 --> 00:00:02.500 line:5% align:center
<v Roger Bingham>We are in <c.yellow>New</c> York&nbsp;&amp; <i>here</i> <00:00:01.500>we stay

00:00:03.000 --> 00:00:04.000
- 1 &lt; 2
- Yes

00:00:05.000 --> 00:00:06.000
"""


def test_a_file_with_everything() -> None:
    """Notes, styles, voices and classes are for browsers; the words are for everybody."""
    reading = vtt.read(FILE)

    assert reading.cues == (
        Cue(
            start=1000,
            end=2500,
            text="{\\an8}We are in New York\u00a0& <i>here</i> we stay",
            place="line:5% align:center",
        ),
        Cue(start=3000, end=4000, text="- 1 < 2\n- Yes"),
    )
    assert reading.warnings == ("a cue without text was left out",)


def test_it_is_written_for_browsers() -> None:
    """They show a stray bracket as a tag, and a position of SRT as text."""
    cues = [
        Cue(start=0, end=1000, text="{\\an8}1 < 2 & <b>bold</b> <font color='red'>red</font>"),
        Cue(start=2000, end=3000, text="Placed", place="line:10% size:50%"),
        Cue(start=4000, end=5000, text="Coordinates", place="X1:10"),
    ]

    assert vtt.write(cues) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.000 line:5%\n1 &lt; 2 &amp; <b>bold</b> red\n\n"
        "00:00:02.000 --> 00:00:03.000 line:10% size:50%\nPlaced\n\n00:00:04.000 --> 00:00:05.000\nCoordinates\n"
    )


@given(st.lists(st.text(alphabet="ab -><&;\n", min_size=1, max_size=20).map(lambda text: f"x{text}x"), max_size=4))
def test_what_is_written_is_read(texts: list[str]) -> None:
    """Times are never lost to a text with an arrow in it."""
    cues = [Cue(start=n * 1000, end=n * 1000 + 500, text=text) for n, text in enumerate(texts)]

    assert [(cue.start, cue.end) for cue in vtt.read(vtt.write(cues)).cues] == [(cue.start, cue.end) for cue in cues]
