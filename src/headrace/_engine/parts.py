"""One part of a subscription: reads the log, hands events on, remembers how far it is.

Functions run outside transactions: different subjects at the same time, each subject in a lane of its own. Flows are begun, and
transactional handlers called, in the transaction that moves the position: exactly once for each event.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from headrace._base import faultpoints, log
from headrace._base.clock import Instant, to_micros
from headrace._base.recorded_error import describe, encode_error
from headrace._engine.attempts import Attempt, Attempts, Stop
from headrace._events.model import Cursor, Event, EventRecord, Held, PartLost, Subject
from headrace._events.schema import raw_event
from headrace._events.sharing import PartName, leave_part
from headrace._events.store import (
    SQL,
    bury,
    check_fence,
    event_at,
    hold,
    is_held,
    move_cursor,
    next_of_subject,
    release,
    scan,
    slot_of,
)
from headrace.errors import StepTimedOut, StoreBusy, StoreLost

if TYPE_CHECKING:
    from headrace._authoring.pipeline import Registry
    from headrace._authoring.trigger import Trigger
    from headrace._engine.event_log import EventLog
    from headrace._engine.journal import Journal
    from headrace._engine.timers import Entry, Timers
    from headrace._events.outlet import Outlet
    from headrace._ports.clock import Clock
    from headrace._ports.database import Database, Transaction
    from headrace._runs.model import Begun, NewRun

_PAGE = 500
_MOST_IN_MEMORY = 1_000
_MOST_IN_A_TRANSACTION = 100
_POSITIONS_BETWEEN_SAVES = 1_000
_BEFORE_READING_AGAIN = 500_000


class Keeper(Protocol):
    """What deliveries ask of the engine."""

    def run_for(self, trigger: Trigger, event: Event[Any]) -> NewRun | None: ...
    def adopt(self, begun: Begun, new: NewRun) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What deliveries work with."""

    keeper: Keeper
    registry: Registry
    database: Database
    journal: Journal
    timers: Timers
    clock: Clock
    attempts: Attempts
    log: EventLog
    outlets: Mapping[str, Outlet]
    """By subscription; events of one that is not here wait in the log."""


class Lane:
    """The events of one subject, one after the other. ``position`` is the one that is being handled now."""

    __slots__ = ("attempt", "begun_at", "covered", "held", "number", "position", "queue", "subject", "timer")

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.queue: deque[int] = deque()
        self.position: int | None = None
        self.number = 0
        self.begun_at: Instant = 0
        self.attempt: HandlerAttempt | None = None
        self.held: Held | None = None
        self.covered = 0
        """Up to here the events of the subject wait behind the held one, in the log."""
        self.timer: Entry | None = None


class HandlerAttempt(Attempt):
    """An attempt at a handler."""

    def __init__(self, part: Part, lane: Lane, event: Event[Any], number: int) -> None:
        handler = part.trigger.handler
        assert handler is not None
        super().__init__(
            handler,
            number,
            key=f"{part.subscription}/{event.id}",
            owner=part.subscription,
            pipeline=part.pipeline,
            reports=part,
        )
        self.lane = lane
        self.event = event

    def call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.event,), {}


