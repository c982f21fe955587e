"""The log of events over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from headrace._app.event_questions import event_named, history_page, page_of_events, topics_of
from headrace._app.event_view import EventPage, EventView, HistoryPage, ReplayView, SubscriptionView, TopicView
from headrace._events.model import Published, Subject
from headrace._web.given import App, Cursor, Id, Limit
from headrace._web.openapi import problems
from headrace._web.schemas import PublishEvent, ReplayEvents, Switched

router = APIRouter()

Topic = Annotated[str, Query(description="A topic, or a pattern: `*` is one word, `#` any number of words.")]
Job = Annotated[str, Query(description="The lifecycle, if the subject is a job.")]


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


@router.post("/subscriptions/{id}/resume", responses=problems(404))
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
