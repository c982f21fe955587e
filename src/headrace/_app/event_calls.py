"""The calls of ``Headrace`` that are about events, jobs and subscriptions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from headrace._app.event_feed import EventFeed, EventFilter
from headrace._app.event_questions import subscriptions_in
from headrace._app.event_view import DeadLetterView, ReplayView, SubscriptionView
from headrace._authoring.pipeline import Registry
from headrace._authoring.trigger import Trigger
from headrace._base.clock import from_datetime
from headrace._engine.engine import EmbeddedEngine
from headrace._events.model import Event, Published, Subject, make_event_id
from headrace._events.store import (
    all_dead,
    count_matching,
    dead_letter,
    dead_letters,
    last_position,
    newest_events,
    position_at,
)
from headrace._events.store import history_of as history_of_subject
from headrace._jobs.lifecycle import JobRef, Lifecycle
from headrace._jobs.model import Job, JobRecord
from headrace._jobs.store import as_job, counts, job_of, list_jobs
from headrace._ports.clock import Clock
from headrace._ports.database import Database, Reader
from headrace._runs.store import runs_of_job
from headrace.errors import Conflict, JobNotFound, NotFound

_SLICE = 200


class EventCalls:
    """What ``Headrace`` offers to whoever speaks of events."""

    registry: Registry
    _clock: Clock

    @property
    def engine(self) -> EmbeddedEngine:
        raise NotImplementedError

    @property
    def database(self) -> Database:
        raise NotImplementedError

    # Events

    async def publish(
        self,
        topic: str,
        data: object = None,
        *,
        subject: str | JobRef,
        id: str | None = None,
        source: str | None = None,
        time: datetime | None = None,
        plain: bool = False,
    ) -> Published:
        """Append an event to the log; if its subject is a job, the event moves it in the same transaction. On disk when this returns.

        An ``id`` that was published before gets the first answer again. ``plain``: ``data`` came as plain JSON.
        """
        at = self._clock.now()
        new = self.engine.log.new_event(
            topic, data, subject=subject, event_id=id or make_event_id(at), source=source or "app", time=time, cause="", at=at, plain=plain,
        )  # fmt: skip
        return await self.engine.publish(new)

    async def events(self, topic: str = "#", *, before: int | None = None, count: int = 100) -> list[Event[Any]]:
        """Events of a topic or pattern, the newest first; ``before`` is the position of the last one of the page before."""
        found = self.database.read(lambda reader: newest_events(reader, pattern=topic, before=before, count=count))
        return [self.registry.catalogue.topics.event(record) for record in found]

    def follow(
        self,
        topic: str = "#",
        *,
        subject: str | None = None,
        job: str | None = None,
        where: str = "",
        after: int | None = None,
    ) -> EventFeed:
        """Events as they come into the log, batch by batch; with ``after`` first those behind that position, 0 being the beginning.

        ``subject`` and ``job`` (a lifecycle) keep to what they are about, ``where`` is a filter text such as ``'data.tries < 3'``.
        """
        wanted = EventFilter.of(topic=topic, subject=subject, job=job, where=where)
        return EventFeed(self.engine.log, self.database, wanted, after=after)

    async def history_of(self, subject: str | JobRef, *, after: int = 0, count: int = 1_000) -> list[Event[Any]]:
        """The events of a subject in order, behind a sequence number."""
        about = Subject("", subject) if isinstance(subject, str) else subject.subject
        found = self.database.read(lambda reader: history_of_subject(reader, about, after=after, count=count))
        return [self.registry.catalogue.topics.event(record) for record in found]

    # Jobs

    async def jobs(
        self,
        lifecycle: str | Lifecycle[Any] | None = None,
        *,
        state: str | None = None,
        search: str | None = None,
        before: int | None = None,
        count: int = 100,
    ) -> list[Job[Any]]:
        """Jobs, the one that moved last first; ``before`` is the position of the last one of the page before."""
        name = None if lifecycle is None else self._lifecycle(lifecycle).name
        found = self.database.read(
            lambda reader: list_jobs(reader, lifecycle=name, state=state, search=search, before=before, count=count)
        )
        return [as_job(record, self._lifecycle(record.subject.kind)) for record in found]

    async def job_counts(self, lifecycle: str | Lifecycle[Any]) -> dict[str, int]:
        """How many jobs are in each state; states without any are not named."""
        name = self._lifecycle(lifecycle).name
        found = self.database.read(counts)
        return {state: number for (kind, state), number in found.items() if kind == name}

    async def job(self, lifecycle: str | Lifecycle[Any], id: str) -> Job[Any]:
        """How a job is at this moment."""
        declared = self._lifecycle(lifecycle)
        return as_job(self._job_record(declared, id), declared)

    async def job_history(self, lifecycle: str | Lifecycle[Any], id: str) -> list[Event[Any]]:
        """What happened to a job, in order; events that did not move it say why."""
        declared = self._lifecycle(lifecycle)
        self._job_record(declared, id)
        return await self.history_of(declared.job(id))

    async def retry_job(self, lifecycle: str | Lifecycle[Any], id: str) -> Published:
        """Begin a job that has ended once more, in a new generation."""
        declared = self._lifecycle(lifecycle)
        record = self._job_record(declared, id)
        if declared.retry_topic is None:
            raise Conflict(f"jobs of {declared.name!r} cannot be begun again: the lifecycle declares no retry=")
        if not record.terminal:
            raise Conflict(f"job {id!r} has not ended; it is {record.state!r}")
        # The generation in the id: two people who press the button at the same time begin it once.
        event_id = f"{declared.name}/{id}/{record.generation}/retry"
        return await self.publish(declared.retry_topic, subject=declared.job(id), id=event_id)

    async def cancel_job(self, lifecycle: str | Lifecycle[Any], id: str) -> None:
        """Cancel a job and the run that works for it."""
        declared = self._lifecycle(lifecycle)
        record = self._job_record(declared, id)
        if record.terminal:
            raise Conflict(f"job {id!r} has ended already: {record.state!r}")
        runs = self.database.read(lambda reader: runs_of_job(reader, declared.name, id))
        for run_id in runs:
            await self.engine.cancel(run_id)
        if runs:
            return  # the end of the run is the end of the job
        if not declared.ends:
            raise Conflict(f"nothing works for job {id!r}; publish the event that ends it")
        data = {"error_type": "cancelled", "error_message": "cancelled by a person"}
        await self.publish(declared.ends["cancelled"][0], data, subject=declared.job(id), plain=True)

    def _lifecycle(self, lifecycle: str | Lifecycle[Any]) -> Lifecycle[Any]:
        return self.registry.catalogue.lifecycle(lifecycle if isinstance(lifecycle, str) else lifecycle.name)

    def _job_record(self, lifecycle: Lifecycle[Any], id: str) -> JobRecord:
        record = self.database.read(lambda reader: job_of(reader, lifecycle.subject(id)))
        if record is None:
            raise JobNotFound(lifecycle.name, id)
        return record

    # Subscriptions

    async def subscriptions(self) -> list[SubscriptionView]:
        """Every subscription, how far it is and what it could not handle."""
        return self.database.read(self.subscriptions_in)

    def subscriptions_in(self, reader: Reader) -> list[SubscriptionView]:
        """The same, for who reads more from the same state of the store."""
        delivery = self.engine.delivery
        return subscriptions_in(
            reader,
            triggers=self.subscribed,
            reached=delivery.position_of,
            working=delivery.working_on(),
            troubles=self._troubles(),
        )

    @property
    def subscribed(self) -> Mapping[str, Trigger]:
        """What reads the log here, by name: what pipelines declare, and endpoints of webhooks."""
        return {name: trigger for name, (_, trigger) in tuple(self.engine.delivery.known.items())}

    def _troubles(self) -> Mapping[str, str]:
        """Why subscriptions do not go on though nobody has paused them."""
        return {}

    async def pause_subscription(self, name: str) -> None:
        """Let a subscription end what it does now, and begin nothing new."""
        await self.engine.delivery.pause(name, paused=True)

    async def resume_subscription(self, name: str) -> None:
        """Let a paused subscription go on where it stopped."""
        await self.engine.delivery.pause(name, paused=False)

    async def replay(
        self,
        subscription: str,
        *,
        after: int | None = None,
        since: datetime | None = None,
        until: int | None = None,
        dry_run: bool = False,
    ) -> ReplayView:
        """Give a subscription the events of a range once more, beside its ordinary work: behind position ``after``, or recorded ``since``.

        ``dry_run`` only counts them.
        """
        known = self.engine.delivery.known
        if subscription not in known:
            raise NotFound(
                f"there is no subscription {subscription!r} here; `headrace events subscriptions` lists them"
            )
        patterns = known[subscription].trigger.patterns

        def look(reader: Reader) -> tuple[int, int]:
            begin = after if after is not None else 0 if since is None else position_at(reader, from_datetime(since))
            end = last_position(reader) if until is None else until
            return begin, count_matching(reader, patterns, after=begin, until=end)

        begin, number = self.database.read(look)
        name = "" if dry_run else await self.engine.delivery.replay(subscription, after=begin, until=until)
        return ReplayView(subscription=subscription, name=name, events=number)

    # Dead letters

    async def dead_letters(
        self,
        *,
        subscription: str | None = None,
        state: str | None = "dead",
        before: int | None = None,
        count: int = 100,
    ) -> list[DeadLetterView]:
        """What subscriptions could not handle, the newest first; ``state`` None: also what was settled since."""
        found = self.database.read(
            lambda reader: dead_letters(reader, subscription=subscription, state=state, before=before, count=count)
        )
        return [DeadLetterView.of(letter, self.registry.catalogue.topics) for letter in found]

    async def dead_letter(self, id: int) -> DeadLetterView:
        found = self.database.read(lambda reader: dead_letter(reader, id))
        if found is None:
            raise NotFound(f"there is no dead letter {id}; `headrace deadletters ls` lists them")
        return DeadLetterView.of(found, self.registry.catalogue.topics)

    async def redrive(self, id: int) -> None:
        """Try a dead letter again."""
        await self.engine.delivery.redrive(id)

    async def redrive_all(self, subscription: str | None = None) -> int:
        """Try all dead letters again, of one subscription if given; returns how many. Those that nobody would try stay as they are."""
        found = self.database.read(
            lambda reader: [
                letter.pk
                for letter in all_dead(reader, subscription)
                if letter.subscription in self.engine.delivery.known
            ]
        )
        return await self.redrive_letters(found)

    async def redrive_letters(self, ids: Sequence[int]) -> int:
        """Try these dead letters again, the oldest first; returns how many. Those that are dead no more stay as they are."""
        return await _each(ids, self.engine.delivery.redrive)

    async def dismiss(self, id: int) -> None:
        """Keep a dead letter as it is, and count it no more."""
        await self.engine.delivery.dismiss(id)

    async def dismiss_letters(self, ids: Sequence[int]) -> int:
        """Keep these dead letters as they are, and count them no more; returns how many."""
        return await _each(ids, self.engine.delivery.dismiss)


async def _each(ids: Sequence[int], settle: Callable[[int], Awaitable[None]]) -> int:
    """Settle letters in the order in which they died; those of a slice share commits."""

    async def settled(id: int) -> bool:
        try:
            await settle(id)
        except Conflict:  # somebody else was quicker
            return False
        return True

    done, in_order = 0, sorted(ids)
    for start in range(0, len(in_order), _SLICE):
        done += sum(await asyncio.gather(*map(settled, in_order[start : start + _SLICE])))
    return done