class Part:
    def __init__(
        self,
        around: Surroundings,
        subscription: str,
        pipeline: str,
        trigger: Trigger,
        cursor: Cursor,
        *,
        wake: Callable[[], None],
        over: Callable[[Part], None],
        gone: Callable[[Part], None],
    ) -> None:
        self.around = around
        self.subscription = subscription
        self.pipeline = pipeline
        self.trigger = trigger
        self.cursor = cursor
        self._wake = wake
        self._over = over
        self._gone = gone
        self._read = cursor.position
        self._lanes: dict[Subject, Lane] = {}
        self._alone: dict[int, Lane] = {}
        self._chance = random.Random()
        self._paused = cursor.paused
        self._leaving = False
        self._closed = False

    def open(self, held: Sequence[Held]) -> None:
        for item in held:
            self.take_up(item)

    def drain(self) -> None:
        """Begin nothing new; what is under way may end."""
        self._paused = True
        self._cancel_timers()

    def close(self) -> None:
        self._closed = True
        self._cancel_timers()

    @property
    def name(self) -> PartName:
        return self.cursor.subscription, self.cursor.part

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way that would have to be begun again elsewhere."""
        return not self.working

    def leave(self) -> None:
        """Another process is to go on: begin nothing new, and go when what is under way has ended."""
        if not self._leaving and not self._closed:
            self._leaving = True
            self.drain()
            self._wake()

    def lose(self) -> None:
        """Another process has taken the part, and goes on without waiting for this one."""
        if self._closed:
            return
        log.warning("subscription.lost", subscription=self.subscription, part=self.cursor.part)
        self.close()
        for lane in self._all_lanes():
            if lane.attempt is not None:
                self.around.attempts.stop(lane.attempt, Stop.SHUTDOWN)
        self._gone(self)

    def _go(self) -> None:
        """What is handled is handled; whoever has the part next begins there."""
        self.close()
        self._gone(self)
        cursor, reached, now = self.cursor, self.reached, self.around.clock.now()
        log.info("subscription.left", subscription=self.subscription, part=cursor.part, position=reached)

        def left(_: None, error: BaseException | None) -> None:
            if error is not None:
                self.around.journal.fail(error)

        self.around.journal.submit(lambda tx: leave_part(tx, cursor, reached, now), left)

    def take_up_redriven(self, held: Sequence[Held]) -> None:
        """A person, at another process, wants dead letters to be tried again."""
        for item in held:
            if self.is_its(slot_of(item.subject)) and item.position not in self._alone and not self._leaving:
                self.take_up(item)

    def _cancel_timers(self) -> None:
        for lane in self._all_lanes():
            if lane.timer is not None:
                self.around.timers.cancel(lane.timer)
                lane.timer = None

    def pause(self, paused: bool) -> None:
        if paused == self._paused or self._leaving:
            return  # whoever goes on already must not begin its held events a second time
        self._paused = paused
        if paused:
            self._cancel_timers()
            return
        for lane in self._all_lanes():
            if lane.position is None:
                self._resume(lane)

    def _resume(self, lane: Lane) -> None:
        if lane.held is not None:
            self._wait(lane, lane.held)

    def is_its(self, slot: int) -> bool:
        return slot % self.trigger.parts == self.cursor.part

    @property
    def reached(self) -> int:
        raise NotImplementedError

    @property
    def working(self) -> int:
        return sum(lane.position is not None for lane in self._all_lanes())

    def _all_lanes(self) -> list[Lane]:
        return [*self._lanes.values(), *self._alone.values()]

    # Reading

    def pump(self) -> bool:
        """Look at what is new in the log; True when there is more than fits in a turn."""
        if self._leaving and not self._closed and self.is_idle:
            self._go()
        if self._paused or self._closed or self._is_full():
            return False
        until = self.cursor.stop_at
        rows = self.around.database.read(lambda reader: scan(reader, self._read, _PAGE))
        for position, topic, subject, slot in rows:
            if until is not None and position > until:
                rows = []
                break
            self._read = position
            if self.is_its(slot) and self.trigger.wants(topic):
                self._take(position, subject)
        self._after_reading()
        if until is not None and len(rows) < _PAGE and self._is_done():
            self._over(self)
            return False
        return len(rows) == _PAGE

    def _is_full(self) -> bool:
        raise NotImplementedError

    def _is_done(self) -> bool:
        """Whether everything that was read is handled."""
        raise NotImplementedError

    def _take(self, position: int, subject: Subject) -> None:
        raise NotImplementedError

    def _after_reading(self) -> None:
        raise NotImplementedError

    def _event(self, position: int) -> Event[Any]:
        record = self.around.database.read(lambda reader: event_at(reader, position))
        if record is None:
            raise StoreLost(f"the event at position {position} is gone from the log")
        if self.trigger.raw:
            return raw_event(record)
        return self.around.registry.catalogue.topics.event(record)

    # Held events

    def take_up(self, held: Held) -> None:
        """An event is held: wait for its next attempt."""
        if held.alone:
            lane = self._alone[held.position] = Lane(held.subject)
        else:
            lane = self._lanes.setdefault(held.subject, Lane(held.subject))
            lane.covered = max(lane.covered, self.cursor.position)
        lane.held = held
        self._wait(lane, held)

    def _wait(self, lane: Lane, held: Held) -> None:
        lane.held = held
        if not self._paused and not self._closed:
            lane.timer = self.around.timers.add(held.next_at, self._due, lane)

    def _due(self, lane: Lane) -> None:
        assert lane.held is not None
        lane.timer = None
        self._begin(lane, lane.held.position, lane.held.attempt + 1)
        self._attempt(lane)

    def _begin(self, lane: Lane, position: int, number: int) -> None:
        lane.position = position
        lane.number = number
        held = lane.held
        lane.begun_at = self.around.clock.now() if held is None or held.attempt == 0 else held.begun_at

    def _attempt(self, lane: Lane) -> None:
        raise NotImplementedError

    def _attempt_later(self, lane: Lane) -> None:
        """The database is away for a moment, which is no fault of the handler's."""
        at = self.around.clock.now() + _BEFORE_READING_AGAIN

        def again(_: None) -> None:
            if not self._closed:
                self._attempt(lane)

        self.around.timers.add(at, again)

    def _wait_after(self, lane: Lane, error: BaseException) -> timedelta | None:
        elapsed = timedelta(microseconds=self.around.clock.now() - lane.begun_at)
        return self.trigger.retry.wait_after(lane.number, error, elapsed, self._chance)

    def _failed(self, lane: Lane, error: BaseException) -> None:
        """Hold the event for another attempt, or bury it."""
        position, subject = lane.position, lane.subject
        assert position is not None
        stored, wait, now = encode_error(error), self._wait_after(lane, error), self.around.clock.now()
        alone = lane.held is not None and lane.held.alone
        what = {
            "subscription": self.subscription,
            "position": position,
            "subject": str(subject),
            "attempt": lane.number,
        }
        if wait is None:
            log.error("event.dead", **what, error=describe(stored).type_name)
            self._resolve(lane, stored)
            return
        log.info("event.retry_scheduled", **what, error=describe(stored).type_name, wait=wait.total_seconds())
        held = Held(subject, position, lane.number, now + to_micros(wait), stored, alone, lane.begun_at)

        def operation(tx: Transaction) -> None:
            check_fence(tx, self.cursor)
            hold(tx, self.cursor.subscription, held)
            self._count(tx, lane, position)

        self._submit(operation, lambda _: self._now_held(lane, held))

    def _resolve(self, lane: Lane, buried: bytes | None) -> None:
        """The event is handled, or dead: what waited behind it is next."""
        position, number = lane.position, lane.number
        assert position is not None
        was_held, alone = lane.held is not None, lane.held is not None and lane.held.alone
        now = self.around.clock.now()

        def operation(tx: Transaction) -> int | None:
            check_fence(tx, self.cursor)
            if buried is not None:
                bury(tx, self.subscription, position, attempts=number, error=buried, at=now)
            elif alone:
                tx.run(SQL.settle_letter, {"subscription": self.subscription, "pos": position, "at": now})
            self._count(tx, lane, position)
            if not was_held:
                return None
            release(tx, self.cursor.subscription, position)
            return None if alone else self._next_behind(tx, lane, position, now)

        self._submit(operation, lambda following: self._resolved(lane, following))

    def _next_behind(self, tx: Transaction, lane: Lane, position: int, now: Instant) -> int | None:
        until = self._covered(tx, lane)
        if until <= position:
            return None
        following = next_of_subject(tx, lane.subject, self.trigger.patterns, after=position, until=until)
        if following is not None:
            hold(tx, self.cursor.subscription, Held(lane.subject, following, 0, now, None, alone=False, begun_at=now))
        return following

    def _first_of(self, lane: Lane, following: int) -> Held:
        """What waited behind a held event, and is next."""
        now = self.around.clock.now()
        return Held(lane.subject, following, 0, now, None, alone=False, begun_at=now)

    def _covered(self, tx: Transaction, lane: Lane) -> int:
        """Up to where the events of this subject wait behind the held one."""
        raise NotImplementedError

    def _count(self, tx: Transaction, lane: Lane, position: int) -> None:
        """In the transaction that says what became of an event: what else has to be written."""

    def _now_held(self, lane: Lane, held: Held) -> None:
        raise NotImplementedError

    def _resolved(self, lane: Lane, following: int | None) -> None:
        raise NotImplementedError

    # What attempts tell

    def ended(self, attempt: HandlerAttempt, result: Any, error: BaseException | None) -> None:
        raise NotImplementedError

    def late(self, attempt: HandlerAttempt) -> None:
        log.warning("event.late_result", subscription=self.subscription, event=attempt.event.id, attempt=attempt.number)

    def said(self, attempt: HandlerAttempt, progress: bytes) -> None:
        """Handlers are short; their progress is kept nowhere."""

    def _submit(self, operation: Callable[[Transaction], Any], then: Callable[[Any], None]) -> None:
        def done(result: Any, error: BaseException | None) -> None:
            if self._closed:
                return
            if isinstance(error, PartLost):
                self.lose()
            elif error is not None:
                self.around.journal.fail(error)
            else:
                then(result)
                self._wake()

        self.around.journal.submit(operation, done)


