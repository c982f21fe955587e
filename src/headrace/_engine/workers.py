"""Worker processes for cpu steps: one step at a time in each, so that a death harms one step only.

Two threads serve a process, with blocking calls only. The keeper starts it and waits for its end; since the kernel kills the process when the
thread that started it ends, it does nothing else. The talker hands over work and reads answers. Everything else happens on the event loop.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import process, spawn, util
from pathlib import Path

from headrace._base import log
from headrace._engine import worker_main
from headrace._engine.worker_main import Frame, receive, send, send_at_once
from headrace.errors import ConfigurationError, EngineUnavailable, WorkerDied

TASKS_PER_WORKER = 1_000
# As many computing threads as workers are wanted, not the square of it; who sets these variables is obeyed.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_PROGRAM = Path(worker_main.__file__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One attempt of a cpu step."""

    module: str
    qualname: str
    main_path: str | None
    step_name: str
    arguments: bytes
    run_id: str
    key: str
    attempt: int
    previous_progress: bytes | None


class RecordedFailure(Exception):
    """The step raised; ``stored`` is its error as ``encode_error`` wrote it where it happened."""

    def __init__(self, stored: bytes) -> None:
        super().__init__(stored)
        self.stored = stored


class WorkerPool:
    """Up to ``size`` processes: started when needed, kept warm, replaced when they die and after ``tasks_per_worker`` steps."""

    def __init__(self, *, size: int, grace: float = 5.0, tasks_per_worker: int = TASKS_PER_WORKER) -> None:
        if getattr(process.current_process(), "_inheriting", False):
            raise ConfigurationError(
                "a worker process imports this script for one of its steps, and the script starts Headrace again; "
                'put the start under: if __name__ == "__main__":'
            )
        self._grace = grace
        self._tasks_per_worker = tasks_per_worker
        self._slots = asyncio.Semaphore(size)
        self._workers: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._is_closed = False

    async def run(self, work: Work, *, on_progress: Callable[[bytes], None]) -> bytes:
        """The encoded result; of progress that comes faster than the loop turns, the last word is told.

        Raises ``RecordedFailure`` for the step's own error, ``WorkerDied`` when the process ended without an answer,
        ``EngineUnavailable`` when the pool closes or no process can be started.
        """
        async with self._slots:
            while True:
                if self._is_closed:
                    raise EngineUnavailable("the worker processes are stopping")
                is_fresh = not self._idle
                worker = self._hire() if is_fresh else self._idle.pop()
                call = await self._ask(worker, work, on_progress)
                # A warm worker may have died while idle, which is nothing to the step.
                if call.is_taken or is_fresh:
                    return self._answer_of(call)

    async def close(self) -> None:
        """Let idle workers exit and kill busy ones; their callers get ``EngineUnavailable``."""
        self._is_closed = True
        for worker in self._workers:
            if worker.is_busy:
                worker.kill()
            else:
                worker.retire(self._grace)
        if self._workers:
            await asyncio.wait([worker.gone for worker in self._workers])

    def _hire(self) -> _Worker:
        worker = _Worker(asyncio.get_running_loop())
        self._workers.add(worker)
        worker.gone.add_done_callback(functools.partial(self._bury, worker))
        return worker

    def _bury(self, worker: _Worker, _gone: asyncio.Future[None]) -> None:
        self._workers.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)

    async def _ask(self, worker: _Worker, work: Work, on_progress: Callable[[bytes], None]) -> _Call:
        call = worker.take(work, on_progress)
        try:
            await asyncio.wait([call.over])
        except asyncio.CancelledError:
            worker.cancel(self._grace)
            await _outlast(call.over)
            worker.retire(self._grace)
            raise
        if self._is_closed or call.answer is None or worker.tasks >= self._tasks_per_worker:
            worker.retire(self._grace)
        else:
            self._idle.append(worker)
        return call

    def _answer_of(self, call: _Call) -> bytes:
        if call.answer is not None:
            kind, body = call.answer
            if kind is Frame.RESULT:
                return body
            raise RecordedFailure(body)
        if self._is_closed:
            raise EngineUnavailable("the worker processes are stopping; the step was ended")
        if call.not_started is not None:
            raise EngineUnavailable(f"no worker process can be started: {call.not_started}") from call.not_started
        log.warning(
            "worker.died",
            step=call.work.step_name,
            run_id=call.work.run_id,
            attempt=call.work.attempt,
            exit_code=call.exit_code,
        )
        raise WorkerDied(call.work.step_name, call.exit_code)


