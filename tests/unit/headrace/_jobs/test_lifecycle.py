from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest

from headrace import Lifecycle, RunOutcome
from headrace._events.model import Subject
from headrace._jobs.lifecycle import Lifecycles
from headrace._jobs.model import JobRecord
from headrace.errors import DefinitionError

MOVES = [
    ("order.placed", None, "placed"),
    ("order.packed", "placed", "packed"),
    ("order.sent", ("placed", "packed"), "sent"),
    ("order.failed", "*", "failed"),
]


def order(**changes: Any) -> Lifecycle[Any]:
    options: dict[str, Any] = {
        "moves": MOVES,
        "terminal": ["sent", "failed"],
        "notes": ["order.seen"],
        "retry": ("order.retried", "placed"),
        "ends": {"failed": "order.failed", "completed": "order.sent"},
    }
    return Lifecycle("order", **(options | changes))


def job(state: str, *, generation: int = 1) -> JobRecord:
    return JobRecord(
        subject=Subject("order", "1"), state=state, terminal=state in ("sent", "failed"), generation=generation, data=b"null",
        created_at=0, updated_at=0, position=1,
    )  # fmt: skip


@pytest.mark.parametrize(
    "state, topic, leads_to",
    [
        (None, "order.placed", "placed"),
        ("placed", "order.packed", "packed"),
        ("placed", "order.sent", "sent"),
        ("packed", "order.sent", "sent"),
        ("placed", "order.failed", "failed"),
        ("packed", "order.failed", "failed"),
        ("packed", "order.seen", "packed"),
    ],
)
def test_legal_events_move_the_job(state: str | None, topic: str, leads_to: str) -> None:
    """The table of moves is the whole truth about a lifecycle."""
    decision = order().decide(None if state is None else job(state), topic, None)

    assert (decision.applied, decision.state, decision.generation) == (True, leads_to, 1)


@pytest.mark.parametrize(
    "state, topic, reason",
    [
        (None, "order.packed", "no such job"),
        (None, "order.seen", "no such job"),
        ("placed", "order.placed", "already"),
        ("packed", "order.packed", "already"),
        ("packed", "order.placed", "exists already"),
        ("sent", "order.packed", "too late"),
        ("sent", "order.failed", "too late"),
        ("sent", "order.sent", "already"),
        ("placed", "order.retried", "already"),
        ("packed", "order.retried", "only one that has ended"),
    ],
)
def test_other_events_are_kept_with_the_reason(state: str | None, topic: str, reason: str) -> None:
    """Redelivery and reordering must do no harm, and somebody will ask why the job did not move."""
    decision = order().decide(None if state is None else job(state), topic, None)

    assert (decision.applied, decision.state) == (False, None)
    assert reason in decision.reason


def test_a_retry_opens_a_new_generation_and_shuts_out_the_old_one() -> None:
    """A worker of the first try that comes back late would otherwise end the second."""
    decision = order().decide(job("failed"), "order.retried", None)
    late = order().decide(job("placed", generation=2), "order.packed", 1)

    assert (decision.applied, decision.state, decision.generation) == (True, "placed", 2)
    assert (late.applied, late.generation) == (False, 1)
    assert "generation 1" in late.reason


@pytest.mark.parametrize(
    "ended, state, topic",
    [
        ("completed", "packed", "order.sent"),
        ("failed", "packed", "order.failed"),
        ("timed_out", "placed", "order.failed"),
        ("cancelled", "placed", "order.failed"),
    ],
)
def test_the_end_of_a_run_has_its_event(ended: str, state: str, topic: str) -> None:
    """No job may stay in progress after its run is over, however it ended."""
    event = order().end_of(RunOutcome(run_id="r", state=ended, error_message="no stock"), state)

    assert event is not None
    assert event[0] == topic


def test_a_job_that_has_ended_needs_no_word_of_its_run() -> None:
    """The flow's own last event has told it already."""
    assert order().end_of(RunOutcome(run_id="r", state="completed"), "sent") is None


def test_a_run_that_completes_too_early_fails_its_job() -> None:
    """It did what it could and left the job half way: nobody would ever move it again."""
    lifecycle = order(moves=[*MOVES[:2], ("order.sent", "packed", "sent"), MOVES[3]])

    event = lifecycle.end_of(RunOutcome(run_id="r-1", state="completed"), "placed")

    assert event is not None
    assert event[0] == "order.failed"
    assert "r-1" in event[1]["error_message"]
    assert "'placed'" in event[1]["error_message"]


