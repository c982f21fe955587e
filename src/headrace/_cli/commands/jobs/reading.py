"""What needs only the file: ``ls`` and ``show``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

import click

from headrace._app.event_questions import job_detail, page_of_jobs
from headrace._app.event_view import JobDetail, JobView
from headrace._app.view import to_plain
from headrace._base.clock import SystemClock, to_datetime
from headrace._cli.commands.events.reading import tell_history
from headrace._cli.screen import Screen, ago, clock_time, common, long_json, short_json
from headrace._cli.store_file import open_to_look, store_option
from headrace._jobs.store import counts
from headrace._store.location import Location


@click.command()
@click.argument("lifecycle", required=False)
@click.option("--state", metavar="STATE", help="Only jobs in this state.")
@click.option("--search", metavar="TEXT", help="Only jobs with this in their id.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@store_option
@common
def ls(
    screen: Screen, lifecycle: str | None, state: str | None, search: str | None, limit: int, store: Location
) -> None:
    """List jobs, the one that moved last first."""
    with open_to_look(screen, store) as reader:
        page = reader.read(
            lambda rows: page_of_jobs(rows, lifecycle=lifecycle, state=state, search=search, count=limit)
        )
        totals = reader.read(counts) if not page.jobs and not screen.as_json else {}
    if screen.as_json:
        screen.give(to_plain(page))
    elif page.jobs:
        now = to_datetime(SystemClock().now())
        screen.table(("STATE", "LIFECYCLE", "ID", "GENERATION", "SINCE", "DATA"), [_row(job, now) for job in page.jobs])
        if page.next is not None:
            screen.note(f"There are more; --limit {limit * 10} shows them.")
    else:
        screen.note(_nothing(totals))


def _row(job: JobView, now: datetime) -> tuple[str, ...]:
    data = "" if job.data is None else short_json(job.data)
    return job.state, job.lifecycle, job.id, str(job.generation), ago(job.updated_at, now), data


def _nothing(totals: Mapping[tuple[str, str], int]) -> str:
    if not totals:
        return "There are no jobs yet; an event opens one, if a Lifecycle declares its topic for that."
    known: defaultdict[str, list[str]] = defaultdict(list)
    for (lifecycle, state), number in totals.items():
        known[lifecycle].append(f"{number} {state}")
    return "No job fits. The store has " + "; ".join(f"{name}: {', '.join(states)}" for name, states in known.items())


@click.command()
@click.argument("lifecycle")
@click.argument("job_id", metavar="ID")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many events.")  # fmt: skip
@store_option
@common
def show(screen: Screen, lifecycle: str, job_id: str, limit: int, store: Location) -> None:
    """Show a job: its state, what happened to it, and the runs that worked for it.

    The newest event comes first. One that did not move the job says why.
    """
    with open_to_look(screen, store) as reader:
        detail = reader.read(lambda rows: job_detail(rows, lifecycle, job_id, count=limit))
    if screen.as_json:
        screen.give(to_plain(detail))
        return
    screen.facts(_facts(detail))
    screen.say()
    tell_history(screen, detail.history)


def _facts(detail: JobDetail) -> list[tuple[str, str]]:
    job = detail.job
    return [
        ("Job", f"{job.lifecycle}/{job.id}"),
        ("State", f"{job.state} (has ended)" if job.terminal else job.state),
        ("Generation", str(job.generation)),
        ("Opened", clock_time(job.created_at)),
        ("Moved", f"{clock_time(job.updated_at)} ({ago(job.updated_at, to_datetime(SystemClock().now()))} ago)"),
        ("Data", "" if job.data is None else long_json(job.data)),
        *[("Run", f"{run.id}#{run.number} ({run.state})") for run in detail.runs],
    ]
