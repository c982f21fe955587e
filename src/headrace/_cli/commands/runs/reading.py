"""What needs only the file: ``ls``, ``show``, ``history``."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import click

from headrace._app.inspection import detail_of, history_of, page_of_runs
from headrace._app.view import ErrorText, FailedAttempt, HistoryEntry, RunDetail, RunView, to_plain
from headrace._base.clock import SystemClock, to_datetime
from headrace._base.wording import duration
from headrace._cli.screen import Screen, ago, clock_time, common, due, short_json
from headrace._cli.store_file import open_to_look, store_option
from headrace._runs.model import RunState
from headrace._runs.store import counts
from headrace._store.location import Location

_PAGE = 1_000
_LONGEST_TEXT = 4_000


@click.command()
@click.option("--state", type=click.Choice([state.value for state in RunState]), help="Only runs in this state.")
@click.option("--flow", metavar="NAME", help="Only runs of this flow: pipeline.flow, or flow.")
@click.option("--search", metavar="TEXT", help="Only runs with this in their id.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@click.option("--all", "also_ended", is_flag=True, help="Also runs that have ended.")
@store_option
@common
def ls(
    screen: Screen,
    store: Location,
    state: str | None,
    flow: str | None,
    search: str | None,
    limit: int,
    also_ended: bool,
) -> None:
    """List runs, the newest first; by default those that are open."""
    only_open = not also_ended and state is None
    with open_to_look(screen, store) as reader:
        page = reader.read(
            lambda rows: page_of_runs(rows, flow=flow, state=state, search=search, only_open=only_open, count=limit)
        )
        totals = reader.read(counts) if not page.runs and not screen.as_json else {}
    if screen.as_json:
        screen.give(to_plain(page))
    elif page.runs:
        screen.table(("STATE", "RUN", "FLOW", "SINCE", "WHY", "WHERE"), list(map(_row, page.runs)), state=0)
        if page.next is not None:
            screen.note(f"There are more; --limit {limit * 10} shows them.")
    else:
        screen.note(_nothing(totals, filtered=bool(state or flow or search)))


def _row(run: RunView) -> tuple[str, ...]:
    now = _now()
    until = due(run.next_at, now)
    why = f"{run.reason}, {until}" if run.reason and until else run.reason or until
    return run.state, name_of(run), run.flow, ago(run.since, now), why, short_place(run.location)


def name_of(run: RunView) -> str:
    return run.id if run.number == 1 else f"{run.id}#{run.number}"


def short_place(location: str) -> str:
    """The last two parts of a path say enough in a table."""
    return "/".join(location.split("/")[-2:])


def _nothing(totals: dict[str, int] | object, *, filtered: bool) -> str:
    found = dict(totals) if isinstance(totals, dict) else {}
    if not found:
        return "There are no runs yet; `headrace runs start FLOW` starts one."
    known = ", ".join(f"{count} {state}" for state, count in found.items())
    return f"No run {'fits' if filtered else 'is open'}. The store has {known}; --all shows those that have ended."


@click.command()
@click.argument("run")
@store_option
@common
def show(screen: Screen, run: str, store: Location) -> None:
    """Show all that is known of a RUN, but its history."""
    with open_to_look(screen, store) as reader:
        detail = reader.read(lambda rows: detail_of(rows, run))
    if screen.as_json:
        screen.give(to_plain(detail))
    else:
        screen.facts(_facts(detail))


def _facts(detail: RunDetail) -> list[tuple[str, str]]:
    run, now = detail.run, _now()
    pairs = [
        ("Run", name_of(run)),
        ("Flow", run.flow),
        ("State", run.state),
        ("Since", f"{clock_time(run.since)} ({ago(run.since, now)} ago)"),
    ]
    pairs += [("Why", run.reason), ("Where", run.location)]
    if run.next_at is not None:
        pairs.append(("Due", f"{clock_time(run.next_at)} ({due(run.next_at, now)})"))
    pairs += [
        ("Created", clock_time(run.created_at)),
        ("Started", clock_time(run.started_at)),
        ("Ended", clock_time(run.finished_at)),
    ]
    pairs.append(("Deadline", clock_time(detail.deadline_at)))
    if detail.continued_as is not None:
        pairs.append(("Continued as", f"{run.id}#{detail.continued_as}"))
    if detail.parent is not None:
        pairs.append(("Parent", f"{detail.parent.id}#{detail.parent.number} ({detail.parent.state})"))
    pairs += [("Child", f"{child.id}#{child.number} ({child.state})") for child in detail.children[:20]]
    if len(detail.children) > 20:
        pairs.append(("Child", f"and {len(detail.children) - 20} more"))
    pairs.append(("Input", _text(detail.input)))
    if run.state == RunState.COMPLETED:
        pairs.append(("Result", _text(detail.result)))
    if detail.error is not None:
        pairs.append(("Error", error_text(detail.error)))
    pairs += [
        ("Message", f"{message.topic} {short_json(message.value)}, not received yet") for message in detail.messages
    ]
    pairs += [("Progress", f"step {item.command}: {short_json(item.value)}") for item in detail.progress]
    pairs += [("Failed", _attempt_text(attempt, now)) for attempt in detail.retrying]
    pairs += [("Noted", f"{clock_time(item.at)} {item.name}: {item.detail}") for item in detail.incidents]
    return pairs


def _text(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return (
        text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… ({len(text)} characters; --json has them all)"
    )


def error_text(error: ErrorText) -> str:
    causes = [f"because of {cause}" for cause in error.causes]
    return "\n".join([error.short, *causes, *error.traceback.rstrip().splitlines()])


def _attempt_text(attempt: FailedAttempt, now: datetime) -> str:
    again = f"; again {due(attempt.next_at, now)}" if attempt.next_at else ""
    return f"{attempt.step}, attempt {attempt.attempt}: {attempt.error.short}{again}"


@click.command()
@click.argument("run")
@store_option
@common
def history(screen: Screen, run: str, store: Location) -> None:
    """Show what entered a RUN, in order, with all attempts and how long each took."""
    entries: list[HistoryEntry] = []
    with open_to_look(screen, store) as reader:
        page = reader.read(lambda rows: history_of(rows, run, count=_PAGE))
        entries += page.entries
        while page.next is not None:
            after, number = page.next, page.run.number
            page = reader.read(lambda rows: history_of(rows, page.run.id, number, after=after, count=_PAGE))  # noqa: B023
            entries += page.entries
    if screen.as_json:
        screen.give(to_plain(replace(page, entries=tuple(entries))))
        return
    began = page.run.created_at
    lines = [line for entry in entries for line in lines_of(entry, began)]
    lines += [_failure_line(attempt, began) for attempt in page.retrying]
    if lines:
        screen.table(HISTORY_HEAD, lines, state=3)
    else:
        screen.note("Nothing has entered this run yet.")


HISTORY_HEAD = ("AT", "WHAT", "TRY", "OUTCOME", "TOOK", "VALUE")


def lines_of(entry: HistoryEntry, began: datetime) -> list[tuple[str, ...]]:
    """A row for each failed attempt, and one for what came of it."""
    what = f"{entry.kind} {entry.name}".strip()
    shown = entry.error.short if entry.error else "" if entry.value is None else short_json(entry.value)
    took = duration(entry.at - entry.started_at) if entry.kind == "step" and entry.outcome != "begun" else ""
    tries = str(entry.attempt) if entry.kind == "step" else ""
    last = (f"+{duration(entry.at - began)}", what, tries, entry.outcome, took, shown)
    earlier = [one for one in entry.failures if not (entry.outcome == "error" and one.attempt == entry.attempt)]
    return [*(_failure_line(attempt, began) for attempt in earlier), last]


def _failure_line(attempt: FailedAttempt, began: datetime) -> tuple[str, ...]:
    took = duration(attempt.at - attempt.started_at)
    return (
        f"+{duration(attempt.at - began)}",
        f"step {attempt.step}",
        str(attempt.attempt),
        "failed",
        took,
        attempt.error.short,
    )


def _now() -> datetime:
    return to_datetime(SystemClock().now())
