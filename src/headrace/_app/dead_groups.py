"""Dead letters in groups: those of one subscription that have the same cause, so that a person decides once about all of them.

Why a letter is dead stands in a value that may be encrypted, so no index knows it. The newest letters are read and grouped, and the
answer says how many there are besides.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from headrace._app.event_view import PlainDeadLetter
from headrace._app.view import ErrorText
from headrace._base.clock import Instant, to_datetime
from headrace._events.store import count_dead, dead_letter
from headrace._ports.database import Reader, SqlValue
from headrace._store.blobs import unseal
from headrace._store.statements import load

_LISTING = load("headrace._events", "listing.sql")
_BEYOND_ALL = 2**62
_PAGE = 500

GROUPED = 5_000
"""How many letters of a subscription are grouped."""
REACH = 100_000
"""How many letters a list of those that were settled looks through."""

# What is different in each letter: ids, numbers, and what stands in quotes. What an HTTP status says is the same in each.
_SHAPES = (
    (re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "…"),
    (re.compile(r"(?<!\w)(?:'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`)(?!\w)"), "…"),
    (re.compile(r"\b(?<!HTTP )(?<!status )\w*\d\w*"), "…"),
    (re.compile(r"…(?:[-.:/]…)+"), "…"),
)
_LONGEST = 160


@dataclass(frozen=True, kw_only=True)
class DeadGroup:
    """Letters with one cause. ``key`` names the group in addresses; ``letters`` are their ids, the newest first."""

    key: str
    subscription: str
    type: str
    message: str
    example: str
    letters: tuple[int, ...]
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, kw_only=True)
class DeadGroups:
    """``counts`` are of all dead letters, by subscription; ``looked`` is how many of them are in the groups."""

    groups: tuple[DeadGroup, ...]
    counts: dict[str, int]

    @property
    def looked(self) -> int:
        return sum(len(group.letters) for group in self.groups)


def dead_groups(reader: Reader, *, subscription: str = "", reach: int = GROUPED) -> DeadGroups:
    """The groups of all subscriptions or of one, the largest first."""
    counts = {name: number for name, number in count_dead(reader).items() if subscription in ("", name)}
    found: defaultdict[tuple[str, str, str], list[_Dead]] = defaultdict(list)
    for name in counts:
        for dead in _causes(reader, name, reach):
            found[name, dead.type, dead.shape].append(dead)
    groups = [_group(name, letters) for (name, _, _), letters in found.items()]
    return DeadGroups(groups=tuple(sorted(groups, key=lambda one: (-len(one.letters), one.key))), counts=counts)


def group_named(reader: Reader, subscription: str, key: str) -> DeadGroup | None:
    """A group among the newest letters of a subscription; None when none of them is dead of this cause."""
    found = dead_groups(reader, subscription=subscription)
    return next((group for group in found.groups if group.key == key), None)


def letters_of(reader: Reader, ids: Sequence[int]) -> tuple[PlainDeadLetter, ...]:
    found = (dead_letter(reader, id) for id in ids)
    return tuple(PlainDeadLetter.of(letter) for letter in found if letter is not None)


def settled_letters(
    reader: Reader, state: str, *, before: int | None = None, count: int = 50
) -> tuple[tuple[PlainDeadLetter, ...], int | None]:
    """Letters that are dead no more, the newest first, and the cursor of what follows."""
    start = _BEYOND_ALL if before is None else before
    row = reader.one(_LISTING.floor_of_letters, {"before": start, "reach": REACH})
    floor = None if row is None else int(row[0])
    parameters: dict[str, SqlValue] = {"state": state, "before": start, "floor": floor or 0, "count": count + 1}
    ids = [pk for (pk,) in reader.all(_LISTING.newest_letters, parameters)]
    return letters_of(reader, ids[:count]), ids[count - 1] if len(ids) > count else floor


def shape_of(message: str) -> str:
    """A message without what is different in each letter."""
    line = message.strip().partition("\n")[0]
    for pattern, replacement in _SHAPES:
        line = pattern.sub(replacement, line)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


class _Dead(NamedTuple):
    id: int
    first_at: Instant
    at: Instant
    type: str
    shape: str
    example: str


def _causes(reader: Reader, subscription: str, reach: int) -> Iterator[_Dead]:
    before, looked = _BEYOND_ALL, 0
    while looked < reach:
        wanted = min(_PAGE, reach - looked)
        rows = reader.all(_LISTING.newest_dead, {"subscription": subscription, "before": before, "count": wanted})
        for id, first_at, at, error in rows:
            yield _Dead(id, first_at, at, *_read(unseal(reader, error) or b"{}"))
        if len(rows) < wanted:
            return
        before, looked = rows[-1][0], looked + len(rows)


# Letters of one outage mostly have the same error to the letter.
@lru_cache(maxsize=2_048)
def _read(error: bytes) -> tuple[str, str, str]:
    told = ErrorText.of(error)
    return told.type.rpartition(":")[2], shape_of(told.message), told.short


def _group(subscription: str, letters: list[_Dead]) -> DeadGroup:
    newest = letters[0]
    key = sha256(f"{subscription}\0{newest.type}\0{newest.shape}".encode()).hexdigest()[:12]
    return DeadGroup(
        key=key,
        subscription=subscription,
        type=newest.type,
        message=newest.shape,
        example=newest.example,
        letters=tuple(one.id for one in letters),
        first_at=to_datetime(min(one.first_at for one in letters)),
        last_at=to_datetime(max(one.at for one in letters)),
    )
