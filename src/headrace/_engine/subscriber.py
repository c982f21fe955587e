"""The engine of a worker: handles events beside the owner of a store, and runs no runs.

What its events begin, wake or stop stands in the database when they are handled; the owner hears of it and does it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

from headrace._authoring import guard
from headrace._authoring.context import pick
from headrace._authoring.flow import Flow
from headrace._authoring.pipeline import Registry
from headrace._authoring.trigger import Trigger
from headrace._base import log
from headrace._base.clock import to_micros
from headrace._engine.attempts import Attempts
from headrace._engine.beginnings import run_for
from headrace._engine.delivery import Delivery
from headrace._engine.event_log import EventLog
from headrace._engine.journal import Journal
from headrace._engine.memory import Limits
from headrace._engine.parts import Surroundings
from headrace._engine.tally import Tally
from headrace._engine.timers import Timers
from headrace._events.model import Event, Published, Subject
from headrace._events.sharing import Worker, call_owner
from headrace._jobs.lifecycle import JobRef
from headrace._jobs.model import JobRecord
from headrace._jobs.store import job_of
from headrace._ports.clock import Clock
from headrace._ports.database import Database
from headrace._runs.model import Begun, JobOfRun, NewRun, RunState


class Subscriber:
    def __init__(
        self,
        *,
        registry: Registry,
        database: Database,
        clock: Clock,
        share: Worker,
        wired: Mapping[str, tuple[object, ...]],
        limits: Limits,
    ) -> None:
        self.failure: BaseException | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._registry = registry
        self._database = database
        self._clock = clock
        self._limits = limits
        self._wired = dict(wired)
        self._is_open = False
        self._chance = random.Random(random.SystemRandom().getrandbits(256))
        self._log = EventLog(registry.catalogue, call=call_owner)
        self._log.wake, self._log.stop = _left_to_the_owner, _left_to_the_owner
        self._journal = Journal(
            database, clock, wake=_left_to_the_owner, fail=self.fail, begin=self._log.begin, changed=_left_to_the_owner
        )
        self._timers = Timers(clock, due_runs=lambda _until, _after, _count: [], wake=_left_to_the_owner)
        self._attempts = Attempts(
            clock=clock, timers=self._timers, wiring=self._use, slots=limits.loop_steps, threads=limits.thread_steps,
            processes=limits.process_steps, tally=Tally(),
        )  # fmt: skip
        self._attempts.publish = self._publish
        self.delivery = Delivery(
            Surroundings(
                keeper=self, registry=registry, database=database, journal=self._journal, timers=self._timers, clock=clock,
                attempts=self._attempts, log=self._log, outlets={},
            ),
            fail=self.fail, share=share, is_owner=False, lease_seconds=limits.lease_seconds,
        )  # fmt: skip

    # Life

    def open(self) -> None:
        guard.install()
        self._is_open = True
        self.delivery.open()
        self._database.listen(self._heard)

    async def close(self) -> None:
        """Let handlers end for a while, then let others go on."""
        if not self._is_open:
            return
        self._is_open = False
        self.delivery.drain()
        await self._attempts.drain(self._limits.drain_seconds)
        await self.delivery.release()
        self._leave()

    def kill(self) -> None:
        """Leave as a killed process would; for tests of what others do then."""
        self._is_open = False
        self._attempts.forsake()
        self._database.abandon()
        self._leave()

    def fail(self, error: BaseException) -> None:
        """The store cannot be trusted any more: stop at once, and say so."""
        if self.failure is not None:
            return
        self._is_open = False
        self.failure = error
        log.error("worker.failed", error=type(error).__name__, detail=str(error))
        self._attempts.forsake()
        self._leave()
        if not self.failed.done():
            self.failed.set_result(None)

    def _leave(self) -> None:
        self.delivery.close()
        self._timers.close()
        self._journal.close()

    @property
    def under_way(self) -> int:
        """How many handlers are being called."""
        return len(self._attempts.under_way)

    def _heard(self, what: str) -> None:
        if what == "parts":
            self.delivery.look()
        elif what == "log":
            self.delivery.wake()

    # What deliveries and handlers ask for

    def run_for(self, trigger: Trigger, event: Event[Any]) -> NewRun | None:
        return run_for(trigger, event, self._new_run, self._job_of)

    def _job_of(self, subject: Subject) -> JobRecord | None:
        return self._database.read(lambda reader: job_of(reader, subject))

    def _new_run(
        self, flow: Flow[Any, Any], run_id: str, arguments: bytes, *, begun_at_pos: int, job: JobOfRun | None
    ) -> NewRun:
        at = self._clock.now()
        return NewRun(
            id=run_id,
            flow=self._registry.name_of(flow),
            input=arguments,
            seed=self._chance.getrandbits(62),
            state=RunState.QUEUED,
            at=at,
            deadline_at=None if flow.timeout is None else at + to_micros(flow.timeout),
            begun_at_pos=begun_at_pos,
            job=job,
        )

    def adopt(self, begun: Begun, new: NewRun) -> None:
        log.info("run.handed_over", run_id=begun.id, flow=new.flow)

    async def _publish(
        self, topic: str, data: object, *, subject: str | JobRef, event_id: str, source: str, time: Any, cause: str
    ) -> Published:
        new = self._log.new_event(
            topic, data, subject=subject, event_id=event_id, source=source, time=time, cause=cause, at=self._clock.now()
        )
        publication = await self._database.write(lambda tx: self._log.write(tx, new))
        self._log.told(publication)
        return publication.published

    def _use(self, pipeline: str, kind: type[Any]) -> Any:
        return pick(self._wired.get(pipeline, ()), kind, pipeline)


def _left_to_the_owner(*_: object) -> None:
    """The owner hears of it through the database."""
