"""What goes on at this moment, and what needs somebody."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta

from starlette.responses import Response

from headrace._app.event_view import SubscriptionView
from headrace._app.examination import size_of_store
from headrace._app.listing import due_next, failures_since, newest_in, open_counts, waiting_groups
from headrace._app.subscription_detail import MANY, trouble
from headrace._base.clock import from_datetime
from headrace._ports.database import Reader
from headrace._runs.model import RunState
from headrace._web.pages.chart import columns
from headrace._web.pages.frame import InFrame, page_router

router = page_router()

_AN_HOUR = timedelta(hours=1)
_LISTED = 8
_GROUPS = 12


@router.get("/")
async def now(frame: InFrame) -> Response:
    app = frame.app
    beat = frame.studio.pulse.beat()
    at = from_datetime(app.now())
    running = await frame.ask(lambda reader: newest_in(reader, RunState.RUNNING, _LISTED))

    def ask(reader: Reader) -> Mapping[str, object]:
        groups = waiting_groups(reader)
        return {
            "counts": open_counts(reader),
            "groups": groups[:_GROUPS],
            "more_groups": max(0, len(groups) - _GROUPS),
            "grouped": sum(group.count for group in groups),
            "failures": failures_since(reader, at, _AN_HOUR, _LISTED),
            "due": due_next(reader, _LISTED),
            "octets": size_of_store(reader, app.location),
            "trouble": trouble(reader),
            "subscriptions": [] if app.failure else _worth_a_look(app.subscriptions_in(reader)),
        }

    return await frame.show(
        "now.html",
        ask,
        live=True,
        beat=beat,
        lag=frame.request.app.state.lag,
        chart=columns(beat.minutes),
        running=[(run, app.engine.doing(run.id)) for run in running],
        pid=os.getpid(),
        store=app.location,
        many=MANY,
    )


def _worth_a_look(subscriptions: list[SubscriptionView]) -> list[SubscriptionView]:
    """Those that wait, hold something or stand still, the worst first."""
    found = [one for one in subscriptions if one.held or one.dead or one.paused or one.behind or not one.declared]
    return sorted(found, key=lambda one: (-one.dead, -one.held, -one.behind))[:_LISTED]
