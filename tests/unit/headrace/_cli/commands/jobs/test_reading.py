"""`ls` and `show` on a file that nobody runs."""

from __future__ import annotations

import json
from collections.abc import Callable

from click.testing import Result

Call = Callable[..., Result]


def test_the_job_that_moved_last_comes_first(call: Call) -> None:
    """What is going on is at the top."""
    head, *lines = call("jobs", "ls").stdout.splitlines()
    as_json = json.loads(call("jobs", "ls", "order", "--json").stdout)

    assert head.split() == ["STATE", "LIFECYCLE", "ID", "GENERATION", "SINCE", "DATA"]
    assert [line.split()[:4] for line in lines] == [["failed", "order", "o-2", "1"], ["sent", "order", "o-1", "1"]]
    assert [(job["id"], job["data"].get("by")) for job in as_json["jobs"]] == [("o-2", None), ("o-1", "bike")]


def test_jobs_are_found_by_state_and_by_id(call: Call) -> None:
    """There are soon too many to read."""
    by_state = json.loads(call("jobs", "ls", "--state", "sent", "--json").stdout)
    by_id = json.loads(call("jobs", "ls", "--search", "-2", "--json").stdout)

    assert [job["id"] for job in by_state["jobs"]] == ["o-1"]
    assert [job["id"] for job in by_id["jobs"]] == ["o-2"]


def test_an_empty_list_says_what_there_is(call: Call, call_empty: Call) -> None:
    """A state that does not exist is the usual reason."""
    nothing = call("jobs", "ls", "--state", "shipped")

    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert "order: 1 failed, 1 sent" in nothing.stderr
    assert "There are no jobs yet" in call_empty("jobs", "ls").stderr


def test_limit_says_that_there_is_more(call: Call) -> None:
    """A list that ends in silence looks complete."""
    outcome = call("jobs", "ls", "--limit", "1")

    assert len(outcome.stdout.splitlines()) == 2
    assert "There are more" in outcome.stderr


def test_a_job_is_shown_with_its_story_and_its_runs(call: Call) -> None:
    """Why it is where it is, on one screen."""
    told = call("jobs", "show", "order", "o-1").stdout
    as_json = json.loads(call("jobs", "show", "order", "o-1", "--json").stdout)

    facts, _, story = told.partition("\n\n")
    assert "sent (has ended)" in facts
    assert "deliver-o-1#1 (completed)" in facts
    assert [line.split()[0] for line in story.splitlines()] == ["SEQ", "4", "3", "2", "1"]
    assert "it came too late" in story
    assert as_json["job"]["state"] == "sent"
    assert [run["id"] for run in as_json["runs"]] == ["deliver-o-1"]
    assert as_json["history"]["event_count"] == 4


def test_a_job_that_is_not_there(call: Call) -> None:
    """The message says where to look."""
    outcome = call("jobs", "show", "order", "o-9")

    assert outcome.exit_code == 4
    assert "headrace jobs ls order" in outcome.stderr
