"""What needs only the file: ``show``, ``history``, ``topics``."""

from __future__ import annotations

import click

from headrace._app.event_questions import event_named, history_page, jobs_called, topics_of
from headrace._app.event_view import EventView, HistoryPage
from headrace._app.view import to_plain
from headrace._base.wording import count
from headrace._cli.screen import Screen, clock_time, common, long_json, printable, short_json
from headrace._cli.store_file import open_to_look, store_option
from headrace._events.model import Subject
from headrace._store.location import Location

_LONGEST_DATA = 100


@click.command()
@click.argument("event_id", metavar="ID")
@store_option
@common
def show(screen: Screen, event_id: str, store: Location) -> None:
    """Show all of one event; ID is its id or its position."""
    with open_to_look(screen, store) as reader:
        event = reader.read(lambda rows: event_named(rows, event_id))
    if screen.as_json:
        screen.give(to_plain(event))
    else:
        screen.facts(facts_of(event))


def facts_of(event: EventView) -> list[tuple[str, str]]:
    happened, recorded = clock_time(event.time), clock_time(event.recorded_at)
    applied = {None: "", True: "yes", False: f"no: {event.reason}"}[event.applied]
    return [
        ("Event", event.id),
        ("Topic", event.topic),
        ("Subject", subject_of(event)),
        ("Position", f"{event.position} in the log, {event.sequence} of its subject"),
        ("Source", event.source),
        ("Time", happened),
        ("Recorded", recorded if recorded != happened else ""),
        ("Cause", event.cause),
        ("Version", str(event.version) if event.version != 1 else ""),
        ("Applied", applied),
        ("Generation", "" if event.generation is None else str(event.generation)),
        ("Data", long_json(event.data)),
    ]


def subject_of(event: EventView) -> str:
    """A job is called by its lifecycle and its id."""
    return str(Subject(event.job, event.subject))


def data_of(event: EventView) -> str:
    return "" if event.data is None else short_json(event.data, _LONGEST_DATA)


def applied_of(event: EventView) -> str:
    return {None: "", True: "yes", False: "no"}[event.applied]


@click.command()
@click.argument("subject")
@click.option("--job", metavar="LIFECYCLE", default="", help="The lifecycle, if the subject is a job.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@store_option
@common
def history(screen: Screen, subject: str, job: str, limit: int, store: Location) -> None:
    """Show what happened to a SUBJECT, the newest first.

    Where it is a job, every event says whether it moved the job, and if not, why.
    """
    with open_to_look(screen, store) as reader:
        page = reader.read(lambda rows: history_page(rows, Subject(job, subject), count=limit))
        called = reader.read(lambda rows: jobs_called(rows, subject)) if not page.events else ()
    if screen.as_json:
        screen.give(to_plain(page))
    elif page.events:
        tell_history(screen, page)
    else:
        screen.note(_nothing(subject, job, called))


def tell_history(screen: Screen, page: HistoryPage) -> None:
    if any(event.applied is not None for event in page.events):
        screen.table(
            ("SEQ", "TIME", "TOPIC", "GENERATION", "APPLIED", "WHY NOT", "DATA"),
            [_row_of_job(event) for event in page.events],
        )
    else:
        screen.table(("SEQ", "TIME", "TOPIC", "SOURCE", "DATA"), [_row(event) for event in page.events])
    if page.next is not None:
        screen.note(f"There are {page.event_count}; `headrace events history` shows more with --limit.")


def _row_of_job(event: EventView) -> tuple[str, ...]:
    generation = "" if event.generation is None else str(event.generation)
    return *_when_and_what(event), generation, applied_of(event), event.reason, data_of(event)


def _row(event: EventView) -> tuple[str, ...]:
    return *_when_and_what(event), event.source, data_of(event)


def _when_and_what(event: EventView) -> tuple[str, str, str]:
    return str(event.sequence), clock_time(event.time), event.topic


def _nothing(subject: str, job: str, called: tuple[str, ...]) -> str:
    others = [name for name in called if name != job]
    if others:
        hint = "; ".join(f"headrace events history {subject} --job {name}" for name in others)
        return f"No event is about {Subject(job, subject)}, but there is a job of that id: {hint}"
    return f"No event is about {Subject(job, subject)}."


@click.command()
@store_option
@common
def topics(screen: Screen, store: Location) -> None:
    """List the topics in the log, and how many events each has."""
    with open_to_look(screen, store) as reader:
        found = reader.read(topics_of)
    if screen.as_json:
        screen.give(to_plain(found))
    elif found:
        screen.table(("TOPIC", "EVENTS", "LAST"), [(one.topic, str(one.events), clock_time(one.last_at)) for one in found])  # fmt: skip
    else:
        screen.note(NO_EVENTS)


NO_EVENTS = "There are no events yet; `headrace events publish TOPIC --subject SUBJECT` publishes one."


def no_event_fits(pattern: str, known: int) -> str:
    return printable(f"No event fits {pattern!r}. The log has {count(known, 'topic')}: `headrace events topics`.")
