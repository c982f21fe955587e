"""Lists of runs for people: filtered, in pages, and quick however many runs there are.

Where an index answers a filter, it is asked. Where none does, the newest runs are looked through one by one, so many at a time, and the list
says that there is more to look at.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from headrace._app.view import RunView
from headrace._base.clock import Instant, to_datetime, to_micros
from headrace._ports.database import Reader, SqlValue, Statement
from headrace._runs.model import OPEN, RunState
from headrace._runs.store import record_of
from headrace._store.statements import load

_LISTING = load("headrace._runs", "listing.sql")
_INSPECTION = load("headrace._runs", "inspection.sql")
_BEYOND_ALL = 2**62

REACH = 100_000
"""How many runs one search looks through."""
GROUPED = 5_000
"""How many waiting runs are grouped by what they wait for."""
COUNTED = 20_000
"""How many open runs are looked through to count those of one flow."""


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Which runs to list; ``text`` is a part of the id or of the reason, in any case of its letters."""

    flow: str | None = None
    state: RunState | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunList:
    """A page of runs, the newest first.

    ``next`` is the cursor of what follows, if anything does. ``unfinished`` says that the page is short because the search has looked
    through enough for once, not because there is no more. ``counts`` are of all runs of the flow, whatever the state and the text.
    """

    runs: tuple[RunView, ...]
    next: int | None
    unfinished: bool
    counts: Mapping[str, int]
    flows: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Runs of one flow that wait for the same thing at the same line."""

    flow: str
    reason: str
    location: str
    count: int
    next_at: datetime | None
    since: datetime


@dataclass(frozen=True, kw_only=True)
class Failures:
    """The latest failures after a moment, and how many there were in all."""

    count: int
    latest: tuple[RunView, ...]


def list_of_runs(reader: Reader, wanted: RunFilter, *, before: int | None = None, count: int = 50) -> RunList:
    flows = flows_of(reader)
    start = _BEYOND_ALL if before is None else before
    floor = _floor(reader, wanted, start)
    found = _newest(reader, wanted, flows, start, floor or 0, count + 1)
    page = found[:count]
    following = page[-1] if len(found) > count else floor
    if before is None and wanted.text:
        page = list(dict.fromkeys([*_named(reader, wanted), *page]))
    return RunList(
        runs=tuple(_view(reader, pk) for pk in page),
        next=following,
        unfinished=following is not None and following == floor,
        counts=counts_of(reader, wanted.flow),
        flows=flows,
    )


def flows_of(reader: Reader) -> tuple[str, ...]:
    """The flows that have runs."""
    return tuple(row[0] for row in reader.all(_INSPECTION.flow_names))


def _floor(reader: Reader, wanted: RunFilter, start: int) -> int | None:
    """Where this search ends, if an index cannot answer it and there are more runs than it looks through."""
    parameters: dict[str, SqlValue] = {"before": start, "reach": REACH}
    if wanted.state in OPEN:
        row = (
            reader.one(_LISTING.floor_of_open, parameters | {"state": wanted.state}) if _needs_search(wanted) else None
        )
    else:
        row = reader.one(_LISTING.floor, parameters) if wanted.text else None
    return None if row is None else row[0]


def _needs_search(wanted: RunFilter) -> bool:
    return bool(wanted.text or wanted.flow)


def _newest(
    reader: Reader, wanted: RunFilter, flows: tuple[str, ...], before: int, floor: int, count: int
) -> list[int]:
    parameters: dict[str, SqlValue] = {"before": before, "floor": floor, "count": count, "flow": wanted.flow}
    parameters |= {"state": wanted.state, "pattern": _pattern(wanted.text)}
    if wanted.state in OPEN:
        return _pks(reader, _LISTING.newest_open_where, parameters)
    if wanted.text:
        return _pks(reader, _LISTING.newest_where, parameters)
    if wanted.state is not None:
        of_each = (_pks(reader, _LISTING.newest_ended, parameters | {"flow": flow}) for flow in _chosen(wanted, flows))
        return heapq.nlargest(count, (pk for pks in of_each for pk in pks))
    return _pks(reader, _LISTING.newest if wanted.flow is None else _LISTING.newest_of_flow, parameters)


def _chosen(wanted: RunFilter, flows: tuple[str, ...]) -> tuple[str, ...]:
    return flows if wanted.flow is None else (wanted.flow,)


def _named(reader: Reader, wanted: RunFilter) -> Iterator[int]:
    """Who types a whole id finds it, however old it is."""
    for pk in _pks(reader, _LISTING.runs_named, {"id": wanted.text, "count": 10}):
        view = _view(reader, pk)
        if wanted.flow in (None, view.flow) and wanted.state in (None, view.state):
            yield pk


def _pks(reader: Reader, statement: Statement, parameters: Mapping[str, SqlValue]) -> list[int]:
    return [row[0] for row in reader.all(statement, parameters)]


def _pattern(text: str | None) -> str | None:
    if not text:
        return None
    escaped = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"


def _view(reader: Reader, pk: int) -> RunView:
    row = reader.one(_INSPECTION.run_in_short, {"pk": pk})
    assert row is not None
    return RunView.of(record_of(reader, row))


def counts_of(reader: Reader, flow: str | None = None) -> dict[str, int]:
    """How many runs are in each state; of the open runs of one flow, those among the newest are counted."""
    found: Counter[str] = Counter()
    for state, of, count in reader.all(_LISTING.count_ended):
        if flow in (None, of):
            found[state] += count
    if flow is None:
        found.update(dict(reader.all(_LISTING.count_open)))
    else:
        found.update(dict(reader.all(_LISTING.count_open_of_flow, {"flow": flow, "reach": COUNTED})))
    return dict(found)


def open_counts(reader: Reader) -> dict[str, int]:
    """How many open runs are in each state."""
    return dict(reader.all(_LISTING.count_open))


def waiting_groups(reader: Reader) -> list[Waiting]:
    """What the newest waiting runs wait for, the most common first."""
    groups: dict[tuple[str, str, str], Waiting] = {}
    for flow, reason, location, count, next_at, since in reader.all(_LISTING.waiting_groups, {"reach": GROUPED}):
        one = Waiting(
            flow=flow,
            reason=general_reason(reason),
            location=location,
            count=count,
            next_at=None if next_at is None else to_datetime(next_at),
            since=to_datetime(since),
        )
        key = (one.flow, one.reason, one.location)
        groups[key] = _merged(groups[key], one) if key in groups else one
    return sorted(groups.values(), key=lambda one: (-one.count, one.flow, one.reason))


def general_reason(reason: str) -> str:
    """A reason without what is different in each run: ids of children and numbers of attempts."""
    parts = (_general_part(part) for part in reason.split(", "))
    return ", ".join(dict.fromkeys(part for part in parts if part))


def _general_part(part: str) -> str:
    if part.startswith("run '"):
        return "child run"
    return "" if part.startswith("attempt ") else part


def _merged(one: Waiting, other: Waiting) -> Waiting:
    due = [item.next_at for item in (one, other) if item.next_at is not None]
    return Waiting(
        flow=one.flow,
        reason=one.reason,
        location=one.location,
        count=one.count + other.count,
        next_at=min(due, default=None),
        since=min(one.since, other.since),
    )


def newest(reader: Reader) -> RunView | None:
    """The run that was created last."""
    found = _pks(reader, _LISTING.newest, {"before": _BEYOND_ALL, "count": 1})
    return _view(reader, found[0]) if found else None


def newest_in(reader: Reader, state: RunState, count: int) -> tuple[RunView, ...]:
    """The newest open runs in a state."""
    parameters: dict[str, SqlValue] = {"state": state, "flow": None, "pattern": None}
    parameters |= {"before": _BEYOND_ALL, "floor": 0, "count": count}
    return tuple(_view(reader, pk) for pk in _pks(reader, _LISTING.newest_open_where, parameters))


def failures_since(reader: Reader, now: Instant, age: timedelta, count: int) -> Failures:
    parameters: dict[str, SqlValue] = {"since": now - to_micros(age), "count": count}
    total = reader.one(_LISTING.count_failed_since, parameters)
    latest = tuple(_view(reader, pk) for pk in _pks(reader, _LISTING.failed_since, parameters))
    return Failures(count=total[0] if total else 0, latest=latest)


def due_next(reader: Reader, count: int) -> tuple[RunView, ...]:
    """The runs for which something falls due next."""
    return tuple(_view(reader, pk) for pk in _pks(reader, _LISTING.due_next, {"count": count}))
