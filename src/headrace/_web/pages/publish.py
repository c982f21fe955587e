"""Publish an event from a form: first what it would do, then the event."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

from headrace._access.model import Scope
from headrace._app.event_listing import topics_in
from headrace._app.event_questions import event_named
from headrace._app.rehearsal import Rehearsal, rehearse
from headrace._events.model import make_event_id
from headrace._ports.database import Reader
from headrace._web.demand import demands
from headrace._web.pages.frame import InFrame, page_router
from headrace._web.pages.links import event_link, page_link
from headrace._web.pages.posted import Posted
from headrace.errors import ValueRefused

router = page_router()

_FIELDS = ("topic", "subject", "data", "id")


@router.get("/publish")
@demands(Scope.OPERATE)
async def form(frame: InFrame, topic: str = "", subject: str = "", like: str = "") -> Response:
    """``like`` fills the form with what an event said; the new one gets an id of its own."""
    given = {"topic": topic, "subject": subject, "data": "", "id": ""}
    if like:
        model = await frame.ask(lambda reader: event_named(reader, like))
        data = "" if model.data is None else json.dumps(model.data, indent=2, ensure_ascii=False)
        given |= {"topic": model.topic, "subject": model.subject, "data": data}
    return await _show(frame, given)


@router.post("/publish")
async def publish(frame: InFrame, posted: Posted) -> Response:
    """Without ``sure`` only what would happen is shown. The id is chosen before, so that pressing twice publishes once."""
    given = {name: posted.get(name, "").strip() for name in _FIELDS}
    if posted.get("change"):
        return await _show(frame, given)
    given["id"] = given["id"] or make_event_id(frame.app.clock.now())
    try:
        data = _data(given["data"])
        if not posted.get("sure"):
            found = await frame.ask(lambda reader: _rehearsed(frame, reader, given, data))
            return await _show(frame, given, rehearsal=found)
        published = await frame.app.publish(
            given["topic"], data, subject=given["subject"], id=given["id"], source="dashboard", plain=True
        )
    except ValueRefused as refused:
        return await _show(frame, given, refusal=str(refused), status=422)
    told = "known" if published.duplicate else "published"
    return frame.to(page_link(event_link(published.id, published.position), told=told))


def _rehearsed(frame: InFrame, reader: Reader, given: Mapping[str, str], data: object) -> Rehearsal:
    return rehearse(frame.app, reader, given["topic"], data, subject=given["subject"], id=given["id"])


def _data(text: str) -> object:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueRefused(f'the data is no JSON ({error}); a text stands in quotes, for example "yes"') from error


async def _show(
    frame: InFrame,
    given: Mapping[str, str],
    *,
    rehearsal: Rehearsal | None = None,
    refusal: str = "",
    status: int = 200,
) -> Response:
    catalogue = frame.app.registry.catalogue
    declared = {*catalogue.topics.types, *catalogue.lifecycles.by_topic}
    return await frame.show(
        "publish.html",
        lambda reader: {"topics": sorted({*topics_in(reader), *declared})},
        status=status,
        given=given,
        rehearsal=rehearsal,
        refusal=refusal,
    )
