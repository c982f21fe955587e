"""The single writer: whatever has gathered while the database was busy is committed in one transaction.

A batch runs without savepoints, since almost every operation succeeds; when one that has already written raises, the batch
is rolled back and run again with a savepoint for each. Control messages travel in the same queue as operations, so that
"refuse", "resume" and "stop" have a place in the order of submission.

The interpreter's lock needs help: a loop that is never idle polls for events every few callbacks, which hands the lock
over for too short a time for a waiting thread to wake up, and each time restarts that thread's claim to it. Measured: a
loop busy with slices of 2 ms kept the writer from a single commit for seconds. So the loop, while answers are
outstanding and the writer has not had its turn, waits for a moment on purpose (``_give_way``).
"""

from __future__ import annotations

import asyncio
import enum
import queue
import select
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from headrace._base import faultpoints
from headrace._ports.database import Done, Operation, Transaction
from headrace.errors import StoreBusy, StoreCorrupt, StoreError, StoreFailed, StoreFull, StoreLost

T = TypeVar("T")

_MOST_OPERATIONS = 1_024
_ANSWERS_IN_A_TURN = 128
_SECONDS_BETWEEN_TURNS = 0.001
_SECONDS_OF_A_TURN = 0.000_2
_PASSING = (StoreFull, StoreBusy)
_LASTING = (StoreFailed, StoreCorrupt, StoreLost)

_Work = tuple[Operation[Any], Done | None, bool]
_Answer = tuple[Done | None, Any, BaseException | None]


class WritingSession(Transaction, Protocol):
    """What operations write through, and what they left behind in the transaction."""

    broken: StoreError | None
    """The whole transaction is lost, not only the statement that met this."""
    touched: bool
    """The operation under way has left something that only a savepoint, or giving up the transaction, takes back."""
    aborted: bool
    """A statement failed, and until it is taken back the database accepts no other."""

    def control(self, sql: str) -> object:
        """BEGIN, SAVEPOINT and their like."""
        ...


class Medium(Protocol):
    """What a driver gives the writer: one transaction at a time, in the writer's thread. It raises store errors only."""

    advice: str
    """What a person should do when writing has failed for good."""

    @property
    def session(self) -> WritingSession: ...

    def begin(self, *, apart: bool) -> None:
        """Open a transaction, ``apart`` when what fails in it must be taken back alone.

        Raises ``StoreLost`` when the store is another process's by now.
        """
        ...

    def commit(self) -> None: ...

    def roll_back(self) -> None:
        """Also of what is broken."""
        ...

    def recover(self, failure: StoreError) -> None:
        """Return when the same batch may pass now, after waiting if need be; raise what to tell the callers otherwise."""
        ...

    def tend(self) -> None:
        """Called between batches."""
        ...

    def leave(self, *, in_order: bool) -> None:
        """Let go of the database; ``in_order``: all that was handed over is committed."""
        ...

    def hurry(self, *, cut_off: bool) -> None:
        """From another thread: wait for nothing any more; ``cut_off``: not even for what is under way."""
        ...


class _Control(enum.Enum):
    RESUME = enum.auto()
    STOP = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitCounts:
    """How much was shared: operations per transaction is what group commit is for."""

    operations: int
    transactions: int
    repeated: int


