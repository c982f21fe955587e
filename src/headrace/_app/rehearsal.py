"""What publishing an event would do, found out without publishing it."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._app.app import Headrace
from headrace._app.view import Json, read_json
from headrace._events.store import event_by_id
from headrace._events.topic import matches_any
from headrace._jobs.store import job_of
from headrace._ports.database import Reader


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """``job`` is the lifecycle of the job that it is about, or empty; ``reason`` says why it would not move it.

    ``subscriptions`` are those that read its topic, with what each starts; ``is_known``: there is an event of this id already.
    """

    topic: str
    subject: str
    job: str
    version: int
    data: Json
    before: str
    after: str
    reason: str
    subscriptions: tuple[tuple[str, str], ...]
    is_known: bool


def rehearse(app: Headrace, reader: Reader, topic: str, data: object, *, subject: str, id: str) -> Rehearsal:
    """Raises ValueRefused where the event could not be published."""
    new = app.engine.log.new_event(
        topic,
        data,
        subject=subject,
        event_id=id,
        source="dashboard",
        time=None,
        cause="",
        at=app.clock.now(),
        plain=True,
    )
    lifecycle = app.registry.catalogue.lifecycles.by_name.get(new.subject.kind)
    job = None if lifecycle is None else job_of(reader, new.subject)
    decision = None if lifecycle is None else lifecycle.decide(job, topic, None)
    return Rehearsal(
        topic=topic,
        subject=new.subject.id,
        job=new.subject.kind,
        version=new.version,
        data=read_json(new.data),
        before="" if job is None else job.state,
        after="" if decision is None or decision.state is None else decision.state,
        reason="" if decision is None else decision.reason,
        subscriptions=tuple(
            (name, f"starts flow {trigger.flow.name}" if trigger.flow is not None else "handles it")
            for name, trigger in app.subscribed.items()
            if matches_any(trigger.patterns, topic)
        ),
        is_known=event_by_id(reader, id) is not None,
    )
