"""What the runtime needs of a database: operations are synchronous functions of a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from headrace._base.vault import Vault

T = TypeVar("T")

SqlValue = int | float | str | bytes | None
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A named SQL text with ``:name`` parameters, loaded from a ``.sql`` file.

    Each session runs the text of its own dialect; ``postgres`` is there only where Postgres needs another one.
    """

    name: str
    sql: str
    postgres: str | None = None


class Reader(Protocol):
    @property
    def vault(self) -> Vault:
        """What compresses and encrypts the values of this store; ``seal`` and ``unseal`` ask it."""
        ...

    def one(self, statement: Statement, parameters: Mapping[str, SqlValue] = ...) -> Row | None:
        """The first row, or None."""
        ...

    def all(self, statement: Statement, parameters: Mapping[str, SqlValue] = ...) -> list[Row]: ...

    def each(self, statement: Statement, parameters: Mapping[str, SqlValue] = ...) -> Iterator[Row]:
        """Rows one by one, read while iterating; close the iterator when leaving early."""
        ...


class Transaction(Reader, Protocol):
    def run(self, statement: Statement, parameters: Mapping[str, SqlValue] = ...) -> int:
        """Execute and return the number of rows changed."""
        ...

    def run_many(self, statement: Statement, rows: Iterable[Mapping[str, SqlValue]]) -> None: ...


Operation = Callable[[Transaction], T]
Done = Callable[[Any, BaseException | None], None]


class Database(Protocol):
    """One writer, many readers. What ``submit`` has answered for is on disk."""

    def submit(self, operation: Operation[Any], done: Done | None = None, *, isolated: bool = False) -> None:
        """Hand an operation to the writer and return at once.

        Operations commit in the order of submission, many in one transaction; ``done(result, error)`` is called on the
        event loop after the commit, in the same order. An operation that raises changes nothing and harms no other.
        It must be a function of the transaction alone, since it may be run again; ``isolated`` ones run in a savepoint of their own.
        """
        ...

    def submit_from_thread(self, operation: Operation[Any]) -> None:
        """``submit`` from any thread, for work whose answer nobody needs."""
        ...

    async def write(self, operation: Operation[T], *, isolated: bool = False) -> T:
        """``submit`` and wait for the answer."""
        ...

    def read(self, query: Callable[[Reader], T]) -> T:
        """Run a query on a read-only connection in the caller's thread; it sees all that was committed before the call."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other processes may write to it at the same time."""
        ...

    def listen(self, told: Callable[[str], None]) -> None:
        """Call back on the event loop when another process has committed something that it tells of; never where none can."""
        ...

    def pending(self) -> int:
        """Operations handed over and not yet answered."""
        ...

    async def close(self) -> None:
        """Commit what was handed over, then let go of the file."""
        ...

    def abandon(self) -> None:
        """Let go as ``kill -9`` would: what is not committed is lost, nothing more is answered."""
        ...
