"""What is true of every store at every moment, whatever has happened to the process or the disk.

I1 nothing acknowledged is lost; I2 a recorded step never runs again; I3 one outcome per run; I4 one order; I5 attempts are counted;
I8 the file is sound and no row is an orphan; I9 every open run has a state and, if it waits, a reason.
What only the outside can know, such as how often an effect happened, is for the test itself.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Protocol

from headrace._ports.database import Reader, Statement
from headrace._store.maintenance import check
from headrace._store.sqlite import open_sqlite_reader
from headrace._store.statements import load

__all__ = ["broken_invariants", "check_invariants"]

# What `headrace check` asks of any store, and what only tests have the patience for.
_QUESTIONS = {
    name: texts[name]
    for texts in (load("headrace._runs", "checks.sql"), load("headrace.testing", "invariants.sql"))
    for name in texts
}
_PAYLOADS = Statement("payloads", "SELECT hash, value FROM payloads")


class HasPath(Protocol):
    """An open database, or a reader of one."""

    path: Path


def check_invariants(database: HasPath | Path) -> list[str]:
    """What is wrong with a store, a line each; reads the file only, so it may be owned by another process."""
    path = database if isinstance(database, Path) else database.path
    report = check(path, _QUESTIONS)
    problems = [f"{finding.check}: {finding.detail}" for finding in report.findings]
    if not problems:
        with open_sqlite_reader(path) as reader:
            problems += reader.read(_wrong_payloads)
    return problems


def broken_invariants(reader: Reader) -> list[str]:
    """The same of a store that is no file, as far as SQL can tell."""
    problems = [f"{name}: {row!r}" for name, question in _QUESTIONS.items() for row in reader.all(question)]
    return problems + _wrong_payloads(reader)


def _wrong_payloads(reader: Reader) -> list[str]:
    return [
        f"payload_fits_its_hash: {hash.hex()}"
        for hash, value in reader.each(_PAYLOADS)
        if sha256(value).digest() != hash
    ]
