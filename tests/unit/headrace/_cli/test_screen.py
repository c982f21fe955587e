"""Text for people: aligned, short, harmless."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headrace._cli.screen import Screen, Table, due, long_json, one_line, printable, short_json

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_due_says_how_long_or_that_it_is_now() -> None:
    """What waits for the past is about to go on."""
    assert due(NOW + timedelta(minutes=3), NOW) == "in 3 min"
    assert due(NOW - timedelta(minutes=3), NOW) == "now"
    assert due(None, NOW) == ""


def test_columns_stand_below_their_heads(capsys: pytest.CaptureFixture[str]) -> None:
    """A table out of line cannot be read, and wide letters take two places."""
    Screen(as_json=False).table(("A", "B"), [("日本", "x"), ("a", "yy")])

    assert capsys.readouterr().out.splitlines() == ["A     B", "日本  x", "a     yy"]


def test_rows_that_come_later_make_columns_wider(capsys: pytest.CaptureFixture[str]) -> None:
    """What follows a log does not know how long the next topic will be."""
    table = Table(("A", "B"))
    table.add([("a", "x")])
    table.add([("aaa", "y"), ("a", "z")])

    assert capsys.readouterr().out.splitlines() == ["A  B", "a  x", "aaa  y", "a    z"]


def test_nothing_is_cut_when_it_is_not_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """`headrace runs ls | grep` must find what is there."""
    Screen(as_json=False).table(("A",), [("x" * 500,)])

    assert "x" * 500 in capsys.readouterr().out


def test_control_characters_do_not_reach_the_terminal() -> None:
    """An error text comes from anywhere; it must not clear the screen or set the title."""
    assert printable("a\x1b[2Jb\x07\nc") == "a [2Jb \nc"


def test_text_of_many_lines_is_one_line_in_a_table() -> None:
    """A stack trace in a cell would tear the table apart."""
    assert one_line("first\nsecond") == "first …"


def test_empty_facts_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """A page of `None` hides the two lines that matter."""
    Screen(as_json=False).facts([("Run", "x"), ("Ended", "")])

    assert capsys.readouterr().out == "Run  x\n"


def test_long_values_are_shortened() -> None:
    """A value of 16 MiB in a table helps nobody."""
    assert len(short_json("x" * 1000)) == 60
    assert long_json({"a": 1}) == '{\n "a": 1\n}'
    assert "9002 characters; --json has them all" in long_json("x" * 9000)
