"""TTML."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.formats import ttml
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

FILE = """<?xml version="1.0" encoding="UTF-8"?>
<tt xmlns="http://www.w3.org/ns/ttml" xmlns:tts="http://www.w3.org/ns/ttml#styling" xmlns:ttp="http://www.w3.org/ns/ttml#parameter"
    ttp:tickRate="10000000" ttp:frameRate="24" ttp:frameRateMultiplier="1000 1001" xml:lang="en">
  <head><styling><style xml:id="slanted" tts:fontStyle="italic"/></styling></head>
  <body><div begin="10s">
    <p begin="00:00:01.000" end="00:00:02.500">Hello<br/>
       there &amp; <span tts:fontStyle="italic">you</span></p>
    <p begin="30000000t" dur="1.5s" style="slanted">Thought</p>
    <p begin="00:00:05:12" end="150f">Frames</p>
    <p begin="9s" end="10s"> </p>
    <p>No times</p>
  </div></body>
</tt>
"""


def test_a_file_with_everything() -> None:
    """Every vendor counts time in another way."""
    reading = ttml.read(FILE)

    assert reading.cues == (
        Cue(start=11000, end=12500, text="Hello\nthere & <i>you</i>"),
        Cue(start=13000, end=14500, text="<i>Thought</i>"),
        Cue(start=15500, end=16256, text="Frames"),
    )
    assert reading.warnings == ("a paragraph without text or without times was left out (2 times)",)


def test_the_namespace_does_not_matter() -> None:
    """DFXP is the same under three other names."""
    text = FILE.replace("http://www.w3.org/ns/ttml", "http://www.w3.org/2006/10/ttaf1")

    assert ttml.read(text).cues == ttml.read(FILE).cues


def test_a_document_that_could_explode_is_refused() -> None:
    """A kilobyte of entities becomes gigabytes of text."""
    with pytest.raises(NotASubtitle, match="document type or entities") as caught:
        ttml.read('<?xml version="1.0"?><!DOCTYPE tt [<!ENTITY a "aaaa">]><tt><body/></tt>')

    assert caught.value.why is Unfit.DAMAGED


def test_half_a_document_is_refused() -> None:
    """XML without its end tells nothing about what is missing."""
    with pytest.raises(NotASubtitle, match="the TTML is no XML"):
        ttml.read(FILE[:500])


def test_what_is_written_is_read() -> None:
    """Words, lines and italics survive; signs that XML forbids do not break the file."""
    cues = (
        Cue(start=1000, end=2000, text="<i>One</i>\n1 < 2 & 3"),
        Cue(start=3000, end=4000, text="<b>Two</b>"),
        Cue(start=5000, end=6000, text="a\x0bb<i>c"),
    )

    assert [cue.text for cue in ttml.read(ttml.write(cues)).cues] == ["<i>One</i>\n1 < 2 & 3", "Two", "ab<i>c</i>"]
    assert ttml.read(ttml.write([Cue(start=0, end=1, text="{\\an8}up")])).cues[0].text == "{\\an8}up"


@pytest.mark.parametrize(
    "region, is_top",
    [
        ('<region xml:id="r" tts:displayAlign="before"/>', True),
        ('<region xml:id="r" tts:displayAlign="after"/>', False),
        ('<region xml:id="r" tts:origin="10% 8.5%" tts:extent="80% 15%"/>', True),
        ('<region xml:id="r" tts:origin="10% 10%" tts:extent="80% 80%" tts:displayAlign="after"/>', False),
        ('<region xml:id="r" tts:origin="10% 80%"/>', False),
        ('<region xml:id="r"><style tts:displayAlign="before"/></region>', True),
    ],
)
def test_the_top_of_the_picture_is_kept(region: str, is_top: bool) -> None:
    """Words would cover a sign, or the face of who speaks."""
    text = FILE.replace("<styling>", f"<layout>{region}</layout><styling>").replace("<p begin", '<p region="r" begin')

    assert ttml.read(text).cues[0].text.startswith("{\\an8}") == is_top
