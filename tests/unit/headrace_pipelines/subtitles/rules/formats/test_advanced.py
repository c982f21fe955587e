"""SubStation Alpha."""

from __future__ import annotations

import pytest

from headrace_pipelines.subtitles.model import Cue, Format
from headrace_pipelines.subtitles.rules.formats import advanced

FILE = r"""[Script Info]
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Arial,20,&H00FFFFFF,&H000000FF,&H00000000,&H00000000,-1,0,0,0,100,100,0,0,1,2,2,2,10,10,10,1
Style: Thought,Arial,20,&H00FFFFFF,&H000000FF,&H00000000,&H00000000,0,-1,0,0,100,100,0,0,1,2,2,2,10,10,10,1
Style: Sign,Arial,20,&H00FFFFFF,&H000000FF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,2,2,8,10,10,10,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,A note
Dialogue: 0,0:00:05.00,0:00:06.00,Sign,,0,0,0,,EXIT
Dialogue: 0,0:00:01.00,0:00:02.50,Default,,0,0,0,,{\fad(100,100)}We {\i1}are{\i0}\Nhere\hnow, Roger
Dialogue: 0,0:00:03.00,0:00:04.00,Thought,,0,0,0,,{\an4}Am I?
Dialogue: 0,0:00:07.00,0:00:08.00,Default,,0,0,0,,{\p1}m 0 0 l 100 100{\p0}
"""


def test_a_file_with_everything() -> None:
    """Bold is how that file looks, italic is what it means; drawings are no words."""
    reading = advanced.read(FILE, Format.ASS)

    assert reading.cues == (
        Cue(start=1000, end=2500, text="We <i>are</i>\nhere\u00a0now, Roger"),
        Cue(start=3000, end=4000, text="{\\an4}<i>Am I?</i>"),
        Cue(start=5000, end=6000, text="{\\an8}EXIT"),
    )
    assert reading.warnings == ("a cue without text, or a drawing, was left out",)


def test_positions_of_the_older_version() -> None:
    """There 6 is the top, and 5 the top left."""
    text = FILE.replace("{\\an4}", "{\\a6}")

    assert advanced.read(text, Format.ASS).cues[1].text == "{\\an8}<i>Am I?</i>"


@pytest.mark.parametrize("format", [Format.ASS, Format.SSA])
def test_what_is_written_is_read(format: Format) -> None:
    """Who wants the original format back gets words, lines, italics and places."""
    cues = (
        Cue(start=1000, end=2500, text="{\\an8}<i>One</i>\ntwo"),
        Cue(start=3000, end=4000, text="<b>Three</b>, <font color='red'>four</font>"),
    )

    back = advanced.read(advanced.write(cues, format), format).cues

    assert [cue.text for cue in back][1] == "<b>Three</b>, four"
    assert [(cue.start, cue.end) for cue in back] == [(1000, 2500), (3000, 4000)]
    assert back[0].text == "{\\an8}<i>One</i>\ntwo"


def test_braces_in_a_text_are_no_commands() -> None:
    """A translator's braces would make the line disappear."""
    assert "(\\fs200)big" in advanced.write([Cue(start=0, end=1, text="{\\fs200}big")], Format.ASS)


def test_the_file_names_its_fields() -> None:
    """Not every program writes them in the usual order, or writes all of them."""
    text = "[Script Info]\n\n[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.50,One, two\n"

    assert advanced.read(text, Format.ASS).cues == (Cue(start=1000, end=2500, text="One, two"),)


def test_an_event_without_times_is_left_out() -> None:
    """One broken line is no reason to lose the others."""
    reading = advanced.read(FILE.replace("0:00:03.00", "zero"), Format.ASS)

    assert [cue.start for cue in reading.cues] == [1000, 5000]
    assert "a cue without valid times was left out" in reading.warnings


def test_the_first_line_may_carry_on_a_style() -> None:
    """A reset goes back to what the style says, not to nothing."""
    text = FILE.replace("{\\an4}Am I?", "{\\i0}Am{\\r} I?")

    assert advanced.read(text, Format.ASS).cues[1].text == "Am<i> I?</i>"
