"""`ls` and `show` on a file that nobody runs."""

from __future__ import annotations

import json
from collections.abc import Callable

from click.testing import Result

Call = Callable[..., Result]


def test_letters_are_grouped_by_error(call: Call) -> None:
    """A thousand events that failed for one reason are one line, whatever their messages name."""
    outcome = call("deadletters", "ls")

    head, *lines = outcome.stdout.splitlines()
    assert head.split() == ["STATE", "COUNT", "SUBSCRIPTION", "ERROR", "NEWEST", "IDS"]
    assert len(lines) == 2
    assert lines[0].split()[:5] == ["dead", "1", "shop.tell", "ValueError:", "too"]
    assert lines[1].split()[:4] == ["dead", "2", "shop.tell", "ConnectionError:"]
    assert lines[1].endswith("2, 1")
    assert "redrive --all" in outcome.stderr


def test_programs_get_each_by_itself(call: Call) -> None:
    """Grouping is for eyes."""
    found = json.loads(call("deadletters", "ls", "--json").stdout)

    assert [letter["event"]["subject"] for letter in found["letters"]] == ["odd", "bad-2", "bad-1"]
    assert found["next"] is None


def test_what_was_settled_is_shown_when_asked_for(call: Call) -> None:
    """Somebody may want it back."""
    lines = call("deadletters", "ls", "--all").stdout.splitlines()

    assert [line.split()[0] for line in lines] == ["STATE", "dismissed", "dead", "dead"]


def test_many_are_cut_and_said_so(call: Call) -> None:
    """A list that ends in silence looks complete."""
    assert "There are more; --limit 20" in call("deadletters", "ls", "--limit", "2").stderr


def test_none_is_good_news(call: Call, call_empty: Call) -> None:
    """Said in words, since an empty answer leaves people wondering."""
    assert call_empty("deadletters", "ls").stderr == "There are no dead letters. --all shows those of the past.\n"
    assert "no dead letters of shop.count" in call("deadletters", "ls", "--subscription", "shop.count").stderr


def test_one_is_shown_with_its_event_and_its_error(call: Call) -> None:
    """The line of code is what one needs."""
    told = call("deadletters", "show", "1").stdout
    as_json = json.loads(call("deadletters", "show", "1", "--json").stdout)

    assert "ConnectionError: cannot tell bad-1" in told
    assert "in tell" in told
    assert "news.came about bad-1" in told
    assert (as_json["id"], as_json["state"], as_json["attempts"]) == (1, "dead", 1)


def test_one_that_is_not_there(call: Call) -> None:
    """The message says where to look."""
    outcome = call("deadletters", "show", "99")

    assert outcome.exit_code == 4
    assert "headrace deadletters ls" in outcome.stderr
