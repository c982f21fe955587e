"""MicroDVD."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.formats import microdvd
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

FILE = "{0}{25}Hello|there\n{50}{75}{y:i}Thought|said\r\n{100}{125}{Y:i}All|italic\n{150}{}{c:$0000ff}Open\n{175}{200}/slash/\n{225}{250}\n"


def test_frames_become_times() -> None:
    """Without the rate of the video every cue would be shown at the wrong moment."""
    reading = microdvd.read(FILE, 25.0)

    assert reading.cues == (
        Cue(start=0, end=1000, text="Hello\nthere"),
        Cue(start=2000, end=3000, text="<i>Thought</i>\nsaid"),
        Cue(start=4000, end=5000, text="<i>All\nitalic</i>"),
        Cue(start=6000, end=7000, text="Open"),
        Cue(start=7000, end=8000, text="<i>slash</i>"),
    )
    assert reading.warnings == ("a cue without text was left out",)


@pytest.mark.parametrize("line", ["{1}{1}25", "{1}{1}25.000", "{0}{0}25,0"])
def test_a_rate_in_the_file_goes_first(line: str) -> None:
    """It was made for a video with that rate, and says so."""
    assert microdvd.read(f"{line}\n{{25}}{{50}}Hello\n", 50.0).cues == (Cue(start=1000, end=2000, text="Hello"),)


@pytest.mark.parametrize("fps", [None, 0.0, -25.0])
def test_no_rate_no_subtitle(fps: float | None) -> None:
    """A guess would be off by minutes at the end of the film."""
    with pytest.raises(NotASubtitle, match="neither the file nor the caller tells the rate") as caught:
        microdvd.read(FILE, fps)

    assert caught.value.why is Unfit.NO_FRAME_RATE


def test_what_is_written_is_read() -> None:
    """Words, lines and italics survive; a bar in a text does not become a line."""
    cues = (
        Cue(start=1000, end=2000, text="{\\an8}One\ntwo"),
        Cue(start=3000, end=4000, text="<i>All\nitalic</i>"),
        Cue(start=5000, end=6000, text="<i>half</i>\n<b>not</b>"),
    )

    assert [cue.text for cue in microdvd.read(microdvd.write(cues, 23.976)).cues] == [
        "One\ntwo", "<i>All\nitalic</i>", "<i>half</i>\nnot",
    ]  # fmt: skip
    assert "a/b" in microdvd.write([Cue(start=0, end=1, text="a|b")], 25)
    with pytest.raises(ValueError, match="fps"):
        microdvd.write(cues, None)
