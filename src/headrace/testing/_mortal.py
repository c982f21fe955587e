"""A database that dies as a process dies that is killed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from headrace._engine.engine import NO_ANSWER
from headrace._ports.database import Done, Operation
from headrace._store.database import WriterAndReaders
from headrace._store.group_commit import answer_future
from headrace.errors import EngineUnavailable

T = TypeVar("T")


class MortalDatabase(WriterAndReaders):
    """A database that can die in the middle of everything, without anybody having to wait for it on the event loop."""

    def __init__(self, *opened: Any, **more: Any) -> None:
        super().__init__(*opened, **more)
        self._asked: set[asyncio.Future[Any]] = set()
        self._loop_thread = threading.get_ident()
        self._dying: threading.Thread | None = None
        self.is_dead = False

    def submit(self, operation: Operation[Any], done: Done | None = None, *, isolated: bool = False) -> None:
        if not self.is_dead:
            super().submit(operation, done, isolated=isolated)

    async def write(self, operation: Operation[T], *, isolated: bool = False) -> T:
        answer: asyncio.Future[T] = self._loop.create_future()
        self._asked.add(answer)
        answer.add_done_callback(self._asked.discard)
        self.submit(operation, answer_future(answer), isolated=isolated)
        if self.is_dead:
            self._tell_the_asked()
        return await answer

    @property
    def is_shared(self) -> bool:
        """A harness is alone with its store."""
        return False

    def listen(self, told: Callable[[str], None]) -> None:
        """So nobody tells it anything."""

    def abandon(self) -> None:
        """As a killed process would; callers are told that they will get no answer, as a broken connection would tell them."""
        self.is_dead = True
        if threading.get_ident() != self._loop_thread:
            self._writer.abandon()
            return
        self._reader.close()
        self._tell_the_asked()
        if self._dying is None:
            self._dying = threading.Thread(target=self._writer.abandon, name="headrace-undertaker", daemon=True)
            self._dying.start()

    def _tell_the_asked(self) -> None:
        for answer in tuple(self._asked):
            if not answer.done():
                answer.set_exception(EngineUnavailable(NO_ANSWER))

    async def buried(self) -> None:
        """Wait until the store is free again."""
        if self._dying is not None:
            await asyncio.to_thread(self._dying.join)
