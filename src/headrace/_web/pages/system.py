"""The process, its store and its settings, and the flows that are loaded."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from starlette.responses import Response

from headrace._app.app import Headrace
from headrace._app.examination import (
    Finding,
    examine_bridge,
    examine_disk,
    examine_program,
    examine_server,
    examine_store,
    examine_sync,
    examine_watcher,
    size_of_store,
)
from headrace._app.inspection import latest_incidents
from headrace._authoring.contents import contents_of
from headrace._authoring.flow import Flow
from headrace._authoring.retry import to_timedelta
from headrace._authoring.step import Step
from headrace._base.wording import duration
from headrace._ports.database import Reader
from headrace._store.health import sqlite_version
from headrace._store.location import PostgresUrl
from headrace._web.pages.frame import InFrame, page_router
from headrace.errors import ConfigurationError, HeadraceError
from headrace.settings import Setting, read_settings

router = page_router()

_INCIDENTS = 20
_SECONDS_OF_WRITING = 0.3


class StepEntry(NamedTuple):
    """What a step says of itself, and how patiently it is tried."""

    name: str
    about: str
    policy: str


class FlowEntry(NamedTuple):
    """What a flow says of itself."""

    name: str
    about: str
    signature: str
    id_template: str
    timeout: str
    steps: tuple[StepEntry, ...]
    flows: tuple[str, ...]


@router.get("/system")
async def system(frame: InFrame, measure: str = "") -> Response:
    """With ``measure`` the disk is written to for a moment, to see how quickly it answers."""
    app = frame.app
    now = app.now()

    def ask(reader: Reader) -> Mapping[str, object]:
        return {
            "findings": list(_findings(reader, app, now, measure=bool(measure))),
            "incidents": latest_incidents(reader, _INCIDENTS),
            "octets": size_of_store(reader, app.location),
            "subscriptions": [] if app.failure else app.subscriptions_in(reader),
        }

    return await frame.show(
        "system.html",
        ask,
        store=app.location,
        pid=os.getpid(),
        versions={
            "Headrace": frame.request.app.version,
            "Python": platform.python_version(),
            "SQLite": sqlite_version(),
        },
        settings=_settings(frame),
        pipelines=_pipelines(app),
        measured=bool(measure),
    )


def _findings(reader: Reader, app: Headrace, now: datetime, *, measure: bool) -> Iterator[Finding]:
    yield from examine_program()
    try:
        if isinstance(app.location, PostgresUrl):
            yield from examine_server(app.location)
        else:
            yield from examine_disk(app.location)
            if measure:
                yield examine_sync(app.location, seconds=_SECONDS_OF_WRITING)
        yield from examine_store(reader, app.location, now, owned=True)
        yield from map(examine_bridge, app.bridges)
        yield from map(examine_watcher, app.watchers)
    except HeadraceError as error:
        yield Finding("fail", "store", str(error))
    except OSError as error:
        yield Finding("fail", "disk", f"{error.filename or app.location}: {error.strerror}")


def _settings(frame: InFrame) -> tuple[Setting, ...]:
    try:
        return tuple((frame.studio.settings or read_settings()).each())
    except ConfigurationError:  # a program that embeds Headrace need not care what stands in its environment
        return ()


def _pipelines(app: Headrace) -> dict[str, list[FlowEntry]]:
    return {pipeline.name: [_entry(app, flow) for flow in pipeline.flows] for pipeline in app.pipelines}


def _entry(app: Headrace, flow: Flow[Any, Any]) -> FlowEntry:
    contents = contents_of(flow)
    return FlowEntry(
        name=app.registry.name_of(flow),
        about=_first_line(flow.__doc__),
        signature=flow.shape.signature,
        id_template="" if flow.id_template is None else flow.id_template.template,
        timeout="" if flow.timeout is None else duration(flow.timeout),
        steps=tuple(map(_step, contents.steps)),
        flows=tuple(other.name for other in contents.flows),
    )


def _step(step: Step[Any, Any]) -> StepEntry:
    retry = step.retry
    words = {"process": "in a process", "thread": "in a thread", "transaction": "in a transaction"}
    told = [words[step.mode]] if step.mode in words else []
    if step.at_most_once:
        told.append("at most once")
    if retry.attempts != 1:
        tries = "tried until it succeeds" if retry.attempts is None else f"tried up to {retry.attempts} times"
        told.append(
            f"{tries}, first after {duration(to_timedelta(retry.first, what='first'))}, then x {retry.factor:g}"
        )
    if step.timeout is not None:
        told.append(f"at most {duration(step.timeout)} each")
    return StepEntry(name=step.name, about=_first_line(step.__doc__), policy=", ".join(told))


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