class Step(StrEnum):
    ASKED = "asked"
    DONE = "done"


def test_states_may_be_members_of_an_enumeration() -> None:
    """People write their states down as an enumeration; the store and the readers want the words."""
    lifecycle: Lifecycle[Any] = Lifecycle(
        "errand",
        moves=[("errand.asked", None, Step.ASKED), ("errand.done", (Step.ASKED,), Step.DONE)],
        terminal=[Step.DONE],
        retry=("errand.again", Step.ASKED),
        handovers=[Step.ASKED],
    )

    states = [*lifecycle.states, *lifecycle.terminal, *lifecycle.handovers]
    states += [state for move in lifecycle.moves for state in (*move.sources, move.target)]
    assert {type(state) for state in states} == {str}
    assert lifecycle.states == ("asked", "done")


def half_way(**changes: Any) -> Lifecycle[Any]:
    return order(moves=[*MOVES[:2], ("order.sent", "packed", "sent"), MOVES[3]], **changes)


def test_a_run_may_leave_its_job_where_the_next_one_takes_over() -> None:
    """One worker packs, another one sends: the first has done all it had to do."""
    lifecycle = half_way(handovers=["placed"])

    assert lifecycle.end_of(RunOutcome(run_id="r", state="completed"), "placed") is None
    assert lifecycle.end_of(RunOutcome(run_id="r", state="failed"), "placed") is not None


def test_a_run_may_leave_its_job_to_those_that_work_for_it_already() -> None:
    """The next run may have begun before the first one ended."""
    lifecycle = half_way()

    assert lifecycle.end_of(RunOutcome(run_id="r", state="completed"), "placed", others=True) is None
    assert lifecycle.end_of(RunOutcome(run_id="r", state="failed"), "placed", others=True) is not None
    assert lifecycle.end_of(RunOutcome(run_id="r", state="completed"), "packed", others=True) == ("order.sent", None)


def test_data_of_an_end_event_may_be_the_users() -> None:
    """The event's data have a declared type, and only the user knows how to fill it."""
    lifecycle = order(ends={"failed": ("order.failed", lambda outcome: {"why": outcome.error_type})})

    assert lifecycle.end_of(RunOutcome(run_id="r", state="failed", error_type="NoStock"), "placed") == (
        "order.failed",
        {"why": "NoStock"},
    )


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"moves": MOVES[1:]}, "no move opens"),
        ({"terminal": []}, "terminal= is empty"),
        ({"moves": [*MOVES, ("order.back", "sent", "placed")]}, "leaves a terminal state"),
        ({"moves": [*MOVES, ("order.lost", "gone", "placed")]}, "no move leads to state 'gone'"),
        (
            {"moves": [*MOVES[:3], ("order.failed", "placed", "failed"), ("order.stuck", "placed", "stuck")]},
            "no move leaves state 'stuck'",
        ),
        ({"moves": [*MOVES, ("order.packed", "placed", "sent")]}, "two moves of 'order.packed'"),
        ({"notes": ["order.sent"]}, "in moves and in notes"),
        ({"ends": {"completed": "order.sent"}}, "event for 'failed'"),
        ({"ends": {"failed": "order.unknown"}}, "no move has this topic"),
        ({"ends": {"failed": "order.failed", "done": "order.sent"}}, "a run ends as"),
        ({"moves": [*MOVES[:3], ("order.failed", "placed", "failed")]}, "does not leave 'packed'"),
        ({"retry": ("order.retried", "sent")}, "leads to a terminal state"),
        ({"handovers": ["sent"]}, "handovers= names 'sent'"),
        ({"handovers": ["gone"]}, "handovers= names 'gone'"),
        ({"moves": [("order.*", None, "placed"), *MOVES[1:]]}, "is a pattern"),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_reason(changes: dict[str, Any], complaint: str) -> None:
    """A dead end in a lifecycle shows at import, not in production."""
    with pytest.raises(DefinitionError, match=complaint):
        order(**changes)


def test_a_topic_belongs_to_one_lifecycle() -> None:
    """Otherwise nobody could tell which job an event moves."""
    other: Lifecycle[Any] = Lifecycle(
        "other", moves=[("order.placed", None, "open"), ("other.done", "open", "done")], terminal=["done"]
    )

    with pytest.raises(DefinitionError, match="declared by two lifecycles"):
        Lifecycles([order(), other])
