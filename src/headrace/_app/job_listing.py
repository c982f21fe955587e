"""Lists of jobs for people: filtered, counted, in pages, and quick however many jobs there are."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace._app.event_view import JobView
from headrace._events.model import Subject
from headrace._jobs.store import job_of
from headrace._ports.database import Reader, Row, SqlValue
from headrace._store.statements import load

_LISTING = load("headrace._jobs", "listing.sql")
_BEYOND_ALL = 2**62

REACH = 100_000
"""How many jobs one search looks through."""


@dataclass(frozen=True, kw_only=True)
class JobFilter:
    """Which jobs to list; ``text`` is a part of the id, in any case of its letters."""

    lifecycle: str = ""
    state: str = ""
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class JobList:
    """Jobs, the one that moved last first.

    ``next`` is the cursor of what follows, if anything does; ``unfinished``: the search has looked through enough for once. ``counts``
    are of all jobs of the lifecycles that are asked for, by lifecycle and state.
    """

    jobs: tuple[JobView, ...]
    next: int | None
    unfinished: bool
    counts: Mapping[str, Mapping[str, int]]


def list_of_jobs(
    reader: Reader,
    wanted: JobFilter,
    *,
    declared: Sequence[str] = (),
    before: int | None = None,
    count: int = 50,
) -> JobList:
    """``declared`` are the lifecycles of the code that is loaded; of them some may have no job yet."""
    start = _BEYOND_ALL if before is None else before
    names = tuple(dict.fromkeys((*declared, *lifecycles_in(reader))))
    counts = {name: counts_of(reader, name) for name in names if wanted.lifecycle in ("", name)}
    floor = _floor(reader, wanted, start)
    found = _newest(reader, wanted, counts, start, floor or 0, count + 1)
    page = [Subject(lifecycle, id) for _, lifecycle, id in found[:count]]
    following = found[count - 1][0] if len(found) > count else floor
    if before is None and wanted.text:
        page = list(dict.fromkeys([*(Subject(name, wanted.text) for name in counts), *page]))
    records = [record for subject in page if (record := job_of(reader, subject)) is not None]
    return JobList(
        jobs=tuple(JobView.of(record) for record in records if wanted.state in ("", record.state)),
        next=following,
        unfinished=following is not None and len(found) <= count,
        counts=counts,
    )


def lifecycles_in(reader: Reader) -> tuple[str, ...]:
    """The lifecycles that have jobs."""
    return tuple(name for (name,) in reader.all(_LISTING.lifecycle_names))


def counts_of(reader: Reader, lifecycle: str) -> dict[str, int]:
    """How many jobs of a lifecycle are in each state."""
    return dict(reader.all(_LISTING.states_of, {"lifecycle": lifecycle}))


def _floor(reader: Reader, wanted: JobFilter, before: int) -> int | None:
    if not wanted.text:
        return None
    row = reader.one(_LISTING.floor, {"before": before, "reach": REACH})
    return None if row is None else int(row[0])


def _newest(
    reader: Reader, wanted: JobFilter, counts: Mapping[str, Mapping[str, int]], before: int, floor: int, count: int
) -> list[Row]:
    parameters: dict[str, SqlValue] = {"before": before, "floor": floor, "count": count}
    parameters["part"] = wanted.text.lower() or None
    if not wanted.state and not wanted.lifecycle:
        return reader.all(_LISTING.newest, parameters)
    chosen = [(name, state) for name, states in counts.items() for state in states if wanted.state in ("", state)]
    of_each = (
        reader.all(_LISTING.newest_in_state, parameters | {"lifecycle": name, "state": state}) for name, state in chosen
    )
    return heapq.nlargest(count, (row for rows in of_each for row in rows))
