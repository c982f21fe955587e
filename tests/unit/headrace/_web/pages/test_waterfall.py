"""Where things lie on the axis of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headrace._app.timeline import How, Span, Timeline, TimelineRow
from headrace._app.view import RunView
from headrace._web.pages.waterfall import Scale, draw

ZERO = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return ZERO + timedelta(seconds=seconds)


def row(*spans: tuple[float, float | None], kind: str = "step", how: How = "ok") -> TimelineRow:
    attempt = 1 if kind == "step" else 0
    return TimelineRow(
        command=0,
        kind=kind,
        name="x",
        how=how,
        spans=tuple(
            Span(how=how, started_at=at(start), ended_at=None if end is None else at(end), attempt=attempt)
            for start, end in spans
        ),
    )


def timeline(*rows: TimelineRow, finished: float | None) -> Timeline:
    run = RunView(
        id="x", number=1, flow="a.b", state="completed", reason="", location="", since=ZERO, next_at=None, created_at=ZERO,
        started_at=ZERO, finished_at=None if finished is None else at(finished),
    )  # fmt: skip
    return Timeline(run=run, rows=rows, length=len(rows), earlier=None, later=None)


def test_short_runs_are_drawn_as_time_passed() -> None:
    """What was twice as long looks twice as long."""
    drawn = draw(timeline(row((0, 1)), row((1, 3)), row((3, 4), kind="timer"), finished=4), at(99))

    bars = [lane.bars[0] for lane in drawn.lanes]
    assert [(bar.x, bar.width) for bar in bars] == [(0, 25), (25, 50), (75, 25)]
    assert drawn.cuts == ()
    assert [tick.after.total_seconds() for tick in drawn.ticks] == [1, 2, 3]


def test_a_long_wait_does_not_squeeze_the_work() -> None:
    """Two seconds of work around three days of sleep would be two hairs at the edges."""
    days = 3 * 86_400
    drawn = draw(
        timeline(row((0, 1)), row((1, days), kind="timer"), row((days, days + 1)), finished=days + 1), at(days * 2)
    )

    first, wait, last = (lane.bars[0] for lane in drawn.lanes)
    assert first.width == last.width == pytest.approx(20, abs=0.1)
    assert wait.width == pytest.approx(60, abs=0.1)
    assert [cut.length for cut in drawn.cuts] == [timedelta(seconds=days - 1)]
    assert drawn.ticks == ()


def test_of_many_waits_only_those_that_are_too_long_are_cut() -> None:
    """A wait of a minute stays a minute beside one of a month."""
    scale = Scale(at(0), at(10_000), [(at(0), at(40)), (at(75), at(115))])

    assert scale.at(at(75)) - scale.at(at(40)) == pytest.approx(scale.at(at(40)) - scale.at(at(5)))
    assert len(scale.cuts()) == 1


def test_what_took_no_time_can_be_seen() -> None:
    """A step of a microsecond in a run of an hour."""
    drawn = draw(timeline(row((1800, 1800.000001)), row((3600, 3600)), finished=3600), at(3600))

    assert all(bar.width > 0 and bar.x + bar.width <= 100 for lane in drawn.lanes for bar in lane.bars)


def test_what_goes_on_reaches_to_now() -> None:
    """The right edge of an open run is this moment."""
    drawn = draw(timeline(row((0, 5)), row((5, None), how="running"), finished=None), at(10))

    bar = drawn.lanes[1].bars[0]
    assert (bar.x, bar.width, bar.goes_on) == (50, 50, True)
    assert drawn.lanes[1].length == timedelta(seconds=5)


def test_nothing_has_happened_yet() -> None:
    """The first moment of a run has no length to divide by."""
    drawn = draw(timeline(finished=None), ZERO)

    assert (drawn.lanes, drawn.ticks, drawn.length) == ((), (), timedelta(0))


def test_clocks_that_go_back_do_no_harm() -> None:
    """The page of a run must open, whatever the machine's clock has done."""
    drawn = draw(timeline(row((5, 2)), row((-3, 1)), finished=4), at(-100))

    assert all(0 <= bar.x <= 100 for lane in drawn.lanes for bar in lane.bars)
