"""Right-to-left lines for players that cannot order them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace_pipelines.subtitles.rules.rtl import Profile, apply_profile, strip_marks

LINES = st.text(alphabet='אבשל מ.?!,…"-–:();ab1<i>{}\\\n\u200f\u202b\u202c\u2067', max_size=40)


def test_marks_are_taken_out() -> None:
    """A translator would copy them, and a search would not find the word."""
    assert strip_marks("\u202bשלום.\u200f\u202c \u2067x\u2069\u200e") == "שלום. x"
    assert apply_profile("\u202bשלום.\u200f\u202c", Profile.NONE) == "שלום."


def test_lines_are_embedded() -> None:
    """A player that orders from left to right then shows the full stop at the end."""
    assert apply_profile("שלום.\nמה שלומך", Profile.MARKS) == "\u202bשלום.\u200f\u202c\n\u202bמה שלומך\u202c"


def test_tags_and_positions_stay_outside() -> None:
    """A position is only one if it stands first."""
    assert apply_profile("{\\an8}<i>שלום.</i>", Profile.MARKS) == "{\\an8}<i>\u202bשלום.\u200f\u202c</i>"
    assert apply_profile("{\\an8}<i>שלום.</i>", Profile.KODI) == "{\\an8}<i>.שלום</i>"


@pytest.mark.parametrize(
    "line, moved",
    [
        ("שלום.", ".שלום"),
        ("מה?!", "?!מה"),
        ("- שלום!", "!שלום -"),
        ("חכה...", "...חכה"),
        ("- חכה...", "...חכה -"),
        ("הוא אמר \"שלום.\"", ".\"הוא אמר \"שלום"),
        ("\"שלום.\"", ".\"שלום\""),
        ("שלום", "שלום"),
        ("- שלום", "שלום -"),
        ("אבל אני-", "אבל אני-"),
        ("...והלכתי", "...והלכתי"),
        ("3.5 קילו.", ".3.5 קילו"),
    ],
)  # fmt: skip
def test_punctuation_is_moved_to_the_front(line: str, moved: str) -> None:
    """Kodi and Infuse ignore marks, and show at the end what stands first."""
    assert apply_profile(line, Profile.KODI) == moved


@pytest.mark.parametrize("profile", Profile)
def test_lines_from_left_to_right_are_left_alone(profile: Profile) -> None:
    """A song in English inside a Hebrew film reads as it did."""
    assert apply_profile("- Hello!\n42.", profile) == "- Hello!\n42."


@given(LINES, st.sampled_from(Profile))
def test_applying_twice_changes_nothing(text: str, profile: Profile) -> None:
    """A file that was placed, read again and placed again must not lose its full stops to the other side."""
    once = apply_profile(text, profile)

    assert apply_profile(once, profile) == once


@given(LINES)
def test_no_letter_is_lost(text: str) -> None:
    """Signs are moved, never dropped."""
    assert sorted(apply_profile(text, Profile.KODI).replace(" ", "")) == sorted(strip_marks(text).replace(" ", ""))
    assert strip_marks(apply_profile(text, Profile.MARKS)) == strip_marks(text)
