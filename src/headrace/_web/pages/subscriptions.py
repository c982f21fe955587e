"""Subscriptions: how far each is, what it holds, and giving it a part of the log once more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Annotated
from urllib.parse import unquote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Path
from starlette.responses import Response

from headrace._app.subscription_detail import COUNTED, Range, first_held, range_of, subscription_detail
from headrace._authoring.trigger import Trigger
from headrace._base.clock import from_datetime
from headrace._ports.database import Reader
from headrace._web.pages.frame import Frame, InFrame, page_router
from headrace._web.pages.links import page_link
from headrace._web.pages.posted import Posted
from headrace.errors import NotFound, ValueRefused

router = page_router()

Name = Annotated[str, Path()]


@router.get("/subscriptions")
async def subscriptions(frame: InFrame) -> Response:
    app = frame.app
    return await frame.show(
        "subscriptions.html",
        lambda reader: {"subscriptions": app.subscriptions_in(reader), "next_held": first_held(reader)},
        live=True,
    )


@router.get("/subscriptions/{name}")
async def subscription(frame: InFrame, name: Name, replayed: str = "") -> Response:
    return await _show(frame, unquote(name), replayed=replayed)


@router.post("/subscriptions/{name}/pause")
async def pause(frame: InFrame, name: Name) -> Response:
    await frame.app.pause_subscription(unquote(name))
    return frame.to(f"/subscriptions/{name}")


@router.post("/subscriptions/{name}/resume")
async def resume(frame: InFrame, name: Name) -> Response:
    await frame.app.resume_subscription(unquote(name))
    return frame.to(f"/subscriptions/{name}")


@router.post("/subscriptions/{name}/replay")
async def replay(frame: InFrame, name: Name, posted: Posted) -> Response:
    """Without ``sure`` only which events it would be is shown."""
    known = unquote(name)
    trigger = _trigger(frame, known)
    try:
        after, since, until = _position(posted, "after"), _moment(posted), _position(posted, "until")
    except ValueRefused as refused:
        return await _show(frame, known, asked=posted, refusal=str(refused), status=422)
    if posted.get("sure"):
        done = await frame.app.replay(known, after=after or 0, until=until)
        return frame.to(page_link(f"/subscriptions/{name}", replayed=done.name))
    since_at = None if since is None else from_datetime(since)
    found = await frame.ask(
        lambda reader: range_of(
            reader, trigger.patterns, after=None if since_at is not None else after, since=since_at, until=until
        )
    )
    return await _show(frame, known, asked=posted, rehearsed=found)


def _trigger(frame: Frame, name: str) -> Trigger:
    trigger = frame.app.subscribed.get(name)
    if trigger is None:
        raise NotFound(f"there is no subscription {name!r} here; /subscriptions lists them")
    return trigger


async def _show(
    frame: Frame,
    name: str,
    *,
    asked: Mapping[str, str] | None = None,
    rehearsed: Range | None = None,
    refusal: str = "",
    replayed: str = "",
    status: int = 200,
) -> Response:
    reached = frame.app.engine.delivery.position_of(name)
    trigger = frame.app.subscribed.get(name)

    def ask(reader: Reader) -> Mapping[str, object]:
        detail = subscription_detail(reader, name, reached=reached)
        everything = frame.app.subscriptions_in(reader)
        view = next(one for one in everything if one.name == name)
        return {"detail": detail, "view": view, "replays": [one for one in everything if one.name in detail.replays]}

    return await frame.show(
        "subscription.html",
        ask,
        live=asked is None,
        status=status,
        name=name,
        retry=None if trigger is None else trigger.retry,
        asked=asked or {},
        rehearsed=rehearsed,
        refusal=refusal,
        replayed=replayed,
        counted=COUNTED,
    )


def _position(posted: Mapping[str, str], field: str) -> int | None:
    text = posted.get(field, "").strip()
    if not text:
        return None
    if not text.isdecimal() or len(text) > 18:
        raise ValueRefused(f"{text[:40]!r} is no position; a position is the number of an event in the log")
    return int(text)


def _moment(posted: Mapping[str, str]) -> datetime | None:
    text = posted.get("since", "").strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=_zone(posted.get("zone", "UTC")))
    except ValueError as error:
        raise ValueRefused(f"{text[:40]!r} is no time; write it like 2026-11-19T08:30") from error


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueRefused(f"{name[:40]!r} is no time zone that is known here; choose UTC") from error
