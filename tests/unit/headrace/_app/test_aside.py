"""The reasons of the engine, taken apart again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headrace._app.aside import aside_of
from headrace._app.view import RunView
from headrace.errors import FlowNotFound, NotDeterministic, ReplayDiverged

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def blocked(reason: str) -> RunView:
    return RunView(
        id="x", number=1, flow="a.b", state="blocked", reason=reason, location="", since=NOW, next_at=None, created_at=NOW,
        started_at=NOW, finished_at=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "recorded,found",
    [
        ("step 'a'", "step 'b'"),
        ("step 'x, the code has y'", "nothing at this point"),
        ("child 'a\nb'", "the end of the flow"),
    ],
)
def test_both_commands_are_named(recorded: str, found: str) -> None:
    """They are what a person compares."""
    aside = aside_of(blocked(str(ReplayDiverged("run-1", 3, recorded, found))))

    assert aside.cause.title == "The code no longer fits the journal"
    assert (aside.facts["position"], aside.facts["recorded"], aside.facts["found"]) == ("3", recorded, found)


@pytest.mark.parametrize(
    "reason,title",
    [
        (
            str(NotDeterministic("open was called in a flow at /x/flow.py:3; do it in a @step")),
            "The flow reached outside",
        ),
        (str(FlowNotFound("a.b", ("c.d",))), "The flow is not here"),
        ("its recorded input does not fit the flow any more: argument 'a'", "The input no longer fits the flow"),
        ("its journal has 50000 rows; use continue_as_new in the flow", "The journal has become too long"),
        ("3 worker processes died of step 'x'; mend it, then: …", "A step kills its worker process"),
        ("its code did not yield for many seconds and stopped everything else", "The flow never yields"),
        ("something new", "It cannot go on by itself"),
    ],
)
def test_each_reason_has_a_remedy(reason: str, title: str) -> None:
    """A reason without a next step leaves a person alone."""
    aside = aside_of(blocked(reason))

    assert aside.cause.title == title
    assert aside.cause.remedies
