"""Worker processes die, hang, are killed and lose their owner; one step is harmed each time, and nothing is left over."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import spawn
from pathlib import Path
from typing import Any

import pytest

from headrace._authoring.step import Step
from headrace._base.recorded_error import decode_error, describe
from headrace._engine.workers import RecordedFailure, Work, WorkerPool
from headrace.errors import ConfigurationError, EngineUnavailable, WorkerDied
from tests.durability import cpu_steps

MOST = 11 * 2**20  # bytes, whose base64 is just below the 16 MiB that a value may have


def work(step: Step[Any, Any], *args: object, previous_progress: bytes | None = None) -> Work:
    return Work(
        module=step.fn.__module__, qualname=step.fn.__qualname__, main_path=None, step_name=step.name, arguments=step.shape.encode(args, {}),
        run_id="r", key="r/1", attempt=1, previous_progress=previous_progress,
    )  # fmt: skip


def ignore(_progress: bytes) -> None:
    pass


class Progress:
    """Progress as it comes; ``first`` is how a test knows that a step is under way."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.first: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def __call__(self, progress: bytes) -> None:
        self.values.append(json.loads(progress))
        if not self.first.done():
            self.first.set_result(self.values[0])


async def end_of(pid: int) -> None:
    """Wait until a process, somebody else's child perhaps, has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(20):
            await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


@pytest.fixture
async def make_pool() -> AsyncIterator[Callable[..., WorkerPool]]:
    pools: list[WorkerPool] = []

    def make(**options: Any) -> WorkerPool:
        pools.append(WorkerPool(**{"size": 1, **options}))
        return pools[-1]

    yield make
    for pool in pools:
        await pool.close()


@pytest.fixture
def pool(make_pool: Callable[..., WorkerPool]) -> WorkerPool:
    return make_pool()


async def call(pool: WorkerPool, step: Step[Any, Any], *args: object) -> Any:
    return step.shape.result.decode(await pool.run(work(step, *args), on_progress=ignore))


async def begin(pool: WorkerPool, step: Step[Any, Any], *args: object) -> tuple[asyncio.Task[bytes], Any, Progress]:
    """Start a step and wait until it says something."""
    progress = Progress()
    task = asyncio.create_task(pool.run(work(step, *args), on_progress=progress))
    done, _ = await asyncio.wait([task, progress.first], return_when=asyncio.FIRST_COMPLETED)
    if progress.first not in done:
        task.result()
    return task, progress.first.result(), progress


# --- ordinary work -----------------------------------------------------------------------------------------------------


async def test_steps_run_in_another_process_which_stays_warm(pool: WorkerPool) -> None:
    """Started anew for each step, a worker would cost its imports every time."""
    first = await call(pool, cpu_steps.who)
    second = await call(pool, cpu_steps.who)

    assert first == second != os.getpid()


async def test_a_worker_is_replaced_after_its_tasks(make_pool: Callable[..., WorkerPool]) -> None:
    """Libraries leak; a worker that lived for ever would grow for ever."""
    pool = make_pool(tasks_per_worker=2)

    pids = [await call(pool, cpu_steps.who) for _ in range(5)]

    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


async def test_the_largest_values_pass_both_ways(pool: WorkerPool) -> None:
    """Both sides writing more than a pipe holds, with nobody reading, is the classic deadlock."""
    data = os.urandom(MOST)

    assert await call(pool, cpu_steps.turn_round, data) == data[::-1]


async def test_more_steps_than_workers_wait_in_line(make_pool: Callable[..., WorkerPool]) -> None:
    """A hundred runs must not start a hundred processes."""
    pool = make_pool(size=2)

    pids = await asyncio.gather(*(call(pool, cpu_steps.who) for _ in range(20)))

    assert len(set(pids)) <= 2


async def test_the_last_progress_is_told_before_the_result(pool: WorkerPool) -> None:
    """Progress that came after the result would be recorded for a step that has ended."""
    progress = Progress()

    result = await pool.run(work(cpu_steps.count_up, 1, previous_progress=b'"half"'), on_progress=progress)

    assert progress.values[-1] == 1_000
    assert progress.values == sorted(progress.values)
    assert result == b'"half"'


async def test_a_worker_finds_one_computing_thread_and_an_empty_input(pool: WorkerPool) -> None:
    """Numeric libraries start a thread per core in each worker otherwise, and a prompt in a step would steal the terminal's input."""
    seen = await call(pool, cpu_steps.look_around)

    assert seen == {"stdin": "", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


async def test_a_process_forked_by_a_step_does_not_answer_for_it(pool: WorkerPool) -> None:
    """Two answers to one question would be taken for the answers to two."""
    worker = await call(pool, cpu_steps.who)

    assert await call(pool, cpu_steps.fork_and_return) == worker
    assert await call(pool, cpu_steps.who) == worker


# --- failures ----------------------------------------------------------------------------------------------------------


async def test_the_error_of_a_step_arrives_with_class_and_traceback(pool: WorkerPool) -> None:
    """Retry policies ask for the class, people for the line."""
    with pytest.raises(RecordedFailure) as caught:
        await call(pool, cpu_steps.spoil, 7)

    error = decode_error(caught.value.stored)
    assert isinstance(error, cpu_steps.Spoiled)
    assert error.crate == 7
    assert "raise Spoiled(crate)" in describe(caught.value.stored).traceback


async def test_a_failing_import_is_a_failure_and_harms_no_worker(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing dependency counted as a death would put runs in quarantine, without a word of the cause."""
    (tmp_path / "headrace_broken.py").write_text("import headrace_not_installed\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    worker = await call(pool, cpu_steps.who)

    with pytest.raises(RecordedFailure) as caught:
        await pool.run(replace(work(cpu_steps.who), module="headrace_broken"), on_progress=ignore)

    recorded = describe(caught.value.stored)
    assert recorded.type_name == "builtins:ModuleNotFoundError"
    assert "import headrace_not_installed" in recorded.traceback
    assert await call(pool, cpu_steps.who) == worker


async def test_use_in_a_worker_explains_itself(pool: WorkerPool) -> None:
    """The wiring stays in the owner; the step's author has to learn that from the message."""
    with pytest.raises(RecordedFailure) as caught:
        await call(pool, cpu_steps.borrow)

    assert isinstance(decode_error(caught.value.stored), ConfigurationError)


# --- deaths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
async def test_a_worker_ended_by_a_signal_says_which(pool: WorkerPool, number: signal.Signals) -> None:
    """-9 tells of the memory, -11 of a decoder: the exit code is often the only trace."""
    with pytest.raises(WorkerDied) as caught:
        await call(pool, cpu_steps.die_of, int(number))

    assert caught.value.exit_code == -number
    assert caught.value.step == "die_of"


async def test_a_worker_that_leaves_without_an_answer_has_died(pool: WorkerPool) -> None:
    """Also with exit code 0: there is no result."""
    with pytest.raises(WorkerDied) as caught:
        await call(pool, cpu_steps.exit_at_once, 0)

    assert caught.value.exit_code == 0


async def test_a_death_harms_one_step_only(make_pool: Callable[..., WorkerPool], tmp_path: Path) -> None:
    """The promise of worker processes."""
    pool = make_pool(size=2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    task, _, _ = await begin(pool, cpu_steps.wait_for_line, str(pipe))

    with pytest.raises(WorkerDied):
        await call(pool, cpu_steps.die_of, int(signal.SIGKILL))
    await asyncio.to_thread(pipe.write_text, "on\n")

    assert await task == b'"on\\n"'
    assert await call(pool, cpu_steps.who) != os.getpid()


async def test_a_worker_that_died_idle_is_nothing_to_the_next_step(pool: WorkerPool) -> None:
    """Systems short of memory kill idle processes, too; the step that comes next is innocent."""
    worker = await call(pool, cpu_steps.who)

    os.kill(worker, signal.SIGKILL)

    assert await call(pool, cpu_steps.who) != worker


async def test_the_children_of_a_worker_die_with_it(pool: WorkerPool) -> None:
    """An encoder that outlives its step goes on writing the file that the next attempt writes."""
    task, (_, child), _ = await begin(pool, cpu_steps.crash_with_a_child)

    with pytest.raises(WorkerDied):
        await task

    await end_of(child)


async def test_a_worker_that_cannot_be_started_is_no_death_of_the_step(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine out of processes or descriptors must not put innocent runs in quarantine."""
    monkeypatch.setattr(spawn, "_python_exe", "/headrace/no/such/python")

    with pytest.raises(EngineUnavailable, match="no worker process can be started"):
        await call(pool, cpu_steps.who)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_of_terminals_and_service_managers_are_left_to_the_owner(
    pool: WorkerPool, tmp_path: Path, number: signal.Signals
) -> None:
    """They reach every process of a service; a step that died of them would die before the owner could let it finish."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    task, worker, _ = await begin(pool, cpu_steps.wait_for_line, str(pipe))

    os.killpg(worker, number)
    await asyncio.to_thread(pipe.write_text, "on\n")

    assert await task == b'"on\\n"'


# --- cancelling --------------------------------------------------------------------------------------------------------


async def test_a_cancelled_step_is_told_and_may_wind_up(pool: WorkerPool) -> None:
    """Temporary files are removed by steps that hear of it in time."""
    task, worker, progress = await begin(pool, cpu_steps.work_until_told)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert progress.values == [worker, "told"]
    assert await call(pool, cpu_steps.who) != worker


async def test_a_deaf_step_is_killed_with_its_children_after_its_grace(make_pool: Callable[..., WorkerPool]) -> None:
    """A step that hangs would hold its slot for ever."""
    pool = make_pool(grace=0.05)
    task, (worker, child), _ = await begin(pool, cpu_steps.never_listen)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    await end_of(child)


async def test_cancelling_again_does_not_leave_the_worker_behind(make_pool: Callable[..., WorkerPool]) -> None:
    """The task's end means that nothing of the step runs any more, however impatient the caller."""
    pool = make_pool(grace=0.05)
    task, (worker, _), _ = await begin(pool, cpu_steps.never_listen)

    task.cancel()
    asyncio.get_running_loop().call_soon(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task

    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


async def test_a_step_cancelled_before_it_began_never_begins(make_pool: Callable[..., WorkerPool]) -> None:
    """Asked to stop while its worker starts, a step has nothing to wind up, so no grace is spent on it."""
    pool = make_pool(grace=3_600)
    progress = Progress()
    task = asyncio.create_task(pool.run(work(cpu_steps.work_until_told), on_progress=progress))
    asyncio.get_running_loop().call_soon(task.cancel)

    with pytest.raises(asyncio.CancelledError):
        await task

    assert progress.values == []


async def test_a_step_cancelled_in_line_leaves_the_line(pool: WorkerPool, tmp_path: Path) -> None:
    """Its place is free for the next one, and the worker in use is not disturbed."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    task, worker, _ = await begin(pool, cpu_steps.wait_for_line, str(pipe))
    waiting = asyncio.create_task(call(pool, cpu_steps.who))
    asyncio.get_running_loop().call_soon(waiting.cancel)

    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.to_thread(pipe.write_text, "on\n")

    assert await task == b'"on\\n"'
    assert await call(pool, cpu_steps.who) == worker


# --- the end of the pool and of the owner ------------------------------------------------------------------------------


async def test_closing_kills_busy_workers_and_counts_for_no_step(pool: WorkerPool) -> None:
    """A stop of the engine that counted as a death would put every long step in quarantine after three restarts."""
    task, (worker, child), _ = await begin(pool, cpu_steps.never_listen)
    waiting = asyncio.create_task(call(pool, cpu_steps.who))

    await pool.close()

    for refused in (task, waiting):
        with pytest.raises(EngineUnavailable):
            await refused
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    await end_of(child)


async def test_closing_lets_idle_workers_exit(pool: WorkerPool) -> None:
    """Killed, they could not write what they hold back: coverage data, buffers, files of atexit handlers."""
    worker = await call(pool, cpu_steps.who)
    ended = asyncio.create_task(end_of(worker))

    await pool.close()

    await ended
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


SCRIPT = """
import asyncio, os, sys
from headrace._authoring.step import step
from headrace._base.recorded_error import decode_error
from headrace._engine.workers import RecordedFailure, Work, WorkerPool

class Spoiled(Exception):
    pass

@step(cpu=True)
def spoil() -> None:
    raise Spoiled("here")

@step(cpu=True)
def who() -> int:
    return os.getpid()

@step(cpu=True)
def hold_the_interpreter() -> None:
    import subprocess
    child = subprocess.Popen(["tail", "-f", os.devnull])
    step.progress([os.getpid(), child.pid])
    10 ** 10 ** 9

async def run(which):
    pool = WorkerPool(size=1)
    work = Work(module=which.fn.__module__, qualname=which.fn.__qualname__, main_path=os.path.abspath(__file__), step_name=which.name,
                arguments=b"{}", run_id="r", key="r/1", attempt=1, previous_progress=None)
    try:
        return await pool.run(work, on_progress=lambda progress: print(progress.decode(), flush=True))
    except RecordedFailure as failure:
        return decode_error(failure.stored)
    finally:
        await pool.close()
"""


def script(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(SCRIPT + body)
    return path


def output_of(*command: str | Path, cwd: Path | None = None) -> str:
    return subprocess.run(
        [sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.mark.parametrize("command", [["shop.py"], ["-m", "shop"]])
def test_steps_of_a_script_run_in_workers(tmp_path: Path, command: list[str]) -> None:
    """Every tutorial begins with one file."""
    body = 'if __name__ == "__main__":\n    print("of the worker:", int(asyncio.run(run(who))) != os.getpid())\n'
    script(tmp_path, body)

    assert output_of(*command, cwd=tmp_path) == "of the worker: True\n"


@pytest.mark.parametrize("command", [["shop.py"], ["-m", "shop"]])
def test_errors_of_a_script_are_the_classes_of_the_script(tmp_path: Path, command: list[str]) -> None:
    """Under the worker's name for the script, ``except Spoiled`` and retry policies would not know them."""
    body = 'if __name__ == "__main__":\n    print(type(asyncio.run(run(spoil))) is Spoiled)\n'
    script(tmp_path, body)

    assert output_of(*command, cwd=tmp_path) == "True\n"


def test_a_script_without_the_usual_guard_is_told_so(tmp_path: Path) -> None:
    """Each worker would import the script, which starts workers, which import the script."""
    path = script(tmp_path, "print(asyncio.run(run(who)))\n")

    assert 'if __name__ == "__main__":' in output_of(path)


def begin_in_a_process(path: Path) -> tuple[subprocess.Popen[str], int, int]:
    owner = subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    worker, child = json.loads(owner.stdout.readline())
    return owner, worker, child


def members_of(group: int) -> set[int]:
    members = set()
    for entry in Path("/proc").iterdir():
        with suppress(ValueError, ProcessLookupError):
            if os.getpgid(int(entry.name)) == group:
                members.add(int(entry.name))
    return members


@contextmanager
def ended_at_last(group: int) -> Iterator[None]:
    """Where the product fails to end a group, the test does not leave it to the machine."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


@pytest.mark.allow_blocking
async def test_a_killed_owner_takes_worker_and_children_along(tmp_path: Path) -> None:
    """Even while the step holds the interpreter: a new owner starts the step again, and two of them would write the same file."""
    path = script(tmp_path, 'if __name__ == "__main__":\n    asyncio.run(run(hold_the_interpreter))\n')
    owner, worker, child = begin_in_a_process(path)

    with ended_at_last(worker), owner:
        owner.kill()
        await end_of(worker)
        await end_of(child)


@pytest.mark.allow_blocking
async def test_a_worker_without_guard_still_dies_with_its_owner(tmp_path: Path) -> None:
    """The guard is a process, and processes get killed by name."""
    path = script(tmp_path, 'if __name__ == "__main__":\n    asyncio.run(run(hold_the_interpreter))\n')
    owner, worker, child = begin_in_a_process(path)
    (guard,) = members_of(worker) - {worker, child}
    os.kill(guard, signal.SIGKILL)

    with ended_at_last(worker), owner:
        owner.kill()
        await end_of(worker)


def test_no_zombies_where_the_owner_inherits_orphans(tmp_path: Path) -> None:
    """The first process of a container is often the owner itself; a zombie for each worker would use up the process table."""
    body = """
async def many():
    for _ in range(2):
        await run(who)

if __name__ == "__main__":
    import ctypes
    ctypes.CDLL(None).prctl(36, 1)
    asyncio.run(many())
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no children left")
"""
    assert output_of(script(tmp_path, body)) == "no children left\n"
