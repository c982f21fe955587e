"""The store as pipelines see it: for tables of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from headrace._ports.database import Database, Reader, SqlValue, Statement, Transaction

T = TypeVar("T")

ROWS_IN_A_SLICE = 500


class Tables:
    """Reads and writes the tables that a pipeline brings along; ``use(Tables)`` in a step, ``app.tables`` elsewhere."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, query: Callable[[Reader], T]) -> T:
        """Run a query on one state of the store, which has all that was committed before."""
        return self._database.read(query)

    async def write(self, operation: Callable[[Transaction], T]) -> T:
        """Run an operation in a transaction; on disk when this returns. It may be run again, so it is a function of the transaction alone."""
        return await self._database.write(operation)

    async def write_many(self, statement: Statement, rows: Iterable[Mapping[str, SqlValue]]) -> int:
        """Run a statement for each row, in slices that let others write in between; returns how many."""
        number, waiting = 0, iter(rows)
        while some := list(itertools.islice(waiting, ROWS_IN_A_SLICE)):
            await self._database.write(lambda tx, some=some: tx.run_many(statement, some))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            number += len(some)
        return number
