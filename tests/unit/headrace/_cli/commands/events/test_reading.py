"""`show`, `history` and `topics` on a file that nobody runs."""

from __future__ import annotations

import json
from collections.abc import Callable

from click.testing import Result

Call = Callable[..., Result]


def test_an_event_is_shown_by_its_id_or_its_position(call: Call) -> None:
    """The one is in a log of the publisher, the other on the screen."""
    by_id = call("events", "show", "placed/o-1", "--json")
    by_position = call("events", "show", "1", "--json")
    told = call("events", "show", "placed/o-1").stdout

    assert json.loads(by_id.stdout) == json.loads(by_position.stdout)
    assert json.loads(by_id.stdout)["data"] == {"items": 2}
    assert "order/o-1" in told
    assert "till" in told
    assert '"items": 2' in told


def test_an_event_that_moved_nothing_says_why(call: Call) -> None:
    """It is the first question about it."""
    told = call("events", "show", "late").stdout

    assert "no: it came too late: the job has ended as 'sent'" in told


def test_an_event_that_is_not_there(call: Call) -> None:
    """The message says where to look."""
    outcome = call("events", "show", "nope", "--json")

    assert outcome.exit_code == 4
    assert json.loads(outcome.stdout)["error"]["code"] == "event_not_found"


def test_history_of_a_job_has_the_reasons(call: Call) -> None:
    """The newest first, each with what became of it."""
    outcome = call("events", "history", "o-1", "--job", "order")
    as_json = json.loads(call("events", "history", "o-1", "--job", "order", "--json").stdout)

    head, *lines = outcome.stdout.splitlines()
    assert head.split() == ["SEQ", "TIME", "TOPIC", "GENERATION", "APPLIED", "WHY", "NOT", "DATA"]
    assert [line.split()[0] for line in lines] == ["4", "3", "2", "1"]
    assert "it came too late" in lines[0]
    assert (as_json["event_count"], as_json["next"]) == (4, None)
    assert [event["applied"] for event in as_json["events"]] == [False, True, True, True]


def test_history_of_what_is_no_job_has_the_source(call: Call) -> None:
    """There is nothing that could have moved."""
    head, line = call("events", "history", "a").stdout.splitlines()

    assert head.split() == ["SEQ", "TIME", "TOPIC", "SOURCE", "DATA"]
    assert line.split()[-1] == '"hello"'


def test_history_says_that_there_is_more(call: Call) -> None:
    """A list that ends in silence looks complete."""
    outcome = call("events", "history", "o-1", "--job", "order", "--limit", "1")

    assert len(outcome.stdout.splitlines()) == 2
    assert "There are 4" in outcome.stderr


def test_a_forgotten_lifecycle_is_named(call: Call) -> None:
    """Whoever has an id in hand does not think of what kind it is."""
    forgotten = call("events", "history", "o-1")
    nothing = call("events", "history", "o-9")

    assert (forgotten.exit_code, forgotten.stdout) == (0, "")
    assert "headrace events history o-1 --job order" in forgotten.stderr
    assert nothing.stderr == "No event is about o-9.\n"


def test_topics_are_counted(call: Call) -> None:
    """What there is to subscribe to."""
    head, *lines = call("events", "topics").stdout.splitlines()
    as_json = json.loads(call("events", "topics", "--json").stdout)

    assert head.split() == ["TOPIC", "EVENTS", "LAST"]
    assert lines[0].split()[:2] == ["news.came", "5"]
    assert [one["topic"] for one in as_json] == ["news.came", "order.failed", "order.packed", "order.placed", "order.sent"]  # fmt: skip


def test_an_empty_log_says_how_it_gets_an_event(call_empty: Call) -> None:
    """An empty answer leaves people wondering whether they looked in the right place."""
    outcome = call_empty("events", "topics")

    assert (outcome.exit_code, outcome.stdout) == (0, "")
    assert "headrace events publish" in outcome.stderr
    assert json.loads(call_empty("events", "topics", "--json").stdout) == []
