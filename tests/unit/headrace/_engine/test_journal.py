from collections.abc import Callable
from typing import Any, cast

from headrace._base.clock import SystemClock
from headrace._engine.journal import Journal
from headrace._ports.database import Database, Done, Operation, Transaction
from headrace.errors import StoreFull


class Refusing:
    """A database that answers when it is told to."""

    def __init__(self) -> None:
        self.handed: list[tuple[Operation[Any], Done]] = []

    def submit(self, operation: Operation[Any], done: Done, *, isolated: bool) -> None:
        self.handed.append((operation, done))

    def answer(self, error: Exception | None = None) -> None:
        _, done = self.handed.pop(0)
        done(None, error)


def named(name: str) -> Callable[[Transaction], str]:
    return lambda tx: name


async def test_what_was_refused_keeps_its_place() -> None:
    """Memory follows the order of the journal: an entry that came later must not overtake one that is still on its way back."""
    database = Refusing()
    journal = Journal(cast(Database, database), SystemClock(), wake=lambda run: None, fail=lambda error: None)
    journal.submit(named("a"), lambda result, error: None)
    journal.submit(named("b"), lambda result, error: None)

    database.answer(StoreFull())
    journal.submit(named("c"), lambda result, error: None)
    database.answer(StoreFull())
    journal.offer_again()

    transaction = cast(Transaction, None)
    assert [operation(transaction) for operation, _ in database.handed] == ["a", "b", "c"]
    journal.close()
