from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from headrace._engine.journal import Journal
from headrace._ports.database import Database, Done, Operation
from headrace._runs.store import begin
from headrace.errors import StoreFailed, StoreFull
from headrace.testing import VirtualClock


class FillingDisk:
    """A database whose answers the test gives."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Operation[Any], Done]] = []
        self.written: list[Operation[Any]] = []

    def submit(self, operation: Operation[Any], done: Done, *, isolated: bool = False) -> None:
        self.waiting.append((operation, done))

    def refuse_next(self, error: BaseException | None = None) -> None:
        _, done = self.waiting.pop(0)
        done(None, error or StoreFull("no space"))

    def write_all(self) -> None:
        while self.waiting:
            operation, done = self.waiting.pop(0)
            self.written.append(operation)
            done(None, None)


@pytest.fixture
def disk() -> FillingDisk:
    return FillingDisk()


@pytest.fixture
def failures() -> list[BaseException]:
    return []


@pytest.fixture
async def journal(disk: FillingDisk, failures: list[BaseException]) -> Any:
    journal = Journal(
        cast(Database, disk),
        VirtualClock(),
        wake=lambda run: None,
        fail=failures.append,
        begin=begin,
        changed=lambda pk: None,
    )
    yield journal
    journal.close()


def operations() -> Iterator[Operation[Any]]:
    while True:
        yield lambda tx: None


def never_told(result: Any, error: BaseException | None) -> None:
    assert error is None, "whoever writes for a run is not bothered with a full disk"


async def test_what_a_full_disk_refused_is_offered_again_in_its_order(disk: FillingDisk, journal: Journal) -> None:
    """Refusals are told a few at a time, and the engine goes on meanwhile: a later row of a run must not pass an earlier one."""
    made = operations()
    first, second, third, fourth = (next(made) for _ in range(4))
    journal.submit(first, never_told)
    journal.submit(second, never_told)

    disk.refuse_next()
    journal.submit(third, never_told)
    disk.refuse_next()
    journal.submit(fourth, never_told)
    assert journal.is_held
    journal.offer_again()
    disk.write_all()

    assert disk.written == [first, second, third, fourth]
    assert not journal.is_held


async def test_a_disk_that_is_still_full_is_asked_again(disk: FillingDisk, journal: Journal) -> None:
    """One offer is not enough: space may come back an hour later."""
    journal.submit(only := next(operations()), never_told)

    for _ in range(3):
        disk.refuse_next()
        assert disk.waiting == []
        journal.offer_again()
    disk.write_all()

    assert disk.written == [only]


async def test_a_broken_disk_ends_it(disk: FillingDisk, journal: Journal, failures: list[BaseException]) -> None:
    """What cannot be written down must not be offered for ever, nor be taken for written."""
    journal.submit(next(operations()), never_told)

    disk.refuse_next(StoreFailed("the disk failed"))

    assert [type(error) for error in failures] == [StoreFailed]
    assert not journal.is_held
