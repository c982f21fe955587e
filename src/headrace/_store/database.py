"""The ``Database`` port over one writer and any number of readers, whichever the driver."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from headrace._ports.database import Done, Operation, Reader
from headrace._store.group_commit import CommitCounts, GroupCommit, answer_future

T = TypeVar("T")


class Readers(Protocol):
    def read(self, query: Callable[[Reader], T]) -> T: ...

    def close(self) -> None: ...


class WriterAndReaders:
    def __init__(self, writer: GroupCommit, reader: Readers, loop: asyncio.AbstractEventLoop) -> None:
        self._writer = writer
        self._reader = reader
        self._loop = loop

    def submit(self, operation: Operation[Any], done: Done | None = None, *, isolated: bool = False) -> None:
        self._writer.submit(operation, done, isolated)

    def submit_from_thread(self, operation: Operation[Any]) -> None:
        self._writer.submit_from_thread(operation)

    async def write(self, operation: Operation[T], *, isolated: bool = False) -> T:
        answer: asyncio.Future[T] = self._loop.create_future()
        self._writer.submit(operation, answer_future(answer), isolated)
        return await answer

    def read(self, query: Callable[[Reader], T]) -> T:
        return self._reader.read(query)

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def heard(self) -> int:
        """How often another process told of something new."""
        return 0

    def listen(self, told: Callable[[str], None]) -> None:
        """Nobody else writes."""

    def pending(self) -> int:
        return self._writer.pending()

    def counts(self) -> CommitCounts:
        return self._writer.counts()

    async def close(self) -> None:
        self._reader.close()
        await self._writer.close()

    def abandon(self) -> None:
        self._reader.close()
        self._writer.abandon()