class GroupCommit:
    """Owns the medium and the thread that uses it; all public methods are for the event loop's thread."""

    def __init__(self, medium: Medium, loop: asyncio.AbstractEventLoop, let_go: Callable[[], None]) -> None:
        self._medium = medium
        self._session = medium.session
        self._after_letting_go = let_go
        self._loop = loop
        self._queue: queue.SimpleQueue[_Work | _Control] = queue.SimpleQueue()
        self._control: _Control | None = None
        self._answers: deque[_Answer] = deque()
        self._handed = 0
        self._answered = 0
        self._refusal: StoreError | None = None
        self._abandoned = False
        self._closed: asyncio.Future[None] | None = None
        self._turns = 0
        self._turns_seen = 0
        self._courtesy: asyncio.TimerHandle | None = None
        self._operations = 0
        self._transactions = 0
        self._repeated = 0
        self._thread = threading.Thread(target=self._work, name="headrace-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation[Any], done: Done | None, isolated: bool) -> None:
        if self._abandoned:
            return
        self._handed += 1
        if self._closed is not None:
            self._answers.append((done, None, StoreError("the store is closed")))
            self._loop.call_soon(self._deliver)
        else:
            self._queue.put((operation, done, isolated))
            if self._courtesy is None:
                self._courtesy = self._loop.call_later(_SECONDS_BETWEEN_TURNS, self._give_way)

    def submit_from_thread(self, operation: Operation[Any]) -> None:
        """The one method for other threads."""
        self._queue.put((operation, self._uncounted, False))

    def pending(self) -> int:
        return 0 if self._abandoned else self._handed - self._answered

    def counts(self) -> CommitCounts:
        return CommitCounts(operations=self._operations, transactions=self._transactions, repeated=self._repeated)

    async def close(self) -> None:
        """Commit what was handed over, and let go of the database in order."""
        if self._abandoned:
            return
        if self._closed is None:
            self._closed = self._loop.create_future()
            self._queue.put(_Control.STOP)
            self._medium.hurry(cut_off=False)
        await asyncio.shield(self._closed)

    def abandon(self) -> None:
        """Let go at once; safe in the writer's own thread too, where a fault point may strike."""
        self._abandoned = True
        self._queue.put(_Control.STOP)
        self._medium.hurry(cut_off=True)
        if threading.current_thread() is not self._thread:
            self._thread.join()
            if self._closed is not None:
                self._finish_closing(None)

    # The loop's side

    def _deliver(self) -> None:
        answers = self._answers
        left = _ANSWERS_IN_A_TURN
        try:
            while answers and left and not self._abandoned:
                left -= 1
                done, result, error = answers.popleft()
                self._answered += 1
                if done is not None:
                    done(result, error)
                elif error is not None:
                    self._report(error)
        finally:
            # The rest comes in the next turn, so that one batch does not hold the loop; a `done` that raised must not silence those behind it.
            if answers and not self._abandoned:
                self._loop.call_soon(self._deliver)

    def _give_way(self) -> None:
        self._courtesy = None
        if not self.pending():
            return
        if self._turns == self._turns_seen:
            select.select((), (), (), _SECONDS_OF_A_TURN)
        self._turns_seen = self._turns
        self._courtesy = self._loop.call_later(_SECONDS_BETWEEN_TURNS, self._give_way)

    def _report(self, error: BaseException) -> None:
        self._loop.call_exception_handler(
            {"message": "a store operation failed and nobody waits for its answer", "exception": error}
        )

    def _uncounted(self, _result: object, error: BaseException | None) -> None:
        self._answered -= 1
        if error is not None:
            self._report(error)

    def _resume(self, _result: object, _error: object) -> None:
        self._answered -= 1
        self._queue.put(_Control.RESUME)

    def _finish_closing(self, error: BaseException | None) -> None:
        assert self._closed is not None
        if self._closed.done():
            return
        if error is None:
            self._closed.set_result(None)
        else:
            self._closed.set_exception(error)

    # The writer's side

    def _work(self) -> None:
        try:
            while self._control is not _Control.STOP and not self._abandoned:
                batch = self._gather()
                if batch:
                    self._answer(self._settle(batch))
                if self._control is _Control.RESUME and isinstance(self._refusal, _PASSING):
                    self._refusal = None
                if self._refusal is None:
                    self._tend()
        except BaseException:
            self._abandoned = True
            raise
        finally:
            self._let_go()

    def _gather(self) -> list[_Work]:
        waiting = self._queue
        batch: list[_Work] = []
        self._control = None
        item = waiting.get()
        self._turns += 1
        while True:
            if isinstance(item, _Control):
                self._control = item
                return batch
            batch.append(item)
            if len(batch) == _MOST_OPERATIONS or waiting.empty():
                return batch
            item = waiting.get_nowait()

    def _settle(self, batch: list[_Work]) -> list[_Answer]:
        if self._refusal is not None:
            return self._all_refused(batch, self._refusal)
        while True:
            try:
                return self._commit(batch)
            except StoreError as error:
                failure = error
            except Exception as error:  # noqa: BLE001  the thread must not die and leave its callers waiting
                failure = StoreFailed(f"the writer failed ({error!r}); restart")
                failure.__cause__ = error
            try:
                self._medium.recover(self._roll_back(failure))
            except StoreError as final:
                return self._refuse(batch, final)
            self._repeated += 1

    def _refuse(self, batch: list[_Work], failure: StoreError) -> list[_Answer]:
        self._refusal = self._passing_or_lasting(failure)
        refused = self._all_refused(batch, self._refusal)
        if isinstance(self._refusal, _PASSING):
            # Whoever handed over more without knowing of this failure is refused too: what comes
            # later must not be recorded without what came before. The loop says when all know.
            refused.append((self._resume, None, None))
        return refused

    def _all_refused(self, batch: list[_Work], refusal: StoreError) -> list[_Answer]:
        return [(done, None, _again(refusal)) for _, done, _ in batch]

    def _roll_back(self, failure: StoreError) -> StoreError:
        try:
            self._medium.roll_back()
        except StoreError as error:
            return self._lasting(error)
        return failure

    def _commit(self, batch: list[_Work]) -> list[_Answer]:
        answers = None
        if not any(isolated for _, _, isolated in batch):
            answers = self._run_together(batch)
        if answers is None:
            answers = self._run_apart(batch)
        if self._session.broken is not None:
            raise self._session.broken
        faultpoints.hit("store.before_commit")
        if self._abandoned:
            return []
        self._medium.commit()
        self._operations += len(batch)
        self._transactions += 1
        faultpoints.hit("store.after_commit")
        return answers

    def _run_together(self, batch: list[_Work]) -> list[_Answer] | None:
        """None when an operation raised after it had written: only running them apart can undo it alone."""
        self._medium.begin(apart=False)
        session = self._session
        answers: list[_Answer] = []
        for operation, done, _ in batch:
            if self._abandoned:
                return answers
            session.touched = False
            try:
                answers.append((done, operation(session), None))
            except BaseException as error:  # noqa: BLE001  it belongs to the caller, whatever it is
                if session.broken is not None:
                    return answers
                if session.touched:
                    break
                answers.append((done, None, error))
        else:
            if not session.aborted or session.broken is not None:
                return answers
        self._medium.roll_back()
        self._repeated += 1
        return None

    def _run_apart(self, batch: list[_Work]) -> list[_Answer]:
        self._medium.begin(apart=True)
        session = self._session
        answers: list[_Answer] = []
        for operation, done, _ in batch:
            if self._abandoned:
                return answers
            session.control("SAVEPOINT operation")
            try:
                result = operation(session)
            except BaseException as error:  # noqa: BLE001  it belongs to the caller, whatever it is
                if session.broken is not None:
                    return answers
                session.control("ROLLBACK TO operation")
                answers.append((done, None, error))
            else:
                answers.append((done, result, None))
            if session.broken is not None:
                return answers
            session.control("RELEASE operation")
        return answers

    def _answer(self, answers: list[_Answer]) -> None:
        self._turns += 1
        self._answers.extend(answers)
        self._tell(self._deliver)

    def _tell(self, callback: Callable[..., None], *arguments: object) -> None:
        if self._abandoned:
            return
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The loop was closed under the store: nobody is left to be told.
            self._abandoned = True

    def _tend(self) -> None:
        try:
            self._medium.tend()
        except StoreError as error:
            self._refusal = self._lasting(error)

    def _let_go(self) -> None:
        failure: StoreError | None = None
        try:
            self._medium.leave(in_order=not self._abandoned and self._refusal is None)
        except StoreError as error:
            failure = error
        finally:
            self._after_letting_go()
            # What was acknowledged is on disk; only the mark is missing, and the next owner looks closer without it.
            self._tell(self._finish_closing, None if isinstance(failure, _PASSING) else failure)

    def _passing_or_lasting(self, error: StoreError) -> StoreError:
        return error if isinstance(error, _PASSING) else self._lasting(error)

    def _lasting(self, error: StoreError) -> StoreError:
        if isinstance(error, _LASTING):
            return error
        failed = StoreFailed(f"the writer failed ({error}); {self._medium.advice}")
        failed.__cause__ = error
        return failed


def _again(error: StoreError) -> StoreError:
    """A copy for each caller: an exception raised in many places would gather all their tracebacks."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy


def answer_future(future: asyncio.Future[T]) -> Callable[[Any, BaseException | None], None]:
    """A ``done`` that settles a future, unless whoever waited has gone."""

    def done(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    return done
