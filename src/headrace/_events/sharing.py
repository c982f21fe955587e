"""Who has which part of which subscription, where several processes share them.

Every process says now and then that it is alive, and looks whether it has its share: of ``n`` parts each of ``w`` live processes is to
have ``n // w``, some one more. Whoever has too few takes what is free, whoever has too many lets go. Since all count alike, nobody
takes what is another one's, and nobody has to lead. What two take at the same moment one of them gets, as the fence says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from typing import NamedTuple

from headrace._base.clock import Instant
from headrace._events.model import Cursor, Held, base_name
from headrace._events.store import SQL, held_of, move_cursor
from headrace._ports.database import Reader, Row, SqlValue, Transaction
from headrace._store.statements import load

_STORE = load("headrace._store", "store.sql")

OWNER = "owner/"
"""How the name of an owner begins; there is one at a time."""
_LEASES_UNTIL_FORGOTTEN = 100

PartName = tuple[str, int]
"""A subscription or a replay, and the number of the part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A process that works for subscriptions; ``parts`` says of which, and of how many parts each has to be."""

    name: str
    host: str
    pid: int
    parts: Mapping[str, int]


class Part(NamedTuple):
    """A part as all processes see it."""

    subscription: str
    number: int
    holder: str | None
    until: Instant | None
    fence: int
    paused: bool

    @property
    def name(self) -> PartName:
        return self.subscription, self.number


class Live(NamedTuple):
    """A process that has been heard of."""

    name: str
    parts: Mapping[str, int]
    host: str
    pid: int
    began_at: Instant


@dataclass(slots=True)
class Shared:
    """What a process has after it has looked: parts that it kept, those it took, those it is to let go, and subscriptions it does not fit."""

    kept: dict[PartName, bool] = field(default_factory=dict)
    """Whether each is paused."""
    taken: list[tuple[Cursor, list[Held]]] = field(default_factory=list)
    surplus: list[PartName] = field(default_factory=list)
    misfits: dict[str, int] = field(default_factory=dict)
    """How many parts there are of a subscription that this process knows with another number."""
    redriven: list[tuple[PartName, list[Held]]] = field(default_factory=list)
    """Of the parts that it kept: what a person wants to be tried again."""


def take_share(tx: Transaction, me: Worker, held: Mapping[PartName, int], at: Instant, *, lease: int) -> Shared:
    """Say that this process is alive, keep the parts that it has under these fences, and find what it should have."""
    _say_alive(tx, me, at, at + lease)
    parts = [_part(row) for row in tx.all(SQL.shared_parts)]
    live = live_workers(tx, at)
    found = Shared()
    for name, fence in held.items():
        keys: dict[str, SqlValue] = {"subscription": name[0], "part": name[1], "fence": fence, "until": at + lease}
        if tx.run(SQL.keep_part, keys):
            found.kept[name] = next((part.paused for part in parts if part.name == name), False)
    for subscription, group in groupby(parts, key=lambda part: part.subscription):
        base = base_name(subscription)
        if base not in me.parts:
            continue
        number = sum(part.subscription == base for part in parts)
        if number != me.parts[base]:
            found.misfits[base] = number
            found.surplus += [part.name for part in group if part.name in found.kept]
            continue
        _share(tx, me, tuple(group), live, found, at, lease)
    return found


def _say_alive(tx: Transaction, me: Worker, at: Instant, until: Instant) -> None:
    subscriptions = json.dumps(dict(me.parts), sort_keys=True)
    if tx.run(SQL.keep_worker, {"name": me.name, "until": until, "subscriptions": subscriptions}):
        return
    tx.run(SQL.forget_workers, {"before": at - _LEASES_UNTIL_FORGOTTEN * (until - at), "kind": ""})
    entry: dict[str, SqlValue] = {"name": me.name, "host": me.host, "pid": me.pid, "at": at, "until": until}
    tx.run(SQL.enter_worker, entry | {"subscriptions": subscriptions})
    tell(tx, "parts")  # whoever has too many by now learns it at once


def _share(
    tx: Transaction, me: Worker, parts: Sequence[Part], live: Sequence[Live], found: Shared, at: Instant, lease: int
) -> None:
    subscription = parts[0].subscription
    base = base_name(subscription)
    # Those that know it with another number of parts take none, so nothing must be left for them.
    helping = [worker.name for worker in live if worker.parts.get(base) == me.parts[base]]
    quota = quotas(len(parts), helping, subscription).get(me.name, 0)
    mine = [part.name for part in parts if part.name in found.kept]
    found.surplus += mine[quota:]
    held = [item for item in held_of(tx, subscription) if item.alone] if mine else []
    found.redriven += [(name, held) for name in mine[:quota] if held]
    for part in parts:
        if len(mine) >= quota:
            break
        if part.name not in found.kept and is_free(part, me.name, at) and _take(tx, me, part, found, at, lease):
            mine.append(part.name)


def is_free(part: Part, me: str, at: Instant) -> bool:
    """Whether a part may be taken: nobody has it, its holder is dead, or this very process has lost sight of it."""
    return part.holder is None or part.holder == me or part.until is None or part.until < at


def _take(tx: Transaction, me: Worker, part: Part, found: Shared, at: Instant, lease: int) -> bool:
    keys: dict[str, SqlValue] = {"subscription": part.subscription, "part": part.number}
    row = tx.one(SQL.claim_part, keys | {"holder": me.name, "at": at, "until": at + lease})
    if row is None:
        return False
    position, fence, paused, stop_at = row
    cursor = Cursor(
        subscription=part.subscription, part=part.number, position=position, fence=fence, paused=bool(paused), stop_at=stop_at,
    )  # fmt: skip
    found.taken.append((cursor, held_of(tx, part.subscription)))
    return True


def quotas(parts: int, workers: Sequence[str], subscription: str) -> dict[str, int]:
    """How many parts each is to have. Who gets one more differs from subscription to subscription, so that nobody gets all that is over."""
    if not workers:
        return {}
    order = sorted(workers, key=lambda name: sha256(f"{subscription}/{name}".encode()).digest())
    each, over = divmod(parts, len(order))
    return {name: each + (place < over) for place, name in enumerate(order)}


def leave_part(tx: Transaction, cursor: Cursor, reached: int, at: Instant) -> None:
    """Everything up to ``reached`` is handled; let another process go on there at once."""
    move_cursor(tx, cursor, reached, at)
    tx.run(SQL.leave_part, {"subscription": cursor.subscription, "part": cursor.part, "fence": cursor.fence})
    tell(tx, "parts")


def leave_work(tx: Transaction, me: str) -> None:
    """This process works for no subscription any more."""
    tx.run(SQL.leave_all_parts, {"holder": me})
    tx.run(SQL.leave_worker, {"name": me})
    tell(tx, "parts")


def follow_owner(tx: Transaction) -> None:
    """A new owner takes over from the one before, which cannot be alive."""
    tx.run(SQL.free_parts_of_owners)
    tx.run(SQL.forget_workers, {"before": 0, "kind": OWNER})


def live_workers(reader: Reader, at: Instant) -> list[Live]:
    """Those that work for subscriptions now; an owner that leaves them all to others, and who is about to go, do not."""
    rows = reader.all(SQL.live_workers, {"at": at})
    found = [Live(name, json.loads(parts), host, pid, began_at) for name, parts, host, pid, began_at, _ in rows]
    return [live for live in found if live.parts]


def tell(tx: Transaction, what: str) -> None:
    """With the commit, other processes hear that something has changed: the ``log``, the ``parts``, or the ``calls`` for the owner."""
    tx.one(_STORE.tell_others, {"what": what})


def call_owner(tx: Transaction, run: int) -> None:
    """The owner has to look at this run."""
    tx.run(SQL.call_owner, {"run": run})
    tell(tx, "calls")


def _part(row: Row) -> Part:
    subscription, number, holder, until, fence, paused = row
    return Part(subscription, number, holder, until, fence, bool(paused))