async def _outlast(over: asyncio.Future[None]) -> None:
    """Wait on even if cancelled again: the worker's grace bounds it."""
    while not over.done():
        try:
            await asyncio.wait([over])
        except asyncio.CancelledError:
            continue


class _Call:
    """One piece of work in the hands of one worker."""

    def __init__(self, work: Work, on_progress: Callable[[bytes], None], over: asyncio.Future[None]) -> None:
        self.work = work
        self.over = over
        self.is_taken = False
        self.answer: tuple[Frame, bytes] | None = None
        self.exit_code: int | None = None
        self.not_started: OSError | None = None
        self._on_progress = on_progress
        self._progress: deque[bytes] = deque(maxlen=1)
        self._is_told = False

    def note(self, progress: bytes) -> bool:
        """Keep the newest progress (the talker's side); whether the loop has to be told."""
        self._progress.append(progress)
        was_told, self._is_told = self._is_told, True
        return not was_told

    def tell(self) -> None:
        """Pass the newest progress on (the loop's side)."""
        # First the flag: what is noted after it is told again.
        self._is_told = False
        if self._progress:
            self._on_progress(self._progress.pop())

    def finish(self, answer: tuple[Frame, bytes]) -> None:
        self.answer = answer
        self.over.set_result(None)


class _Worker:
    """One process and the two threads that serve it; what has no underscore belongs to the event loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.gone: asyncio.Future[None] = loop.create_future()
        self.tasks = 0
        self._loop = loop
        self._call: _Call | None = None
        self._inbox: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._timer: asyncio.TimerHandle | None = None
        self._channel, self._far_end = socket.socketpair()
        # A process may be signalled until it is buried, not later: its number may belong to another one by then.
        self._burial = threading.Lock()
        self._pid: int | None = None
        self._is_doomed = False
        self._talker = threading.Thread(
            target=self._talk, args=[_preparation()], name="headrace-worker-talker", daemon=True
        )
        self._keeper = threading.Thread(target=self._keep, name="headrace-worker-keeper", daemon=True)
        self._talker.start()
        self._keeper.start()

    # The loop's side

    @property
    def is_busy(self) -> bool:
        return self._call is not None and not self._call.over.done()

    def take(self, work: Work, on_progress: Callable[[bytes], None]) -> _Call:
        call = self._call = _Call(work, on_progress, self._loop.create_future())
        self.tasks += 1
        if self.gone.done():
            call.over.set_result(None)
        else:
            self._inbox.put(call)
        return call

    def cancel(self, grace: float) -> None:
        """Ask the step to stop, and see to it; a step that has not begun needs no asking."""
        if self._call is None or not self._call.is_taken:
            self.kill()
            return
        try:
            # The talker only reads by now, so nothing can get between the bytes of its frames.
            send_at_once(self._channel, Frame.CANCEL)
        except OSError:
            return  # it has just ended
        self._signal(signal.SIGTERM)
        self._kill_after(grace)

    def retire(self, grace: float) -> None:
        """No more work: the process exits by itself, or is killed when that takes too long."""
        self._inbox.put(None)
        self._kill_after(grace)

    def kill(self) -> None:
        self._is_doomed = True
        self._signal(signal.SIGKILL)

    def _kill_after(self, seconds: float) -> None:
        if self._timer is None and not self.gone.done():
            self._timer = self._loop.call_later(seconds, self.kill)

    def _signal(self, number: signal.Signals) -> None:
        # If the lock is taken, the keeper is at the same process with a spade.
        if not self._burial.acquire(blocking=False):
            return
        try:
            if self._pid is None:
                return
            if number is signal.SIGKILL:
                os.killpg(self._pid, number)
            else:
                os.kill(self._pid, number)
        except ProcessLookupError:
            pass  # somebody else has waited for it
        finally:
            self._burial.release()

    def _has_ended(self, exit_code: int | None, not_started: OSError | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        call = self._call
        if call is not None and not call.over.done():
            call.exit_code = exit_code
            call.not_started = not_started
            call.over.set_result(None)
        if not self.gone.done():
            self.gone.set_result(None)

    def _tell(self, callback: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:  # the loop was closed under a pool that was not
            self.kill()

    # The keeper's thread

    def _keep(self) -> None:
        exit_code: int | None = None
        not_started: OSError | None = None
        try:
            exit_code = self._wait(self._start())
        except OSError as error:
            not_started = error
        finally:
            self._far_end.close()
            self._dismiss_talker()
            self._tell(self._has_ended, exit_code, not_started)

    def _dismiss_talker(self) -> None:
        self._inbox.put(None)
        # What the process said before it died is still read; then the talker sees the end.
        self._channel.shutdown(socket.SHUT_RDWR)
        self._talker.join()
        self._channel.close()

    def _start(self) -> subprocess.Popen[bytes]:
        far_end = self._far_end.fileno()
        flags = util._args_from_interpreter_flags()  # type: ignore[attr-defined]  # what multiprocessing passes on to its own
        with self._burial:
            started = subprocess.Popen(
                [spawn.get_executable(), *flags, "-P", str(_PROGRAM), str(far_end), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                pass_fds=[far_end],
                env={**dict.fromkeys(_ONE_THREAD, "1"), **os.environ},
                start_new_session=True,
            )
            self._pid = started.pid
        self._far_end.close()
        if self._is_doomed:
            self._signal(signal.SIGKILL)
        return started

    def _wait(self, started: subprocess.Popen[bytes]) -> int:
        """Wait for the end of the process, which is the end of its group as well."""
        if hasattr(os, "waitid"):
            try:
                # Left unburied, so that its number stays its own until the group is dead.
                os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)
            except ChildProcessError:
                pass
        else:
            started.wait()
        with self._burial:
            self._pid = None
            try:
                os.killpg(started.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            exit_code = started.wait()
        _bury_orphans(started.pid)
        return exit_code

    # The talker's thread

    def _talk(self, preparation: bytes) -> None:
        is_in_order = False
        try:
            send(self._channel, Frame.PREPARE, preparation)
            while (call := self._inbox.get()) is not None:
                self._hand_over(call.work)
                self._listen(call)
            self._channel.shutdown(socket.SHUT_WR)
            is_in_order = True
        except (EOFError, OSError):
            pass  # the process has ended; the keeper knows how
        finally:
            if not is_in_order:
                self.kill()

    def _hand_over(self, work: Work) -> None:
        send(self._channel, Frame.WORK, _description(work))
        send(self._channel, Frame.ARGUMENTS, work.arguments)
        if work.previous_progress is not None:
            send(self._channel, Frame.PREVIOUS_PROGRESS, work.previous_progress)

    def _listen(self, call: _Call) -> None:
        while True:
            kind, body = receive(self._channel)
            if kind is Frame.TAKEN:
                call.is_taken = True
            elif kind is Frame.PROGRESS:
                if call.note(body):
                    self._tell(call.tell)
            else:
                self._tell(call.finish, (kind, body))
                return


def _bury_orphans(group: int) -> None:
    """Where this process inherits orphans (as the first process of a container does), those of the group would stay zombies."""
    while True:
        try:
            os.waitpid(-group, 0)
        except ChildProcessError:
            return


def _preparation() -> bytes:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    # `python -m shop` is imported again as `shop`; a script has no name and is imported by its path.
    main_name = None if spec is None or spec.name == "__main__" else spec.name
    path = [entry or str(Path.cwd()) for entry in sys.path]
    return json.dumps({"path": path, "argv": sys.argv, "main_name": main_name}).encode()


def _description(work: Work) -> bytes:
    description = {
        "module": work.module,
        "qualname": work.qualname,
        "main_path": work.main_path,
        "step_name": work.step_name,
        "run_id": work.run_id,
        "key": work.key,
        "attempt": work.attempt,
        "has_previous_progress": work.previous_progress is not None,
    }
    return json.dumps(description).encode()
