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
from headrace._ports.database import Reader
from headrace._store.maintenance import check
from headrace._store.statements import load

__all__ = ["broken_invariants", "check_invariants"]

# What `headrace check` asks of any store, and what only tests have the patience for.
_INVARIANTS = load("headrace.testing", "invariants.sql")
_QUESTIONS = {**questions(), **{name: _INVARIANTS[name] for name in _INVARIANTS}}


class HasPath(Protocol):
    """An open database, or a reader of one."""

    path: Path


def check_invariants(database: HasPath | Path, keys: Sequence[str | bytes] = ()) -> list[str]:
    """What is wrong with a store, a line each; reads the file only, so it may be owned by another process.

    Values that are encrypted under none of these keys are not opened.
    """
    path = database if isinstance(database, Path) else database.path
    report = check(path, _QUESTIONS, places=PLACES, vault=Vault(keys))
    return [f"{finding.check}: {finding.detail}" for finding in report.findings]


def broken_invariants(reader: Reader) -> list[str]:
    """The same of a store that is no file, as far as SQL can tell."""
    return [f"{name}: {row!r}" for name, question in _QUESTIONS.items() for row in reader.all(question)]
