"""Questions about events, jobs and dead letters, answered from the store alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headrace._app.event_view import (
    DeadLetterPage,
    EventPage,
    EventView,
    HistoryPage,
    JobDetail,
    JobPage,
    JobView,
    PlainDeadLetter,
    SubscriptionView,
    TopicView,
)
from headrace._app.view import RunName
from headrace._base.clock import to_datetime
from headrace._events.model import Subject, base_name
from headrace._events.store import (
    SQL,
    all_cursors,
    count_dead,
    count_held,
    count_history,
    dead_letter,
    dead_letters,
    event_at,
    event_by_id,
    events_after,
    history_of,
    last_position,
    newest_events,
)
from headrace._events.topic import check_pattern, matches
from headrace._jobs.store import job_of, list_jobs
from headrace._ports.database import Reader
from headrace._store.statements import load
from headrace.errors import EventNotFound, JobNotFound, NotFound

if TYPE_CHECKING:
    from headrace._authoring.trigger import Trigger

_INSPECTION = load("headrace._runs", "inspection.sql")


def page_of_events(reader: Reader, *, topic: str = "#", before: int | None = None, count: int = 100) -> EventPage:
    """Events of a topic or pattern, the newest first; ``before`` is the ``next`` of the page before."""
    found = newest_events(reader, pattern=check_pattern(topic), before=before, count=count + 1)
    page = found[:count]
    return EventPage(events=tuple(map(EventView.of, page)), next=page[-1].position if len(found) > count else None)


def tail_of(reader: Reader, *, topic: str = "#", count: int = 100) -> tuple[list[EventView], int]:
    """The newest events in the order of the log, and where it ends: ``events_from`` goes on from there."""
    newest = newest_events(reader, pattern=check_pattern(topic), count=count)
    return [EventView.of(record) for record in reversed(newest)], last_position(reader)


def events_from(reader: Reader, after: int, *, topic: str = "#", count: int = 500) -> tuple[list[EventView], int]:
    """Events behind a position in the order of the log, and where to go on; for whoever follows it."""
    found = events_after(reader, after, count=count)
    reached = found[-1].position if found else after
    return [EventView.of(record) for record in found if matches(topic, record.topic)], reached


def event_named(reader: Reader, event_id: str) -> EventView:
    """An event by its id, or by its position."""
    record = event_by_id(reader, event_id)
    if record is None and event_id.isdigit() and len(event_id) < 19:
        record = event_at(reader, int(event_id))
    if record is None:
        raise EventNotFound(event_id)
    return EventView.of(record)


def history_page(
    reader: Reader, subject: Subject, *, before: int | None = None, after: int | None = None, count: int = 100
) -> HistoryPage:
    """The events of a subject, the newest first, or the oldest first behind ``after``; with how many there are in all."""
    found = history_of(reader, subject, after=after, before=before, count=count + 1)
    page = found[:count]
    return HistoryPage(
        subject=subject.id,
        job=subject.kind,
        event_count=count_history(reader, subject),
        events=tuple(map(EventView.of, page)),
        next=page[-1].sequence if len(found) > count else None,
    )


def jobs_called(reader: Reader, subject: str) -> tuple[str, ...]:
    """The lifecycles that have a job of this id in the log."""
    return tuple(kind for (kind,) in reader.all(SQL.kinds_of_subject, {"subject": subject}) if kind)


def topics_of(reader: Reader) -> tuple[TopicView, ...]:
    """Every topic in the log, with how many events it has."""
    found = []
    for topic, number, last in reader.all(SQL.topics):
        newest = event_at(reader, last)
        assert newest is not None
        found.append(TopicView(topic=topic, events=number, last_at=to_datetime(newest.at)))
    return tuple(found)


def page_of_jobs(
    reader: Reader,
    *,
    lifecycle: str | None = None,
    state: str | None = None,
    search: str | None = None,
    before: int | None = None,
    count: int = 100,
) -> JobPage:
    """Jobs, the one that moved last first; ``before`` is the ``next`` of the page before."""
    found = list_jobs(reader, lifecycle=lifecycle, state=state, search=search, before=before, count=count + 1)
    page = found[:count]
    return JobPage(jobs=tuple(map(JobView.of, page)), next=page[-1].position if len(found) > count else None)


def job_detail(reader: Reader, lifecycle: str, id: str, *, count: int = 100) -> JobDetail:
    """A job, its newest events, and the runs that worked for it."""
    subject = Subject(lifecycle, id)
    record = job_of(reader, subject)
    if record is None:
        raise JobNotFound(lifecycle, id)
    runs = reader.all(_INSPECTION.runs_of_job, {"kind": lifecycle, "id": id})
    return JobDetail(
        job=JobView.of(record),
        history=history_page(reader, subject, count=count),
        runs=tuple(RunName(id=run_id, number=number, flow=flow, state=state) for run_id, number, flow, state in runs),
    )


def subscriptions_in(
    reader: Reader,
    *,
    triggers: Mapping[str, Trigger] | None = None,
    reached: Callable[[str], int | None] = lambda _: None,
    working: Mapping[str, int] | None = None,
    troubles: Mapping[str, str] | None = None,
) -> list[SubscriptionView]:
    """Every subscription and replay. What they read, and what they do at this moment, is known to the owner alone."""
    held, dead, end = count_held(reader), count_dead(reader), last_position(reader)
    return [
        SubscriptionView.of(
            cursors,
            trigger=(triggers or {}).get(base_name(name)),
            held=held.get(name, 0),
            dead=dead.get(name, 0),
            end=end,
            reached=reached(name),
            working=(working or {}).get(name, 0),
            trouble=(troubles or {}).get(base_name(name), ""),
        )
        for name, cursors in all_cursors(reader).items()
    ]


def page_of_dead_letters(
    reader: Reader,
    *,
    subscription: str | None = None,
    state: str | None = "dead",
    before: int | None = None,
    count: int = 100,
) -> DeadLetterPage:
    """What subscriptions could not handle, the newest first."""
    found = dead_letters(reader, subscription=subscription, state=state, before=before, count=count + 1)
    page = found[:count]
    return DeadLetterPage(
        letters=tuple(map(PlainDeadLetter.of, page)), next=page[-1].pk if len(found) > count else None
    )


def dead_letter_of(reader: Reader, id: int) -> PlainDeadLetter:
    found = dead_letter(reader, id)
    if found is None:
        raise NotFound(f"there is no dead letter {id}; `headrace deadletters ls` lists them")
    return PlainDeadLetter.of(found)
