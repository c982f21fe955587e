"""What tokens look like."""

from __future__ import annotations

import re

import pytest

from headrace._access.secret import digest, id_of, is_same, new_session, new_token


def test_tokens_say_what_they_are() -> None:
    """Scanners of repositories and logs find them by their form."""
    made = new_token()

    assert re.fullmatch(r"hr_[0-9a-f]{8}_[0-9a-f]{48}", made.text)
    assert id_of(made.text) == made.id


def test_tokens_are_not_printed() -> None:
    """A value that is printed for a look ends in a log."""
    made = new_token()

    assert made.text not in repr(made)


@pytest.mark.parametrize(
    "text", ["", "hr_", "hr_00000000_", "hr_0000000g_" + "0" * 48, "HR_00000000_" + "0" * 48, "ü" * 70]
)
def test_what_is_no_token_has_no_id(text: str) -> None:
    """Nothing is looked up for it."""
    assert id_of(text) is None


def test_no_two_are_alike() -> None:
    """They are drawn, not counted."""
    assert len({new_token().text for _ in range(100)} | {new_session() for _ in range(100)}) == 200


def test_hashes_tell_them_apart() -> None:
    """One letter is enough."""
    assert is_same(digest("a"), digest("a"))
    assert not is_same(digest("a"), digest("b"))
    assert not is_same(digest("a"), b"")
