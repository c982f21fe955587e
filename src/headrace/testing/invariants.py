"""What is true of every store at every moment, whatever has happened to the process or the disk.

I1 nothing acknowledged is lost; I2 a recorded step never runs again; I3 one outcome per run; I4 one order; I5 attempts are counted;
I8 the file is sound and no row is an orphan; I9 every open run has a state and, if it waits, a reason.
What only the outside can know, such as how often an effect happened, is for the test itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from headrace._app.checks import questions
from headrace._app.keys import PLACES
from headrace._base.vault import Vault
from headrace._store.location import Location, PostgresUrl
from headrace._store.maintenance import check
from headrace._store.statements import load

__all__ = ["check_invariants"]

# What `headrace check` asks of any store, and what only tests have the patience for.
_INVARIANTS = load("headrace.testing", "invariants.sql")
_QUESTIONS = {**questions(), **{name: _INVARIANTS[name] for name in _INVARIANTS}}


class HasPath(Protocol):
    """An open database, or a reader of one."""

    path: Path


def check_invariants(database: HasPath | Location, keys: Sequence[str | bytes] = ()) -> list[str]:
    """What is wrong with a store, a line each; reads only, so it may be owned by another process.

    Values that are encrypted under none of these keys are not opened.
    """
    place = database if isinstance(database, Path | PostgresUrl) else database.path
    if isinstance(place, PostgresUrl):
        from headrace._store.postgres_maintenance import check as check_tables

        report = check_tables(place, _QUESTIONS, places=PLACES, vault=Vault(keys))
    else:
        report = check(place, _QUESTIONS, places=PLACES, vault=Vault(keys))
    return [f"{finding.check}: {finding.detail}" for finding in report.findings]
