"""The log of events over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Response

from headrace._app.event_feed import EventFeed
from headrace._app.event_questions import event_named, history_page, page_of_events, topics_of
from headrace._app.event_view import EventPage, EventView, HistoryPage, ReplayView, SubscriptionView, TopicView
from headrace._app.view import to_plain
from headrace._events.filter import MAX_LENGTH
from headrace._events.model import Published, Subject
from headrace._events.topic import MAX_TOPIC, PATTERN
from headrace._web.given import LARGEST, App, Cursor, Id, LastEventId, Limit, Streams
from headrace._web.live import LiveEvent
from headrace._web.openapi import plain_text, problems
from headrace._web.schemas import PublishEvent, ReplayEvents, Switched
from headrace.errors import ValueRefused

router = APIRouter()

Topic = Annotated[
    str,
    Query(
        description="A topic, or a pattern: `*` is one word, `#` any number of words.",
        pattern=PATTERN,
        max_length=MAX_TOPIC,
    ),
]
Job = Annotated[str, Query(description="The lifecycle, if the subject is a job.")]
Where = Annotated[
    str,
    Query(
        description="A filter on the event, its data as they stand in the log.",
        max_length=MAX_LENGTH,
        examples=["data.parcels > 1"],
    ),
]
After = Annotated[
    int | None,
    Query(
        ge=0, le=LARGEST, description="Begin behind this position, 0 being the beginning; by default with what comes."
    ),
]

_STREAM = """\
id: 311
event: event
data: {"id": "fulfil-17/1/4", "topic": "order.packed", "subject": "17", "job": "order", "position": 311, ...}

: still here

id: 1420

"""


@router.get("")
async def list_events(app: App, topic: Topic = "#", cursor: Cursor = None, limit: Limit = 100) -> EventPage:
    """Events, the newest first."""
    return app.database.read(lambda reader: page_of_events(reader, topic=topic, before=cursor, count=limit))


@router.post("", status_code=201)
async def publish_event(app: App, body: PublishEvent) -> Published:
    """Append an event; it is on disk when this answers. An id that was published before gets the first answer again."""
    return await app.publish(
        body.topic, body.data, subject=body.subject, id=body.id, source=body.source, time=body.time, plain=True
    )


@router.get("/topics")
async def list_topics(app: App) -> list[TopicView]:
    """Every topic in the log."""
    return list(app.database.read(topics_of))


# Before the events by id. An event that is called so is asked for as /api/events/%73tream, or by its position.
@router.get(
    "/stream", response_class=Response,
    responses={200: plain_text("Server-sent events, until either side ends it.", kind="text/event-stream", example=_STREAM)},
)  # fmt: skip
async def stream_events(
    app: App,
    streams: Streams,
    topic: Topic = "#",
    subject: Annotated[str | None, Query(description="Only what is about it.")] = None,
    job: Annotated[str | None, Query(description="Only what is about jobs of this lifecycle.")] = None,
    where: Where = "",
    after: After = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Events in the order of the log, each once: those that are there behind a position, then those that come, as server-sent events.

    `event` carries an EventView, and the id of each message is a position in the log: a reader that comes back with it as
    `Last-Event-ID` has missed nothing and gets nothing twice, also when the server was killed meanwhile. A message of an id alone
    says how far the log was looked at. `missed` says that the position is none of this log: the store was replaced by an older one.
    """
    begin = after if last_event_id is None else _position(last_event_id)
    return streams.answer(_events(app.follow(topic, subject=subject, job=job, where=where, after=begin)))


def _position(last_event_id: str) -> int:
    if not (last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < 19):
        raise ValueRefused(
            f"Last-Event-ID is {last_event_id[:80]!r}; it has to be a position, as the ids of this stream are"
        )
    return int(last_event_id)


async def _events(feed: EventFeed) -> AsyncIterator[LiveEvent]:
    try:
        async for batch in feed:
            if batch.missed:
                yield LiveEvent(event="missed", data="{}")
            for event in batch.events:
                yield LiveEvent(event="event", data=json.dumps(to_plain(event)), id=str(event.position))
            if not batch.events or batch.events[-1].position < batch.position:
                yield LiveEvent(data=None, id=str(batch.position))
    finally:
        feed.close()


@router.get("/history")
async def subject_history(
    app: App, subject: str, job: Job = "", cursor: Cursor = None, limit: Limit = 100
) -> HistoryPage:
    """The events of a subject, the newest first; `event_count` counts all of them."""
    about = Subject(job, subject)
    return app.database.read(lambda reader: history_page(reader, about, before=cursor, count=limit))


@router.get("/subscriptions")
async def list_subscriptions(app: App) -> list[SubscriptionView]:
    """Every subscription, how far it is and what it could not handle."""
    return await app.subscriptions()


@router.post("/subscriptions/{id}/pause", responses=problems(404))
async def pause_subscription(app: App, id: Id) -> Switched:
    """Let a subscription end what it does now, and begin nothing new."""
    await app.pause_subscription(id)
    return Switched(name=id, paused=True)


@router.post("/subscriptions/{id}/resume", responses=problems(404, 409))
async def resume_subscription(app: App, id: Id) -> Switched:
    """Let a paused subscription go on where it stopped."""
    await app.resume_subscription(id)
    return Switched(name=id, paused=False)


@router.post("/subscriptions/{id}/replay", responses=problems(404))
async def replay_events(app: App, id: Id, body: ReplayEvents) -> ReplayView:
    """Give a subscription the events of a range once more, beside its ordinary work."""
    return await app.replay(id, after=body.after, since=body.since, until=body.until, dry_run=body.dry_run)


@router.get("/{id}", responses=problems(404))
async def show_event(app: App, id: Id) -> EventView:
    """One event, by its id or its position."""
    return app.database.read(lambda reader: event_named(reader, id))
