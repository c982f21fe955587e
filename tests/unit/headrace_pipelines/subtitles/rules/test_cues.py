"""What is wrong with cues, and what is done about it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.model import Cue, Document, Format
from headrace_pipelines.subtitles.rules.cues import (
    DAY,
    Fault,
    Severity,
    coverage,
    examine,
    refuse_unfit,
    repair,
    without_adverts,
)
from headrace_pipelines.subtitles.rules.unfit import NotASubtitle, Unfit

from .legacy_texts import SAID

ENGLISH = "What is it that you want of me?"
CUES = st.builds(
    Cue,
    start=st.integers(0, 2 * DAY),
    end=st.integers(0, 2 * DAY),
    text=st.text(alphabet="ab <i>\n\x00\x1b", max_size=30),
)


def cue(start: float, end: float, text: str = "Hello") -> Cue:
    return Cue(start=round(start * 1000), end=round(end * 1000), text=text)


def document(*cues: Cue) -> Document:
    return Document(format=Format.SRT, cues=cues)


def film(text: str = ENGLISH, count: int = 60) -> Document:
    return document(*(cue(n * 10, n * 10 + 3, text) for n in range(count)))


def faults(*cues: Cue) -> list[tuple[Fault, int]]:
    return [(finding.fault, finding.cue) for finding in examine(cues)]


# --- looking -----------------------------------------------------------------------------------------------------------


def test_nothing_is_wrong_with_good_cues() -> None:
    """A report that warns of everything is read by nobody."""
    assert examine([cue(1, 3, "Where have you been?\n<i>All these years.</i>"), cue(3, 5, "{\\an8}Here.")]) == ()


@pytest.mark.parametrize(
    "cues, expected",
    [
        ((), [(Fault.NO_CUE, 0)]),
        ((cue(2, 2),), [(Fault.ENDS_BEFORE_START, 1)]),
        ((cue(2, 1),), [(Fault.ENDS_BEFORE_START, 1)]),
        ((cue(5, 7), cue(1, 3)), [(Fault.OUT_OF_ORDER, 2)]),
        ((cue(86401, 86403),), [(Fault.BEYOND_A_DAY, 1)]),
        ((cue(1, 3, "a\x1bb"),), [(Fault.CONTROL_SIGNS, 1)]),
        ((cue(1, 1.5, "Hi"),), [(Fault.TOO_SHORT, 1)]),
        ((cue(1, 9),), [(Fault.TOO_LONG, 1)]),
        ((cue(1, 3), cue(2, 4)), [(Fault.OVERLAP, 2)]),
        ((cue(1, 3, "a\nb\nc"),), [(Fault.TOO_MANY_LINES, 1)]),
        ((cue(1, 7, "x" * 43),), [(Fault.LINE_TOO_WIDE, 1)]),
        ((cue(1, 2, "x" * 21),), [(Fault.TOO_FAST, 1)]),
    ],
    ids=lambda value: value[0][0] if isinstance(value, list) else "",
)
def test_each_fault_is_found(cues: tuple[Cue, ...], expected: list[tuple[Fault, int]]) -> None:
    """One that is not found is shown on a screen."""
    assert faults(*cues) == expected


def test_limits_belong_to_the_good() -> None:
    """Exactly 42 signs, 20 a second and 7 seconds are what the guides allow."""
    assert faults(cue(0, 7, "x" * 42), cue(7, 7.83, "x" * 16), cue(8, 9, "x" * 20)) == []


def test_errors_are_told_from_warnings() -> None:
    """An error is mended or refused, a warning is only told."""
    findings = examine([cue(2, 1, "x" * 50)])

    assert [(finding.fault, finding.severity) for finding in findings] == [
        (Fault.ENDS_BEFORE_START, Severity.ERROR),
        (Fault.LINE_TOO_WIDE, Severity.WARNING),
    ]
    assert [str(finding) for finding in findings] == [
        "cue 1: it ends 1000 ms before it begins",
        "cue 1: a line has 50 characters",
    ]


# --- mending -----------------------------------------------------------------------------------------------------------


def test_everything_is_mended_and_told() -> None:
    """A file with one broken cue is still the only one there is."""
    mended = repair(
        document(cue(5, 7, "b"), cue(1, 1, "a\x00"), cue(90000, 90001), cue(6, 8, " <i></i>"), cue(8, 9, "c"))
    )

    assert mended.cues == (cue(1, 1.83, "a"), cue(5, 7, "b"), cue(8, 9, "c"))
    assert mended.warnings == (
        "1 cue beyond the 24th hour, left out",
        "1 cue with control characters, removed",
        "1 cue without text, left out",
        "1 cue that began before the one in front of it, sorted",
        "1 cue without a valid end, given one",
    )


def test_a_given_end_leaves_the_next_cue_alone() -> None:
    """It may be short, but it covers nothing."""
    assert repair(document(cue(1, 0, "x" * 40), cue(2, 3))).cues == (cue(1, 2, "x" * 40), cue(2, 3))
    assert repair(
        document(
            cue(1, 0, "x" * 40),
        )
    ).cues == (cue(1, 3, "x" * 40),)


def test_cues_at_the_same_time_keep_their_order() -> None:
    """Two people speak; who stood first stands first."""
    cues = (cue(1, 2, "b"), cue(1, 2, "a"))

    assert repair(document(*cues)) == document(*cues)


@given(st.lists(CUES, max_size=8).map(lambda cues: document(*cues)))
def test_no_error_is_left(broken: Document) -> None:
    """What is stored can be shown by every player."""
    mended = repair(broken)

    assert [
        finding
        for finding in examine(mended.cues)
        if finding.severity is Severity.ERROR and finding.fault is not Fault.NO_CUE
    ] == []
    assert repair(mended) == mended


# --- refusing ----------------------------------------------------------------------------------------------------------


def refused(
    what: Document, *, size: int = 20_000, language: str = "en", duration: timedelta | None = None, forced: bool = False
) -> str:
    try:
        refuse_unfit(what, size=size, language=language, duration=duration, forced=forced)
    except NotASubtitle as error:
        return error.why.value
    return ""


def test_a_good_one_is_taken() -> None:
    """Ten minutes of talk for a video of ten minutes."""
    assert refused(film(), duration=timedelta(minutes=10)) == ""


def test_scraps_are_refused() -> None:
    """Called done, they would keep a real one from being looked for."""
    assert refused(document()) == "too_few_cues"
    assert refused(film(count=2)) == "too_few_cues"
    assert refused(film(count=3), size=999) == "too_small"
    assert refused(film(), size=5_000_001) == "too_large"
    assert refused(film(), duration=timedelta(minutes=30)) == "covers_too_little"


def test_forced_subtitles_may_be_short() -> None:
    """A film with one sentence in Elvish has one cue."""
    assert refused(film(count=1), size=80, duration=timedelta(hours=2), forced=True) == ""
    assert refused(document(), forced=True) == "too_few_cues"


@pytest.mark.parametrize(
    "text",
    [
        "You need to become VIP member to download more subtitles\nopensubtitles.org/vip",
        "Please upgrade your client to the new API of the site",
        "Support us and become VIP member to remove all ads from www.OpenSubtitles.org",
    ],
)
def test_what_a_provider_says_instead_is_refused(text: str) -> None:
    """One such cue of 104 bytes was stored and called done, for every film of a library."""
    assert refused(document(cue(0, 600, text)), size=104, forced=True) == Unfit.ADVERT
    assert refused(document(cue(0, 600, text)), size=104) == Unfit.ADVERT


def test_a_film_with_such_a_sentence_is_no_advert() -> None:
    """In a film about a club somebody is a VIP member."""
    assert refused(document(*film().cues, cue(700, 703, "You are no VIP member."))) == ""


def test_another_script_is_refused() -> None:
    """Wrong language inside: nobody can read it, and the translator would be told a lie."""
    assert refused(film(), language="he") == Unfit.WRONG_LANGUAGE
    assert refused(film("איפה היית כל השנים?"), language="he") == ""
    assert refused(film("איפה היית כל השנים?"), language="en") == Unfit.WRONG_LANGUAGE
    assert refused(film("<i>כן</i>\n{\\an8}"), language="he") == ""


def test_another_language_is_refused() -> None:
    """The letters are the same, the words are not."""
    assert refused(film(), language="pt-BR") == Unfit.WRONG_LANGUAGE
    assert refused(film(SAID["pt"].strip()), language="pt-BR") == ""


def test_fifty_cues_are_too_few_to_judge_a_language() -> None:
    """A short one may be a song."""
    assert refused(film(count=50), language="he") == ""
    assert refused(film(count=51), language="he") == Unfit.WRONG_LANGUAGE


def test_coverage() -> None:
    """From the first word to the last."""
    assert coverage([cue(60, 62), cue(358, 360)], timedelta(minutes=10)) == 0.5
    assert coverage([], timedelta(minutes=10)) == 0.0
    assert coverage([cue(1, 2)], timedelta(0)) == 0.0


# --- adverts -----------------------------------------------------------------------------------------------------------


def test_adverts_are_taken_from_both_ends() -> None:
    """They stand over the first picture and over the last one."""
    head = cue(0, 5, "Support us and become VIP member\nto remove all ads from www.OpenSubtitles.org")
    tail = (cue(600, 603, "Subtitles by Somebody"), cue(604, 610, "Please rate this subtitle at www.osdb.link/abc"))

    assert without_adverts((head, *film().cues, *tail)) == film().cues


@pytest.mark.parametrize(
    "text",
    ["Sync and corrections by n17t01\nwww.addic7ed.com", "<i>Downloaded from YTS.MX</i>", "Titulky.com", "Ripped by X"],
)
def test_adverts_are_known(text: str) -> None:
    """Each of them stands in thousands of files."""
    assert without_adverts((cue(0, 2, text), *film().cues)) == film().cues


def test_what_is_said_in_between_is_never_touched() -> None:
    """A film about the web says `www.`, too."""
    cues = (*film().cues[:30], cue(305, 308, "Go to www.example.com, subtitles by Bob"), *film().cues[31:])

    assert without_adverts(cues) == cues
    assert without_adverts(()) == ()


def test_ordinary_words_at_the_ends_are_kept() -> None:
    """The first word of a film is worth more than a clean file."""
    cues = (cue(0, 2, "- I was corrected twice.\n- By whom?"), *film().cues, cue(650, 653, "The sync is off."))

    assert without_adverts(cues) == cues
    assert without_adverts((cue(0, 2, "Watch out!"), *film().cues))[0].text == "Watch out!"
