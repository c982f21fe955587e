"""SubRip, as it is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Cue
from headrace_pipelines.subtitles.rules.formats import srt
from headrace_pipelines.subtitles.rules.formats.reading import normal_text

PLAIN = "1\n00:00:01,000 --> 00:00:02,500\nHello.\n\n2\n00:00:03,000 --> 00:00:04,000\n<i>There</i>\nyou are.\n"
TEXTS = st.text(alphabet="ab1 2:,.->{}\\an8<i>/\n\r\t\x85\u2028אé", max_size=30)
CUES = st.builds(
    Cue, start=st.integers(0, 40_000_000), end=st.integers(0, 40_000_000), text=TEXTS.map(lambda text: f"x{text}x")
)
PIECES = st.sampled_from(
    [
        "1\n", "2\r\n", "3\n", "\n", "\r\n", "\r\r\n", "Hello\n", "42\n", "00:00:01,000 --> 00:00:02,000\n", "0:0:1.5 --> 0:0:2.5\r\n",
        "00:00:03,0", "00:00:05,000 --> 00:00:06,000  X1:10 X2:20\n", "{\\an8}<i>up</i>\n", "\ufeff", "00:00:07,000 -->\n",
    ]
)  # fmt: skip


def cues_of(text: str) -> list[tuple[int, int, str]]:
    return [(cue.start, cue.end, cue.text) for cue in srt.read(text).cues]


def test_a_plain_file() -> None:
    """The ordinary case gives no warning."""
    reading = srt.read(PLAIN)

    assert reading.cues == (
        Cue(start=1000, end=2500, text="Hello."),
        Cue(start=3000, end=4000, text="<i>There</i>\nyou are."),
    )
    assert reading.warnings == ()


def test_a_plain_file_is_written_as_it_was_read() -> None:
    """A second pass must not change a file that was right."""
    assert srt.write(srt.read(PLAIN).cues) == PLAIN


@pytest.mark.parametrize(
    "timing, start, end",
    [
        ("00:00:01.000 --> 00:00:02.500", 1000, 2500),
        ("0:00:01,000 --> 0:00:02,500", 1000, 2500),
        ("00:00:01,5 --> 00:00:02,50", 1500, 2500),
        ("00:00:01 --> 00:00:02", 1000, 2000),
        ("00:01,000 --> 01:02,500", 1000, 62500),
        ("00:00:01,000-->00:00:02,500", 1000, 2500),
        ("00:00:01,000 -> 00:00:02,500", 1000, 2500),
        ("00:00:01:000 --> 00:00:02:500", 1000, 2500),
        ("00: 00: 01, 000 --> 00: 00: 02, 500", 1000, 2500),
        ("  00:00:01,000 --> 00:00:02,500  ", 1000, 2500),
        ("100:00:01,000 --> 100:00:02,500", 360_001_000, 360_002_500),
        ("00:00:01,0004 --> 00:00:02,5009", 1000, 2500),
    ],
)
def test_times_in_the_wild(timing: str, start: int, end: int) -> None:
    """Each of these made another program see a file without a cue."""
    assert cues_of(f"1\n{timing}\nHello\n") == [(start, end, "Hello")]


def test_a_time_before_the_beginning_is_zero() -> None:
    """A file that was shifted too far still has its words."""
    reading = srt.read("1\n-00:00:01,000 --> 00:00:02,000\nHello\n")

    assert (reading.cues[0].start, reading.warnings) == (0, ("a time before the beginning was set to zero",))


def test_indexes_may_be_missing() -> None:
    """The times alone make a cue."""
    reading = srt.read(
        "00:00:01,000 --> 00:00:02,000\nOne\n\n00:00:03,000 --> 00:00:04,000\n42\n\n00:00:05,000 --> 00:00:06,000\nThree\n"
    )

    assert [cue.text for cue in reading.cues] == ["One", "42", "Three"]
    assert reading.warnings == ("a cue without index (3 times)",)


def test_cues_without_a_blank_line_between_them() -> None:
    """An index is told from what is said by the times behind it."""
    assert cues_of("1\n00:00:01,000 --> 00:00:02,000\nOne\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n") == [
        (1000, 2000, "One"),
        (3000, 4000, "Two"),
    ]


def test_every_line_doubled() -> None:
    """Line ends that were converted twice leave a blank line behind each line."""
    text = PLAIN.replace("\n", "\r\n\r\n")

    assert [cue.text for cue in srt.read(text).cues] == ["Hello.", "<i>There</i>\nyou are."]
    assert cues_of(PLAIN.replace("\n", "\r\r\n")) == cues_of(PLAIN)
    assert cues_of(PLAIN.replace("\n", "\r")) == cues_of(PLAIN)


def test_a_blank_line_inside_a_cue() -> None:
    """A player would show the first half only."""
    reading = srt.read("1\n00:00:01,000 --> 00:00:02,000\nOne\n\nhalf\n\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n")

    assert [cue.text for cue in reading.cues] == ["One\nhalf", "Two"]
    assert reading.warnings == ("a blank line inside a cue was taken out",)


def test_tags_positions_and_coordinates_are_kept() -> None:
    """A sign at the top of the picture would cover what is said at the bottom."""
    text = '1\n00:00:01,000 --> 00:00:02,000  X1:117 X2:619 Y1:042 Y2:428\n{\\an8}<font color="#ffff00">Sign</font>\n'

    (cue,) = srt.read(text).cues

    assert cue == Cue(
        start=1000, end=2000, text='{\\an8}<font color="#ffff00">Sign</font>', place="X1:117 X2:619 Y1:042 Y2:428"
    )
    assert srt.write([cue]) == text


@pytest.mark.parametrize(
    "rest",
    [
        "2\n00:00:03,0",
        "2\n00:00:03,000 -->",
        "2\n00:00:03,000 --> 00:0",
        "2",
        "2\n",
        "2\n00:00:03,000 --> 00:00:04,000",
        "2\n0:",
    ],
)
def test_a_last_cue_that_breaks_off_is_left_out(rest: str) -> None:
    """Half of its times must not be shown as what somebody says."""
    reading = srt.read(f"1\n00:00:01,000 --> 00:00:02,000\nHello\n\n{rest}")

    assert [cue.text for cue in reading.cues] == ["Hello"]
    assert len(reading.warnings) == 1
    assert "the last cue broke off" in reading.warnings[0]


def test_a_broken_index_of_two_digits() -> None:
    """`6` at the end of a file with 64 cues was going to be 65."""
    text = "64\n00:00:01,000 --> 00:00:02,000\nHello\n\n"

    assert cues_of(text + "6") == [(1000, 2000, "Hello")]
    assert cues_of(text + "7") == [(1000, 2000, "Hello\n7")]


@pytest.mark.parametrize("said", ["42", "It is\n12:30", "12:30", "3\n2\n1"])
def test_numbers_that_are_said_are_kept(said: str) -> None:
    """A countdown is no index."""
    assert cues_of(f"1\n00:00:01,000 --> 00:00:02,000\n{said}\n") == [(1000, 2000, said)]
    assert cues_of(f"1\n00:00:01,000 --> 00:00:02,000\n{said}\n\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n")[0][2] == said


def test_what_stands_before_the_first_cue_is_told() -> None:
    """A site wrote its name there; it is no cue, and the file is still good."""
    reading = srt.read("\ufeffSubtitles by somebody\n\n1\n00:00:01,000 --> 00:00:02,000\nHello\n")

    assert [cue.text for cue in reading.cues] == ["Hello"]
    assert reading.warnings == ("text before the first cue was left out",)


def test_cues_without_text_are_left_out() -> None:
    """Nothing is shown for them, and a translator is not asked."""
    reading = srt.read("1\n00:00:01,000 --> 00:00:02,000\n\n2\n00:00:03,000 --> 00:00:04,000\nTwo\n")

    assert (len(reading.cues), reading.warnings) == (1, ("a cue without text was left out",))


def test_no_times_no_cues() -> None:
    """Whether that is a subtitle is for others to say."""
    assert srt.read("Hello").cues == ()
    assert srt.blocks("") == ()


@given(st.lists(PIECES).map("".join))
def test_blocks_joined_are_the_text(text: str) -> None:
    """With a single byte lost, no file could be changed in its words alone."""
    found = srt.blocks(text)

    assert "".join(block.raw for block in found) == (text if found else "")


@given(st.lists(PIECES).map("".join))
def test_what_was_read_is_written_and_read_the_same(text: str) -> None:
    """Whatever a file was like, what is stored for it is stable."""
    once = srt.read(text).cues

    assert srt.read(srt.write(once)).cues == once


@given(st.lists(CUES, max_size=5))
def test_no_text_can_make_or_hide_a_cue(cues: list[Cue]) -> None:
    """A translator that answers with blank lines or numbers must not shift all that follows."""
    written = srt.read(srt.write(cues)).cues

    assert [(cue.start, cue.end) for cue in written] == [(cue.start, cue.end) for cue in cues]
    assert [cue.text for cue in written] == [normal_text(cue.text) for cue in cues]


@pytest.mark.parametrize("arrow", ["-->", "->", "--->"])
def test_times_in_a_text_make_no_cue(arrow: str) -> None:
    """A model that was shown a whole file answers with one."""
    cues = [
        Cue(start=0, end=1, text=f"One\n2\n00:00:01,000 {arrow} 00:00:02,000\nTwo"),
        Cue(start=2, end=3, text="Three"),
    ]

    assert [cue.text for cue in srt.read(srt.write(cues)).cues] == ["One\n2\n00:00:01,000 - 00:00:02,000\nTwo", "Three"]


@given(st.lists(PIECES).map("".join))
def test_other_words_change_nothing_else(text: str) -> None:
    """The times of a translated file are those of its source, byte for byte."""
    found = srt.blocks(text)

    changed = srt.blocks(srt.with_texts(text, [f"word {n}" for n in range(len(found))])) if found else ()

    assert [(block.head, block.timing) for block in changed][: len(found)] == [
        (block.head, block.timing) for block in found
    ]


def test_words_are_put_into_a_file() -> None:
    """Its own line ends and odd times stay."""
    text = "7\r\n0:00:01.5 --> 0:00:02,5  X1:1\r\nHello\r\n\r\n\r\n9\r\n00:00:03,000 --> 00:00:04,000\r\nBye"

    assert srt.with_texts(text, ["שלום\nלך", "ביי"]) == (
        "7\r\n0:00:01.5 --> 0:00:02,5  X1:1\r\nשלום\r\nלך\r\n\r\n\r\n9\r\n00:00:03,000 --> 00:00:04,000\r\nביי"
    )
    with pytest.raises(ValueError, match="the file has 2 cues, and 1 texts were given"):
        srt.with_texts(text, ["one"])
