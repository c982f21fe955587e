"""Which run an event begins; the owner and the workers make the same one of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Protocol

from headrace._authoring.flow import Flow
from headrace._authoring.identity import check_id, token
from headrace._authoring.trigger import Trigger
from headrace._events.model import Event, Subject
from headrace._jobs.model import JobRecord
from headrace._jobs.store import as_job
from headrace._runs.model import JobOfRun, NewRun
from headrace.errors import DefinitionError


class NewRunOf(Protocol):
    def __call__(
        self, flow: Flow[Any, Any], run_id: str, arguments: bytes, *, begun_at_pos: int, job: JobOfRun | None
    ) -> NewRun: ...


def run_for(
    trigger: Trigger, event: Event[Any], new_run: NewRunOf, job_of: Callable[[Subject], JobRecord | None]
) -> NewRun | None:
    """The run that an event starts; None if it is to start none."""
    flow = trigger.flow
    assert flow is not None
    job = None
    if trigger.job is not None:
        if event.job != trigger.job.name or event.generation is None:
            raise DefinitionError(
                f"{trigger!r} works for jobs of {trigger.job.name!r}, and event {event.id!r} is about none of them"
            )
        if not event.applied:
            return None  # the job did not move, so there is nothing to be done for it
        job = JobOfRun(event.job, event.subject, event.generation, owner=True)
    given = None
    if trigger.job is not None and trigger.takes_job:
        record = job_of(Subject(event.job, event.subject))
        assert record is not None
        given = as_job(record, trigger.job)
    arguments = trigger.arguments(event, given)
    run_id = flow.run_id_for(arguments) or f"{flow.name}-{token(_number_of(event.id))}"
    return new_run(flow, check_id(run_id), arguments, begun_at_pos=event.position, job=job)


def _number_of(event_id: str) -> int:
    """A large number for the id of a run without a template: one event starts one run, however often it comes."""
    return int.from_bytes(hashlib.sha256(event_id.encode()).digest()[:8])