class FunctionPart(Part):
    """Hands events to a function."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._undone: dict[int, None] = {}  # positions in the order of the log
        self._running = 0
        self._ready: deque[Lane] = deque()
        self._handled = False
        self._saving = False

    @property
    def reached(self) -> int:
        return next(iter(self._undone)) - 1 if self._undone else self._read

    @property
    def is_idle(self) -> bool:
        return self.working == len(self._ready)  # those wait for room, and nothing of them has begun

    def _is_full(self) -> bool:
        return len(self._undone) >= _MOST_IN_MEMORY

    def _is_done(self) -> bool:
        return not self._undone and not any(lane.held for lane in self._all_lanes())

    def _take(self, position: int, subject: Subject) -> None:
        lane = self._lanes.get(subject)
        if lane is None:
            lane = self._lanes[subject] = Lane(subject)
        if lane.held is not None and lane.position is None:
            lane.covered = position
            self._handled = True
            return
        # While a held event is being tried, what comes behind it must not count as covered: its row may be gone in a moment.
        self._undone[position] = None
        lane.queue.append(position)
        if lane.position is None:
            self._go_on(lane)

    def pause(self, paused: bool) -> None:
        super().pause(paused)
        self._use_room()

    def _resume(self, lane: Lane) -> None:
        if lane.held is not None:
            self._wait(lane, lane.held)
        else:
            self._go_on(lane)

    def _go_on(self, lane: Lane) -> None:
        if self._paused:
            return
        if lane.queue:
            self._begin(lane, lane.queue.popleft(), 1)
            self._attempt(lane)
        else:
            del self._lanes[lane.subject]

    def _attempt(self, lane: Lane) -> None:
        assert lane.position is not None
        if self._running == self.trigger.at_once:
            self._ready.append(lane)
            return
        try:
            event = self._event(lane.position)
            wanted = self.trigger.predicate is None or self.trigger.predicate(event)
        except StoreLost:
            raise
        except StoreBusy:
            self._attempt_later(lane)
            return
        except Exception as error:  # noqa: BLE001 - data that does not fit its type, or the user's predicate
            self._failed(lane, error)
            return
        if not wanted:
            self._succeeded(lane)
            return
        faultpoints.hit("handler.before", self.trigger.handler)
        lane.attempt = HandlerAttempt(self, lane, event, lane.number)
        self._running += 1
        self.around.attempts.offer(lane.attempt, None)

    def _use_room(self) -> None:
        while self._ready and self._running != self.trigger.at_once and not (self._paused or self._closed):
            self._attempt(self._ready.popleft())

    def ended(self, attempt: HandlerAttempt, result: Any, error: BaseException | None) -> None:
        self._running -= 1
        lane = attempt.lane
        if self._closed or lane.attempt is not attempt or attempt.stopping is Stop.SHUTDOWN:
            return
        lane.attempt = None
        if attempt.stopping is Stop.TIMEOUT:
            limit = attempt.step.timeout or timedelta(0)
            error = StepTimedOut(attempt.step.name, limit.total_seconds())
        faultpoints.hit("handler.after", self.trigger.handler)
        if error is None:
            self._succeeded(lane)
        else:
            self._failed(lane, error)
        self._use_room()
        self._wake()

    def _succeeded(self, lane: Lane) -> None:
        if lane.held is not None:
            self._resolve(lane, None)
            return
        assert lane.position is not None
        self._done(lane.position)
        lane.position = None
        self._go_on(lane)

    # Outcomes

    def _covered(self, tx: Transaction, lane: Lane) -> int:
        return lane.covered

    def _now_held(self, lane: Lane, held: Held) -> None:
        self._put_behind(lane, held)
        self._wait(lane, held)

    def _put_behind(self, lane: Lane, held: Held) -> None:
        """The row is on disk: this event, and those that came meanwhile, need no memory any more."""
        self._done(held.position)
        lane.position = None
        for position in lane.queue:
            lane.covered = position
            self._done(position)
        lane.queue.clear()

    def _resolved(self, lane: Lane, following: int | None) -> None:
        position, lane.position = lane.position, None
        assert position is not None
        if lane.held is not None and lane.held.alone:
            del self._alone[position]
            return
        self._done(position)
        if following is None:
            lane.held = None
            self._go_on(lane)
            return
        lane.held = self._first_of(lane, following)
        self._put_behind(lane, lane.held)
        self._wait(lane, lane.held)

    # The position

    def _done(self, position: int) -> None:
        self._undone.pop(position, None)
        self._handled = True

    def _after_reading(self) -> None:
        reached = self.reached
        gap = reached - self.cursor.position
        if gap > 0 and not self._saving and (self._handled or gap >= _POSITIONS_BETWEEN_SAVES):
            self._save(reached)

    def _save(self, position: int) -> None:
        self._saving, self._handled = True, False
        now = self.around.clock.now()

        def operation(tx: Transaction) -> None:
            check_fence(tx, self.cursor)
            move_cursor(tx, self.cursor, position, now)

        def saved(_: None) -> None:
            self._saving = False
            self.cursor = replace(self.cursor, position=position)

        self._submit(operation, saved)


class RelayPart(FunctionPart):
    """Lets events leave for a broker. The position moves once the broker has confirmed all before it.

    An event follows the one before it of its subject only when that one is confirmed: whatever is sent again after a lost connection,
    a subject's events come in order. While the broker is away a page of events waits in memory, and everything else in the log.
    """

    def __init__(self, outlet: Outlet, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._outlet = outlet

    def drain(self) -> None:
        super().drain()
        # What is confirmed by now shall not be sent again.
        if not self._closed and self.reached > self.cursor.position:
            self._save(self.reached)

    def _attempt(self, lane: Lane) -> None:
        position = lane.position
        assert position is not None
        try:
            event = self._outgoing(position)
        except StoreLost:
            raise
        except Exception as error:  # noqa: BLE001 - data that does not fit its type, or the user's upcaster
            self._failed(lane, error)
            return
        faultpoints.hit("handler.before")

        def taken(error: BaseException | None) -> None:
            if self._closed or lane.position != position:
                return
            faultpoints.hit("handler.after")
            if error is None:
                self._succeeded(lane)
            else:
                self._failed(lane, error)
            self._wake()

        self._outlet.send(event, taken)

    def _outgoing(self, position: int) -> EventRecord:
        record = self.around.database.read(lambda reader: event_at(reader, position))
        if record is None:
            raise StoreLost(f"the event at position {position} is gone from the log")
        return self.around.registry.catalogue.topics.newest(record)


class Work(NamedTuple):
    """What an event is to do in a transaction, and what comes after the commit."""

    run: Callable[[Transaction], Any]
    after: Callable[[Any], None]


class TransactionPart(Part):
    """Begins a flow, or calls a transactional handler, in the transaction that moves the position."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._queue: deque[tuple[int, Subject]] = deque()
        self._busy = False
        self._one_by_one = 0

    @property
    def reached(self) -> int:
        return self._queue[0][0] - 1 if self._queue else self._read

    @property
    def is_idle(self) -> bool:
        return not self._busy and not self.working

    def _is_full(self) -> bool:
        return len(self._queue) >= _MOST_IN_MEMORY

    def _is_done(self) -> bool:
        return not self._queue and not self._busy and not any(lane.held for lane in self._all_lanes())

    def _take(self, position: int, subject: Subject) -> None:
        self._queue.append((position, subject))

    def _after_reading(self) -> None:
        if self._busy:
            return
        if self._queue:
            self._work()
        elif self._read - self.cursor.position >= _POSITIONS_BETWEEN_SAVES:
            self._commit([], self._read)

    def _work(self) -> None:
        size = 1 if self._one_by_one else _MOST_IN_A_TRANSACTION
        batch = [self._queue[index] for index in range(min(size, len(self._queue)))]
        prepared: list[tuple[Subject, Work | None]] = []
        for position, subject in batch:
            try:
                prepared.append((subject, self._prepare(position)))
            except (StoreLost, StoreBusy):
                raise
            except Exception as error:  # noqa: BLE001 - data that does not fit its type, or the user's own code
                if prepared:
                    break
                self._refused(position, subject, error)
                return
        last = self._queue[len(prepared) - 1][0]
        self._commit(prepared, last)

    def _prepare(self, position: int) -> Work | None:
        """None: nothing is to be done for this event."""
        event = self._event(position)
        if self.trigger.predicate is not None and not self.trigger.predicate(event):
            return None
        return self._begin_flow(event) if self.trigger.flow is not None else self._call(event)

    def _begin_flow(self, event: Event[Any]) -> Work | None:
        new = self.around.keeper.run_for(self.trigger, event)
        if new is None:
            return None

        def begin(tx: Transaction) -> Begun | None:
            # Between the event and its turn the job may have ended, or begun another life.
            return self.around.log.begin(tx, new, "join") if self.around.log.is_wanted(tx, new.job) else None

        def after(begun: Begun | None) -> None:
            if begun is not None and begun.created:
                self.around.keeper.adopt(begun, new)

        return Work(begin, after)

    def _call(self, event: Event[Any], lane: Lane | None = None) -> Work:
        attempt = HandlerAttempt(
            self, lane or Lane(Subject(event.job, event.subject)), event, 1 if lane is None else lane.number
        )
        context = self.around.attempts.context_for(attempt)
        fn = attempt.step.fn
        return Work(lambda tx: context.copy().run(fn, tx, event), lambda _: None)

    def _commit(self, prepared: list[tuple[Subject, Work | None]], last: int) -> None:
        self._busy = True
        now = self.around.clock.now()
        faultpoints.hit("handler.before", self.trigger.handler)

        def operation(tx: Transaction) -> list[tuple[Work, Any]]:
            check_fence(tx, self.cursor)
            # What waits behind a held event is left to it: the position passes over it, and its turn comes when the held one is done.
            found = [
                (work, work.run(tx))
                for subject, work in prepared
                if work is not None and not is_held(tx, self.cursor.subscription, subject)
            ]
            move_cursor(tx, self.cursor, last, now)
            return found

        def done(found: list[tuple[Work, Any]] | None, error: BaseException | None) -> None:
            self._busy = False
            if self._closed:
                return
            if error is not None:
                self._broke(prepared, error)
                return
            faultpoints.hit("handler.after", self.trigger.handler)
            self._moved_to(last, len(prepared))
            for work, result in found or ():
                work.after(result)

        self.around.journal.submit(operation, done)

    def _moved_to(self, last: int, count: int) -> None:
        self.cursor = replace(self.cursor, position=last)
        self._one_by_one = max(0, self._one_by_one - count)
        for _ in range(count):
            self._queue.popleft()
        self._wake()

    def _broke(self, prepared: list[tuple[Subject, Work | None]], error: BaseException) -> None:
        """A handler raised, and everything of its transaction is undone: find out which one, and let the others pass."""
        if isinstance(error, PartLost):
            self.lose()
        elif len(prepared) == 1:
            position, subject = self._queue[0]
            self._refused(position, subject, error)
        elif not prepared:
            self.around.journal.fail(error)
        else:
            self._one_by_one = len(prepared)
            self._wake()

    def _refused(self, position: int, subject: Subject, error: BaseException) -> None:
        self._busy = True
        lane = self._lanes.get(subject)
        if lane is None:
            lane = self._lanes[subject] = Lane(subject)
        self._begin(lane, position, 1)
        self._failed(lane, error)

    def _count(self, tx: Transaction, lane: Lane, position: int) -> None:
        if lane.held is None:
            move_cursor(tx, self.cursor, position, self.around.clock.now())

    def _covered(self, tx: Transaction, lane: Lane) -> int:
        row = tx.one(SQL.lock_cursor, {"subscription": self.cursor.subscription, "part": self.cursor.part})
        return 0 if row is None else int(row[1])

    def _now_held(self, lane: Lane, held: Held) -> None:
        lane.position = None
        if lane.held is None:
            self._passed(held.position)
        self._wait(lane, held)

    def _resolved(self, lane: Lane, following: int | None) -> None:
        position, lane.position = lane.position, None
        assert position is not None
        if lane.held is None:
            self._passed(position)
        elif lane.held.alone:
            del self._alone[position]
            return
        if following is None:
            del self._lanes[lane.subject]
            return
        self._wait(lane, self._first_of(lane, following))

    def _passed(self, position: int) -> None:
        self._busy = False
        self._moved_to(position, 1)

    # Attempts at held events

    def _attempt(self, lane: Lane) -> None:
        assert lane.position is not None
        try:
            event = self._event(lane.position)
            if self.trigger.predicate is not None and not self.trigger.predicate(event):
                work = None
            else:
                work = self._begin_flow(event) if self.trigger.flow is not None else self._call(event, lane)
        except StoreLost:
            raise
        except StoreBusy:
            self._attempt_later(lane)
            return
        except Exception as error:  # noqa: BLE001 - data that does not fit its type, or the user's own code
            self._failed(lane, error)
            return
        if work is None:
            self._resolve(lane, None)
        else:
            self._try(lane, work)

    def _try(self, lane: Lane, work: Work) -> None:
        position = lane.position
        held, now = lane.held, self.around.clock.now()
        assert position is not None
        assert held is not None

        def operation(tx: Transaction) -> tuple[Any, int | None]:
            check_fence(tx, self.cursor)
            if not release(tx, self.cursor.subscription, position):
                return None, None  # it was handled in this very moment, when it was read as still held
            result = work.run(tx)
            if held.alone:
                tx.run(SQL.settle_letter, {"subscription": self.subscription, "pos": position, "at": now})
            return result, None if held.alone else self._next_behind(tx, lane, position, now)

        def done(found: tuple[Any, int | None] | None, error: BaseException | None) -> None:
            if self._closed:
                return
            if found is None:
                assert error is not None
                if isinstance(error, PartLost):
                    self.lose()
                else:
                    self._failed(lane, error)
                return
            work.after(found[0])
            self._resolved(lane, found[1])
            self._wake()

        self.around.journal.submit(operation, done)
