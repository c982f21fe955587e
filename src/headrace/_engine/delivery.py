"""Subscriptions at work: which parts there are, when they look at the log, and what people may do to them.

A part of a subscription remembers one position: everything up to it is handled, held or dead. An event that failed is *held*: a row says
when it is tried again, and later events of its subject wait behind it, in the log, not in memory. So one bad subject delays no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from headrace._base import log
from headrace._engine.claims import Claims
from headrace._engine.journal import SECONDS_BETWEEN_OFFERS
from headrace._engine.parts import FunctionPart, Part, RelayPart, Surroundings, TransactionPart
from headrace._events.model import REPLAY_MARK, Cursor, Held, base_name
from headrace._events.sharing import Worker, follow_owner, tell
from headrace._events.store import (
    SQL,
    all_cursors,
    cursors_of,
    dead_letter,
    held_of,
    hold,
    last_position,
    make_replay,
    move_cursor,
    open_cursors,
    pause_subscription,
    slot_of,
)
from headrace._store.companion import with_companion
from headrace.errors import Conflict, EngineUnavailable, NotFound, StoreBusy, StoreError

if TYPE_CHECKING:
    from headrace._authoring.trigger import Trigger
    from headrace._ports.database import Transaction


class Subscribed(NamedTuple):
    """Who reads: the name of a pipeline, and its trigger."""

    pipeline: str
    trigger: Trigger


class Delivery:
    """``share``: as whom this process takes part where several share the parts; without it, it has all of them.

    ``leaves``: what pipelines declare is left to workers; subscriptions that were added since are known here alone, and stay here.

    ``is_owner``: it makes the cursors as its code wants them, and what was the former owner's is free. ``lease_seconds``: see ``Limits``.
    """

    def __init__(
        self,
        around: Surroundings,
        fail: Callable[[BaseException], None],
        *,
        share: Worker | None = None,
        leaves: bool = False,
        is_owner: bool = True,
        lease_seconds: float = 0.0,
    ) -> None:
        self._around = around
        self._fail = fail
        self._is_owner = is_owner
        self._leaves = leaves
        self._share = share
        self._claims = None if share is None else Claims(around, share, lease_seconds, self, fail)
        self._loop = asyncio.get_running_loop()
        self._parts: list[Part] = []
        self.known: dict[str, Subscribed] = {
            name: Subscribed(pipeline.name, trigger) for name, (pipeline, trigger) in around.registry.triggers.items()
        }
        """What reads the log here, by the name of the subscription: what pipelines declare, and what was added since."""
        self._pumping = False
        self._is_open = False
        self._stop_listening: Callable[[], None] | None = None

    # Life

    def open(self) -> None:
        """Take up every subscription where it was left."""
        # A bridge that is off leaves its cursor where it is.
        known = {name: found for name, found in self.known.items() if not self._is_off(name)}
        at = self._around.clock.now()

        def operation(tx: Transaction) -> list[tuple[Cursor, list[Held]]]:
            if self._is_owner:
                follow_owner(tx)
            for name, (_, trigger) in known.items():
                if self._is_owner or not cursors_of(tx, name):
                    open_cursors(tx, name, parts=trigger.parts, beginning=trigger.since == "beginning", at=at)
            if self._claims is not None:
                return []
            return [
                (cursor, held_of(tx, name))
                for name, cursors in all_cursors(tx).items()
                if base_name(name) in known
                for cursor in cursors
            ]

        def opened(found: list[tuple[Cursor, list[Held]]] | None, error: BaseException | None) -> None:
            if found is None:
                self._fail(error or EngineUnavailable("the subscriptions could not be taken up"))
                return
            for cursor, held in found:
                if base_name(cursor.subscription) in self.known:  # it may have been removed meanwhile
                    self.take(cursor, held)
            if self._claims is not None:
                self._claims.look()
            self.wake()

        self._is_open = True
        self._stop_listening = self._around.log.listen(self.wake)
        if known:
            self._around.journal.submit(operation, opened)

    def _is_off(self, subscription: str) -> bool:
        trigger = self.known[subscription].trigger
        return bool(trigger.leaves_for) and subscription not in self._around.outlets

    def parts(self) -> tuple[Part, ...]:
        return tuple(self._parts)

    def take(self, cursor: Cursor, held: list[Held]) -> None:
        """Work on a part from here on."""
        base = base_name(cursor.subscription)
        pipeline, trigger = self.known[base]
        transactional = trigger.flow is not None or (
            trigger.handler is not None and trigger.handler.mode == "transaction"
        )
        make: Callable[..., Part] = TransactionPart if transactional else FunctionPart
        if trigger.leaves_for:
            make = partial(RelayPart, self._around.outlets[base])
        part = make(
            self._around, base, pipeline, trigger, cursor, wake=self.wake, over=self._replay_is_over, gone=self._is_gone
        )
        self._parts.append(part)
        part.open([item for item in held if part.is_its(slot_of(item.subject))])

    def drain(self) -> None:
        """Begin nothing new; handlers that are under way may end, and what they did counts."""
        self._is_open = False
        if self._claims is not None:
            self._claims.drain()
        for part in self._parts:
            part.drain()

    async def release(self) -> None:
        """After draining: other processes may go on at once, behind what was handled here."""
        claims, at = self._claims, self._around.clock.now()
        if claims is None:
            return
        claims.close()
        ends = [(part.cursor, part.reached) for part in self._parts]

        def operation(tx: Transaction) -> None:
            for cursor, reached in ends:
                move_cursor(tx, cursor, reached, at)
            claims.leave(tx)

        try:
            await self._around.database.write(operation)
        except StoreError as error:  # then they wait until the lease is over
            log.warning("subscriptions.not_released", error=type(error).__name__, detail=str(error))

    def close(self) -> None:
        self._is_open = False
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        if self._claims is not None:
            self._claims.close()
        for part in self._parts:
            part.close()

    # Sharing

    def served(self) -> dict[str, int]:
        """The subscriptions that this process takes its share of, and of how many parts each is."""
        if self._share is not None and not self._is_owner:
            return dict(self._share.parts)
        return {
            name: subscribed.trigger.parts
            for name, subscribed in self.known.items()
            if not self._is_off(name) and not (self._leaves and self._is_for_workers(name))
        }

    def _is_for_workers(self, subscription: str) -> bool:
        """Those that pipelines declare, but for the bridges, whose connection is the owner's."""
        trigger = self.known[subscription].trigger
        return subscription in self._around.registry.triggers and not trigger.leaves_for

    def look(self) -> None:
        """Something has changed about who has which part."""
        if self._is_open and self._claims is not None:
            self._claims.look()

    def _is_gone(self, part: Part) -> None:
        if part in self._parts:
            self._parts.remove(part)

    # Reading

    @property
    def is_quiet(self) -> bool:
        return not self._pumping

    def wake(self) -> None:
        """There may be something new in the log, or room for it."""
        if self._is_open and self._parts and not self._pumping:
            self._pumping = True
            self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        self._pumping = False
        if not self._is_open:
            return
        try:
            more = [part.pump() for part in tuple(self._parts)]
        except StoreBusy:  # the database is away for a moment
            self._loop.call_later(SECONDS_BETWEEN_OFFERS, self.wake)
            return
        except Exception as error:  # noqa: BLE001 - a defect of the engine itself: nothing may go on as if nothing had happened
            self._fail(error)
            return
        if any(more):
            self.wake()

    # What people do

    async def pause(self, subscription: str, *, paused: bool) -> None:
        """Stop a subscription after what it is doing now, or let it go on."""
        self._check(subscription)

        def operation(tx: Transaction) -> None:
            pause_subscription(tx, subscription, paused=paused)
            tell(tx, "parts")

        await self._around.database.write(with_companion(operation))
        self.switch(subscription, paused=paused)

    def switch(self, subscription: str, *, paused: bool) -> None:
        """What ``pause`` does, where the file says so already."""
        for part in self._parts_of(subscription):
            part.pause(paused)
        self.wake()

    def add(self, subscription: str, subscribed: Subscribed, cursors: Sequence[Cursor]) -> None:
        """Begin to read for a subscription whose cursors are new in the file."""
        self.known[subscription] = subscribed
        if self._claims is None:
            for cursor in cursors:
                self.take(cursor, [])
        self.look()
        self.wake()

    def remove(self, subscription: str) -> None:
        """Read no more for a subscription that the file has no more; what is under way is told to nobody."""
        self.known.pop(subscription, None)
        for part in self._parts_of(subscription):
            part.close()
            self._parts.remove(part)

    async def redrive(self, pk: int) -> None:
        """Try a dead letter again, alone: events of its subject that were handled meanwhile stay handled."""
        at = self._around.clock.now()

        def operation(tx: Transaction) -> tuple[str, Held]:
            letter = dead_letter(tx, pk)
            if letter is None:
                raise NotFound(f"there is no dead letter {pk}; `headrace deadletters ls` lists them")
            self._check_works(letter.subscription)  # otherwise nobody would try it
            if tx.one(SQL.redrive_letter, {"pk": pk, "at": at}) is None:
                raise Conflict(f"dead letter {pk} is {letter.state}; only one that is dead can be tried again")
            held = Held(letter.event.subject, letter.event.position, 0, at, None, alone=True, begun_at=at)
            hold(tx, letter.subscription, held)
            tell(tx, "parts")
            return letter.subscription, held

        subscription, held = await self._around.database.write(with_companion(operation))
        for part in self._parts_of(subscription):
            if part.is_its(slot_of(held.subject)) and part.cursor.subscription == subscription:
                part.take_up(held)

    async def dismiss(self, pk: int) -> None:
        """Nobody will try this dead letter again."""
        at = self._around.clock.now()

        def operation(tx: Transaction) -> None:
            letter = dead_letter(tx, pk)
            if letter is None:
                raise NotFound(f"there is no dead letter {pk}; `headrace deadletters ls` lists them")
            if tx.one(SQL.dismiss_letter, {"pk": pk, "at": at}) is None:
                raise Conflict(f"dead letter {pk} is {letter.state}; only one that is dead can be dismissed")

        await self._around.database.write(with_companion(operation))

    async def replay(self, subscription: str, *, after: int, until: int | None = None) -> str:
        """Give a subscription the events of a range once more, beside its work; returns the name of the replay."""
        self._check_works(subscription)
        at = self._around.clock.now()
        parts = self.known[subscription].trigger.parts

        def operation(tx: Transaction) -> list[Cursor]:
            end = min(until, last_position(tx)) if until is not None else last_position(tx)
            taken = all_cursors(tx)
            number = next(n for n in range(1, 2**31) if f"{subscription}{REPLAY_MARK}{n}" not in taken)
            tell(tx, "parts")
            return make_replay(tx, f"{subscription}{REPLAY_MARK}{number}", parts=parts, after=after, until=end, at=at)

        cursors = await self._around.database.write(with_companion(operation))
        if self._claims is None:
            for cursor in cursors:
                self.take(cursor, [])
        self.look()
        self.wake()
        return cursors[0].subscription

    def _replay_is_over(self, part: Part) -> None:
        """A part of a replay has come to its end."""
        cursor = part.cursor
        self._around.journal.submit(
            lambda tx: tx.run(SQL.end_replay, {"subscription": cursor.subscription, "part": cursor.part}),
            lambda _result, _error: None,
        )
        part.close()
        if part in self._parts:
            self._parts.remove(part)

    def _check(self, subscription: str) -> None:
        if subscription not in self.known:
            known = ", ".join(self.known) or "none"
            raise NotFound(f"there is no subscription {subscription!r} here; known are {known}")

    def _check_works(self, subscription: str) -> None:
        self._check(subscription)
        if self._is_off(subscription):
            raise Conflict(f"{subscription!r} is a bridge that is off; set HEADRACE_RABBITMQ__URL and restart")

    def _parts_of(self, subscription: str) -> list[Part]:
        return [part for part in self._parts if part.subscription == subscription]

    def working_on(self) -> dict[str, int]:
        """How many events of each subscription are being handled at this moment."""
        found: dict[str, int] = {}
        for part in self._parts:
            found[part.subscription] = found.get(part.subscription, 0) + part.working
        return found

    def position_of(self, subscription: str) -> int | None:
        """How far a subscription is in memory, which may be a little further than on disk."""
        return min((part.reached for part in self._parts if part.cursor.subscription == subscription), default=None)
