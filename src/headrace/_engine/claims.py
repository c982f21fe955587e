"""Which parts of subscriptions this process has, where several share them: it looks a few times per lease, and when it hears of a change."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from headrace._base import log
from headrace._base.clock import Instant
from headrace._events.model import Cursor, Held
from headrace._events.sharing import PartName, Shared, Worker, leave_work, take_share

if TYPE_CHECKING:
    from headrace._engine.parts import Part, Surroundings
    from headrace._engine.timers import Entry
    from headrace._ports.database import Transaction

_LOOKS_PER_LEASE = 3


class Holder(Protocol):
    """Who works on the parts."""

    def parts(self) -> Sequence[Part]: ...
    def served(self) -> dict[str, int]: ...
    def take(self, cursor: Cursor, held: list[Held]) -> None: ...
    def wake(self) -> None: ...


class Claims:
    def __init__(
        self,
        around: Surroundings,
        me: Worker,
        lease_seconds: float,
        holder: Holder,
        fail: Callable[[BaseException], None],
    ) -> None:
        self._around = around
        self._me = me
        self._lease = int(lease_seconds * 1_000_000)
        self._holder = holder
        self._fail = fail
        self._chance = random.Random()
        self._timer: Entry | None = None
        self._looking = False
        self._again = False
        self._draining = False
        self._closed = False
        self._misfits: dict[str, int] = {}

    @property
    def name(self) -> str:
        return self._me.name

    def drain(self) -> None:
        """Keep what this process has, and take no more."""
        self._draining = True

    def close(self) -> None:
        self._closed = True
        self._cancel()

    def leave(self, tx: Transaction) -> None:
        leave_work(tx, self._me.name)

    def look(self, _: None = None) -> None:
        """Say that this process is alive, and see whether it has its share."""
        if self._closed:
            return
        if self._looking:
            self._again = True
            return
        self._cancel()
        self._looking = True
        # Which they are changes while it runs: a person adds an endpoint, and a process that leaves is there for none.
        self._me = me = replace(self._me, parts={} if self._draining else self._holder.served())
        held = {part.name: part.cursor.fence for part in self._holder.parts()}
        at = self._around.clock.now()
        self._around.journal.submit(
            lambda tx: take_share(tx, me, held, at, lease=self._lease),
            lambda found, error: self._looked(held, found, error),
        )

    def _looked(self, held: Mapping[PartName, int], found: Shared | None, error: BaseException | None) -> None:
        self._looking = False
        if self._closed:
            return
        if found is None:
            if error is not None:
                self._fail(error)
            return
        self._apply(held, found)
        again, self._again = self._again, False
        if again:
            self.look()
        else:
            self._timer = self._around.timers.add(self._next_look(), self.look)

    def _next_look(self) -> Instant:
        # Not all at the same moment.
        wait = self._lease / _LOOKS_PER_LEASE * self._chance.uniform(0.8, 1.0)
        return self._around.clock.now() + int(wait)

    def _apply(self, held: Mapping[PartName, int], found: Shared) -> None:
        parts = {part.name: part for part in self._holder.parts()}
        for name, part in parts.items():
            if name in held and name not in found.kept:
                part.lose()
        if self._draining:
            return
        for name, paused in found.kept.items():
            if name in parts:
                parts[name].pause(paused)
        for name, redriven in found.redriven:
            if name in parts:
                parts[name].take_up_redriven(redriven)
        for name in found.surplus:
            if name in parts:
                parts[name].leave()
        for cursor, waiting in found.taken:
            log.info("subscription.taken", subscription=cursor.subscription, part=cursor.part, position=cursor.position)
            self._holder.take(cursor, waiting)
        self._tell_misfits(found.misfits)
        self._holder.wake()

    def _tell_misfits(self, misfits: dict[str, int]) -> None:
        for subscription, there in misfits.items():
            if self._misfits.get(subscription) != there:
                here = self._me.parts[subscription]
                hint = (
                    "its owner runs other code; this process takes none of it until the owner is started with this code"
                )
                log.warning("subscription.misfit", subscription=subscription, parts=here, stored=there, hint=hint)
        self._misfits = misfits

    def _cancel(self) -> None:
        if self._timer is not None:
            self._around.timers.cancel(self._timer)
            self._timer = None
