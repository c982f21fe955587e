"""SAMI."""

from __future__ import annotations

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.formats import sami

FILE = """<SAMI>
<HEAD><TITLE>Film</TITLE><STYLE TYPE="text/css"><!--
P { text-align: center; }
.KRCC { Name: Korean; lang: ko-KR; SAMIType: CC; }
.ENCC { Name: English; lang: en-US; SAMIType: CC; }
--></STYLE></HEAD>
<BODY>
<SYNC Start=1000><P Class=KRCC>안녕<br><i>하세요</i>
<SYNC Start=1000><P Class=ENCC>Hello &amp; welcome
<SYNC Start=2500><P Class=KRCC>&nbsp;
<SYNC Start=2500><P Class=ENCC>&nbsp;
<SYNC Start=4000><P Class=KRCC>여기
<SYNC Start=5000><P Class=KRCC>저기
</BODY>
</SAMI>
"""


def test_the_wanted_language_is_read() -> None:
    """Two languages in one file must not be shown over each other."""
    korean, english = sami.read(FILE, "ko"), sami.read(FILE, "en-GB")

    assert korean.cues == (
        Cue(start=1000, end=2500, text="안녕\n<i>하세요</i>"),
        Cue(start=4000, end=5000, text="여기"),
        Cue(start=5000, end=9000, text="저기"),
    )
    assert english.cues == (Cue(start=1000, end=2500, text="Hello & welcome"),)
    assert korean.warnings == ("the file holds 2 texts side by side; KRCC was read",)


def test_without_a_wish_the_longer_text_is_read() -> None:
    """There the film is; the other one is often a few remarks."""
    assert sami.read(FILE.replace("여기", "여기 그리고 아주 긴 대사가 있어요")).cues[0].text == "안녕\n<i>하세요</i>"


def test_what_is_written_is_read() -> None:
    """A text ends where the file says so, also before the next one."""
    cues = (
        Cue(start=1000, end=2000, text="<i>One</i>\n1 < 2"),
        Cue(start=2000, end=3000, text="Two"),
        Cue(start=5000, end=6000, text="Three"),
    )

    assert sami.read(sami.write(cues)).cues == cues


def test_odd_moments_do_no_harm() -> None:
    """Nobody checks these files."""
    assert sami.read("<SAMI><BODY><SYNC Start=><P>a<SYNC><P>b<SYNC Start=100ms><P>c").cues == (
        Cue(start=100, end=4100, text="c"),
    )
