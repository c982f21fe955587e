"""The log of events: what comes in, filtered by what stands in the address, one event, and the history of a subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import unquote

from fastapi import Path, Query
from starlette.responses import Response

from headrace._app.event_listing import REACH, READ, EventFilter, EventList, list_of_events, topics_in
from headrace._app.event_story import event_story, subject_story
from headrace._ports.database import Reader
from headrace._web.pages.frame import InFrame, page_router
from headrace.errors import ValueRefused

router = page_router()

_ROWS = 50
_VERDICTS = {"moved": True, "not": False}
Before = Annotated[int | None, Query(ge=1)]


@router.get("/events")
async def events(
    frame: InFrame,
    topic: str = "",
    subject: str = "",
    job: str = "",
    verdict: str = "",
    where: str = "",
    before: Before = None,
) -> Response:
    """``verdict``: ``moved`` or ``not``, for events that moved their job or did not; ``where`` is an expression."""
    wanted = EventFilter(
        topic=topic.strip(),
        subject=subject.strip(),
        job=job,
        applied=_VERDICTS.get(verdict),
        where=where.strip(),
    )

    def ask(reader: Reader) -> Mapping[str, object]:
        refusal = ""
        try:
            found = list_of_events(reader, wanted, before=before, count=_ROWS)
        except ValueRefused as refused:
            found, refusal = EventList(events=(), next=None, unfinished=False, whole=False), str(refused)
        return {"list": found, "refusal": refusal, "topics": topics_in(reader)}

    asked = {"topic": wanted.topic, "subject": wanted.subject, "job": job, "verdict": verdict, "where": wanted.where}
    return await frame.show(
        "events.html",
        ask,
        live=before is None,
        wanted=wanted,
        asked=asked,
        verdict=verdict,
        is_filtered=any(asked.values()),
        lifecycles=tuple(frame.app.registry.catalogue.lifecycles.by_name),
        before=before,
        reach=READ if wanted.where else REACH,
    )


@router.get("/events/{id}")
async def event(frame: InFrame, id: Annotated[str, Path()], told: str = "") -> Response:
    app = frame.app
    delivery = app.engine.delivery if app.failure is None else None
    triggers = app.subscribed
    lifecycles = app.registry.catalogue.lifecycles.by_name

    def ask(reader: Reader) -> Mapping[str, object]:
        reached = (lambda _: None) if delivery is None else delivery.position_of
        story = event_story(reader, unquote(id), triggers=triggers, lifecycles=lifecycles, reached=reached)
        return {"story": story, "event": story.event}

    return await frame.show("event.html", ask, live=True, told=told)


@router.get("/history")
async def history(frame: InFrame, subject: str = "", job: str = "", before: Before = None) -> Response:
    """The story of a subject; without one, a form that asks for it."""
    lifecycles = frame.app.registry.catalogue.lifecycles.by_name

    def ask(reader: Reader) -> Mapping[str, object]:
        story = subject_story(reader, subject, job, lifecycles=lifecycles, before=before, count=_ROWS)
        return {"story": story, "page": story.page}

    return await frame.show("history.html", ask, live=before is None, subject=subject, before=before)
